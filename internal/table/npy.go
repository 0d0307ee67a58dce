package table

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/array"
)

// openNPY opens a .npy file: vectors only.
func openNPY(file *os.File, _ Columns) (*Source, error) {
	rows, err := array.NewRows(file, array.SizeOf(file))
	if err != nil {
		return nil, err
	}
	return vectorsOf(rows), nil
}

func vectorsOf(rows *array.Rows) *Source {
	s := &Source{Rows: rows.Len(), next: func() (Row, error) {
		vector, err := rows.Next()
		return Row{Vector: vector}, err
	}}
	if rows.Rounded() {
		s.Note = "float64 numbers are rounded to float32"
	}
	return s
}

// openNPZ opens a .npz file: an array of vectors and optional arrays of ids and labels.
func openNPZ(file *os.File, names Columns) (*Source, error) {
	archive, err := zip.NewReader(file, array.SizeOf(file))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var has []string
	for _, f := range archive.File {
		has = append(has, strings.TrimSuffix(f.Name, ".npy"))
	}
	vectors := find(has, named(names.Vector, slices.Concat(vectorNames, []string{"X", "x", "arr_0"})))
	if vectors < 0 {
		return nil, fmt.Errorf(
			"%w: no array named one of %v among %s: name it with --vector-field",
			ErrFormat,
			append([]string{"X"}, vectorNames...),
			listed(has),
		)
	}
	var ids, labels []string
	for _, column := range []struct {
		given string
		names []string
		to    *[]string
	}{{names.ID, names.ids(), &ids}, {names.Label, named(names.Label, slices.Concat(labelNames, []string{"y"})), &labels}} {
		at := find(has, column.names)
		if at < 0 && column.given != "" {
			return nil, fmt.Errorf("%w: no array %s among %s", ErrFormat, column.given, listed(has))
		}
		if at < 0 {
			continue
		}
		in, err := archive.File[at].Open()
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFormat, has[at], err)
		}
		*column.to, err = array.Labels(in)
		in.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", has[at], err)
		}
	}
	source, err := openMember(file, archive.File[vectors])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", has[vectors], err)
	}
	for _, column := range [][]string{ids, labels} {
		if column != nil && int64(len(column)) != source.Rows {
			return nil, fmt.Errorf("%w: %d vectors, but %d ids or labels", ErrFormat, source.Rows, len(column))
		}
	}
	at, vector := 0, source.next
	source.next = func() (Row, error) {
		row, err := vector()
		if err != nil {
			return row, err
		}
		if ids != nil {
			row.ID = ids[at]
		}
		if labels != nil {
			row.Label = labels[at]
		}
		at++
		return row, nil
	}
	return source, nil
}

// openMember opens an archive's array of vectors, in place if it is not compressed.
func openMember(file *os.File, f *zip.File) (*Source, error) {
	size := int64(f.UncompressedSize64)
	var in io.Reader
	var end func() error
	if f.Method == zip.Store {
		at, err := f.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		in = io.NewSectionReader(file, at, size)
	} else {
		inflated, err := f.Open()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		in, end = inflated, inflated.Close
	}
	rows, err := array.NewRows(in, size)
	if err != nil {
		return nil, err
	}
	source := vectorsOf(rows)
	source.close = end
	return source, nil
}
