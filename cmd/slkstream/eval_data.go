package main

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
)

// readSets reads the labelled data of --data before any work starts: folders of X.npy and y.npy, and files by --fields.
func readSets(c *config.Config) (sets []*evaluate.Set, err error) {
	for _, path := range c.Evaluate.Data {
		read := evaluate.ReadSet
		if table.IsName(path) {
			read = func(path string) (*evaluate.Set, error) { return readRows(path, paths(c.Stage.Field)) }
		}
		set, err := read(path)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// readRows reads a file's vectors, labels and times. Rows without a label are of unknown class. Where all rows have a time
// they are taken in its order, as they were recorded.
func readRows(path string, fields record.Paths) (*evaluate.Set, error) {
	type labelled struct {
		vector []float32
		label  string
		at     time.Time
	}
	var rows []labelled
	classes, timed := map[string]int32{}, true
	err := eachRow(path, table.Reading{Fields: fields}, func(row table.Row) error {
		if len(rows) == math.MaxInt32 {
			return fmt.Errorf("%s: more than %d rows", path, len(rows))
		}
		rows = append(rows, labelled{slices.Clone(row.Vector), row.Label, row.Time})
		if row.Label != "" {
			classes[row.Label] = 0
		}
		timed = timed && !row.Time.IsZero()
		return nil
	}, nil)
	switch {
	case err != nil:
		return nil, fmt.Errorf("data %w", err)
	case len(rows) == 0:
		return nil, fmt.Errorf("data %s has no rows", path)
	case len(classes) == 0 && isNPY(path):
		return nil, fmt.Errorf("data %s has no labels: name a folder that holds it as X.npy, and its classes as y.npy", path)
	case len(classes) == 0:
		return nil, fmt.Errorf("data %w", noLabel(path, "its first row", "label-field"))
	case timed:
		slices.SortStableFunc(rows, func(a, b labelled) int { return a.at.Compare(b.at) })
	}
	for i, name := range slices.Sorted(maps.Keys(classes)) {
		classes[name] = int32(i)
	}
	name := filepath.Base(path)
	set := &evaluate.Set{Name: strings.TrimSuffix(name, filepath.Ext(name)), N: len(rows), D: len(rows[0].vector)}
	for i := range rows {
		class, known := classes[rows[i].label]
		if !known {
			class = -1
		}
		set.Rows, set.Labels = append(set.Rows, rows[i].vector...), append(set.Labels, class)
	}
	return set, nil
}
