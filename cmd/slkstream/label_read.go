package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/file"
)

// labelledFile is the file to be labelled, as a problem with the names of its classes.
type labelledFile struct {
	file.Problem
	path    string
	reading table.Reading
	kept    []table.Column // of the input, in the output
	names   []string       // class names
	number  map[string]int32
	skip    bool    // leave out bad rows
	bad     []int64 // numbers of the rows that were left out, ascending
	order   rowOrder
}

// class returns the number of a class, which is new or not.
func (f *labelledFile) class(name string) int32 {
	y, known := f.number[name]
	if !known {
		y = int32(len(f.names))
		f.number[name], f.names = y, append(f.names, name)
	}
	return y
}

// rowOf returns the file's row number of labelled row i.
func (f *labelledFile) rowOf(i int) int64 {
	i = int(f.order.row(i))
	before := sort.Search(len(f.bad), func(j int) bool { return f.bad[j]-int64(j) > int64(i) })
	return int64(i + before)
}

// surveyFile reads the support, and counts the file's rows and finds the labelled ones.
func surveyFile(ctx context.Context, of *call) (*labelledFile, error) {
	c := of.Config
	f := &labelledFile{
		path: c.Files.Input, reading: table.Reading{Fields: paths(c.Stage.Field)}, number: map[string]int32{}, skip: c.Files.SkipBad,
	}
	support, err := readSupport(c)
	if err != nil {
		return nil, err
	}
	for _, e := range support {
		if len(e.Vector) != len(support[0].Vector) {
			return nil, fmt.Errorf("support: vectors of %d and of %d numbers", len(support[0].Vector), len(e.Vector))
		}
		f.Support = vector.Rows(append(f.Support.Values, e.Vector...), len(e.Vector))
		f.SupportClasses = append(f.SupportClasses, f.class(e.Label))
	}
	vectors, err := f.readClassVectors(c, c.Files.ClassVectors)
	if err != nil {
		return nil, fmt.Errorf("class-vectors: %w", err)
	}
	given, rows, err := f.survey(ctx, of)
	if err != nil {
		return nil, err
	}
	f.N = rows
	labelled := 0
	for _, y := range given {
		if y >= 0 {
			labelled++
		}
	}
	of.Log.Info("read", "rows", rows, "labelled", labelled, "to_answer", rows-labelled, "streams", f.order.streams())
	if labelled == rows && !c.Files.AllLabelled {
		return nil, fmt.Errorf(
			"input: all %d rows of %s have a label, 0 to answer: if these are no labels, --label-field names another "+
				"column or path, --label-field - none; --allow-all-labelled goes on",
			rows,
			f.path,
		)
	}
	if err := f.giveClassVectors(vectors); err != nil {
		return nil, fmt.Errorf("class-vectors: %w", err)
	}
	if f.Support.N > 0 && f.Support.D != f.D {
		return nil, fmt.Errorf("rows of %d numbers, but the support has %d (input, support)", f.D, f.Support.D)
	}
	switch f.K = len(f.names); {
	case f.N < int(c.Files.K):
		return nil, fmt.Errorf("%d rows cannot be parted into %d clusters (k)", f.N, c.Files.K)
	case c.Files.K != 0:
		f.K = max(0, int(c.Files.K)) // 0 is auto
	case f.K == 0:
		return nil, fmt.Errorf("support: no row of %s has a label: give labelled examples with --support, "+
			"say where the labels are with --label-field, or give a number of clusters with --k", strings.Join(append(slices.Clone(c.Stage.Support), f.path), " or "))
	}
	f.Read = func(use func([]float32, int32) error) error {
		i := 0
		return f.each(f.reading, func(row table.Row) error {
			y := int32(-1)
			if i < len(given) {
				y = given[i]
			}
			i++
			return use(row.Vector, y)
		}, func(*table.BadRow) error { return nil })
	}
	if c.Files.Ordered != "false" && c.Files.K == 0 {
		f.Read, err = f.order.sorted(of, f.Problem, given)
	}
	return f, err
}

// each reads the file. Bad rows go to skip if they may be left out; otherwise the error reports all of them.
func (f *labelledFile) each(how table.Reading, use func(table.Row) error, skip func(*table.BadRow) error) error {
	if !f.skip {
		skip = nil
	}
	return eachRow(f.path, how, use, skip)
}

// survey counts the rows and returns the class of each, -1 for a row without a label; nil if no row has one,
// or if clusters are to be found (k), as labels are not read then.
func (f *labelledFile) survey(ctx context.Context, c *call) (given []int32, rows int, err error) {
	source, err := openInput(c, true)
	if err != nil {
		return nil, 0, err
	}
	var first *table.BadRow
	labelled, skip := false, func(bad *table.BadRow) error {
		first = cmp.Or(first, bad)
		f.bad = append(f.bad, bad.Row)
		return nil
	}
	if !f.skip {
		skip = nil
	}
	err = eachRowOf(source, func(row table.Row) error {
		if rows%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		f.D = len(row.Vector)
		f.order.add(row.Stream, row.Time)
		y := int32(-1)
		if c.Config.Files.K == 0 && row.Label != "" {
			y, labelled = f.class(row.Label), true
		}
		given = append(given, y)
		rows++
		return nil
	}, skip)
	f.kept = source.Kept
	bad := (*table.BadRow)(nil)
	switch {
	case errors.As(err, &bad):
		return nil, 0, fmt.Errorf("input: %w (--skip-bad leaves bad rows unlabelled)", err)
	case err != nil:
		return nil, 0, fmt.Errorf("input: %w", err)
	case rows == 0 && first != nil:
		return nil, 0, fmt.Errorf("input: all %d rows are bad, the first: %w", len(f.bad), first)
	case rows == 0:
		return nil, 0, fmt.Errorf("input: %s has no rows", f.path)
	case !labelled:
		return nil, rows, nil
	}
	return slices.Clip(given), rows, nil
}

// readClassVectors reads the vector of each class, by its number; nil if no file is given.
func (f *labelledFile) readClassVectors(c *config.Config, path string) (map[int32][]float32, error) {
	if path == "" {
		return nil, nil
	}
	vectors := map[int32][]float32{}
	row := 0
	err := eachRow(path, supportReading(c), func(of table.Row) error {
		if isNPY(path) {
			of.Label = strconv.Itoa(row)
		}
		if of.Label == "" {
			return fmt.Errorf("%s: %s has no label, the class that it is the vector of", path, of.Where())
		}
		row++
		y := f.class(of.Label)
		if vectors[y] != nil {
			return fmt.Errorf("%s: two vectors of class %q", path, of.Label)
		}
		vectors[y] = slices.Clone(of.Vector)
		return nil
	}, nil)
	if err == nil && row == 0 {
		err = fmt.Errorf("%s: no rows", path)
	}
	return vectors, err
}

// giveClassVectors puts the vectors in the order of the classes.
func (f *labelledFile) giveClassVectors(vectors map[int32][]float32) error {
	if vectors == nil {
		return nil
	}
	f.ClassVectors = vector.Matrix{D: f.D}
	for y, name := range f.names {
		v := vectors[int32(y)]
		switch {
		case v == nil:
			return fmt.Errorf("class %q has labelled rows, but no vector", name)
		case len(v) != f.D:
			return fmt.Errorf("the vector of class %q has %d numbers, the rows have %d", name, len(v), f.D)
		}
		f.ClassVectors = vector.Rows(append(f.ClassVectors.Values, v...), f.D)
	}
	return nil
}
