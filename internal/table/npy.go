package table

import (
	"archive/zip"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
)

// openNPY opens a .npy file: vectors only.
func openNPY(file *os.File, _ Reading) (*Source, error) {
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
func openNPZ(file *os.File, how Reading) (*Source, error) {
	archive, err := zip.NewReader(file, array.SizeOf(file))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	var has []string
	for _, f := range archive.File {
		has = append(has, strings.TrimSuffix(f.Name, ".npy"))
	}
	vectors := find(has, named(how.Fields.Vector, slices.Concat(vectorNames, []string{"X", "x", "arr_0"})))
	if vectors < 0 {
		return nil, fmt.Errorf(
			"%w: %w: no array named one of %v among %s: name it with --vector-field",
			ErrFormat,
			record.ErrNoVector,
			append([]string{"X"}, vectorNames...),
			listed(has),
		)
	}
	columns := make([][]string, len(rowFields)) // nil: the archive has none
	for i := range rowFields {
		f := &rowFields[i]
		names := f.names(&how.Fields)
		if f.name == "label" && how.Fields.Label == "" {
			names = append(slices.Clip(names), "y")
		}
		at := find(has, names)
		if given := f.path(&how.Fields); at < 0 && given != "" && given != record.Nowhere {
			return nil, fmt.Errorf("%w: no array %s among %s (--%s-field)", ErrFormat, given, listed(has), f.name)
		}
		if at < 0 {
			continue
		}
		in, err := archive.File[at].Open()
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrFormat, has[at], err)
		}
		columns[i], err = array.Labels(in)
		in.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", has[at], err)
		}
	}
	source, err := openMember(file, archive.File[vectors])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", has[vectors], err)
	}
	for i, column := range columns {
		if column != nil && int64(len(column)) != source.Rows {
			return nil, fmt.Errorf("%w: %d vectors, but a %s for %d", ErrFormat, source.Rows, rowFields[i].name, len(column))
		}
	}
	at, vector := 0, source.next
	source.next = func() (Row, error) {
		row, err := vector()
		if err != nil {
			return row, err
		}
		for i, column := range columns {
			if column != nil {
				err = cmp.Or(err, rowFields[i].set(&row, column[at]))
			}
		}
		at++
		return row, err
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
