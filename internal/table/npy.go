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

// matrix is a .npy file: vectors only.
type matrix struct{ rows *array.Rows }

func openNPY(file *os.File, _ Columns) (Source, error) {
	rows, err := array.NewRows(file, array.SizeOf(file))
	return matrix{rows}, err
}

func (m matrix) note() string {
	if m.rows.Rounded() {
		return "float64 numbers are rounded to float32"
	}
	return ""
}

func (m matrix) Rows() int64  { return m.rows.Len() }
func (m matrix) Close() error { return nil }

func (m matrix) Next() (Row, error) {
	vector, err := m.rows.Next()
	return Row{Vector: vector}, err
}

// arrays reads a .npz file: an array of vectors and optional arrays of ids and labels.
type arrays struct {
	matrix
	ids, labels []string
	row         int
	close       func() error
}

func openNPZ(file *os.File, names Columns) (Source, error) {
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
		return nil, fmt.Errorf("%w: no array named one of %v among %s: name it with --vector-field", ErrFormat, append([]string{"X"}, vectorNames...), listed(has))
	}
	a := &arrays{close: func() error { return nil }}
	for _, column := range []struct {
		given string
		names []string
		to    *[]string
	}{{names.ID, names.ids(), &a.ids}, {names.Label, named(names.Label, slices.Concat(labelNames, []string{"y"})), &a.labels}} {
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
	if a.rows, err = a.open(file, archive.File[vectors]); err != nil {
		return nil, fmt.Errorf("%s: %w", has[vectors], err)
	}
	for _, column := range [][]string{a.ids, a.labels} {
		if column != nil && int64(len(column)) != a.rows.Len() {
			return nil, fmt.Errorf("%w: %d vectors, but %d ids or labels", ErrFormat, a.rows.Len(), len(column))
		}
	}
	return a, nil
}

// open opens the array of vectors, in place if it is not compressed.
func (a *arrays) open(file *os.File, f *zip.File) (*array.Rows, error) {
	size := int64(f.UncompressedSize64)
	if f.Method == zip.Store {
		at, err := f.DataOffset()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		return array.NewRows(io.NewSectionReader(file, at, size), size)
	}
	in, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	a.close = in.Close
	return array.NewRows(in, size)
}

func (a *arrays) Close() error { return a.close() }

func (a *arrays) Next() (Row, error) {
	row, err := a.matrix.Next()
	if err != nil {
		return row, err
	}
	if a.ids != nil {
		row.ID = a.ids[a.row]
	}
	if a.labels != nil {
		row.Label = a.labels[a.row]
	}
	a.row++
	return row, nil
}
