package table

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// Names that columns may have, in a Parquet or an Arrow file.
var (
	vectorColumns = []string{"vector", "embedding"}
	idColumns     = []string{"id"}
	labelColumns  = []string{"label"}
)

// table reads a Parquet file row by row. Only the columns it wants are decoded.
type table struct {
	groups            []parquet.RowGroup
	vector, id, label *column
	rows              int64
	numbers           []float32
}

// column is a leaf of the file, and the values of it that were read and not used yet.
type column struct {
	index   int
	pages   parquet.Pages
	values  parquet.ValueReader
	buffer  [1024]parquet.Value
	pending []parquet.Value
}

func openParquet(file *os.File) (Source, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(file, info.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	t := &table{groups: p.RowGroups(), rows: p.NumRows()}
	if t.vector, err = findLeaf(p, vectorColumns, parquet.Float, parquet.Double); err != nil {
		return nil, err
	}
	if t.vector == nil {
		return nil, fmt.Errorf("%w: no column named one of %v", ErrFormat, vectorColumns)
	}
	if t.id, err = findLeaf(p, idColumns, parquet.ByteArray, parquet.Int32, parquet.Int64); err != nil {
		return nil, err
	}
	if t.label, err = findLeaf(p, labelColumns, parquet.ByteArray, parquet.Int32, parquet.Int64); err != nil {
		return nil, err
	}
	return t, nil
}

// findLeaf finds the one leaf below a top column of one of the names: a list has its numbers below itself.
func findLeaf(p *parquet.File, names []string, kinds ...parquet.Kind) (*column, error) {
	for _, path := range p.Schema().Columns() {
		for _, name := range names {
			if path[0] != name {
				continue
			}
			leaf, _ := p.Schema().Lookup(path...)
			kind, list := leaf.Node.Type().Kind(), leaf.MaxRepetitionLevel
			for _, wanted := range kinds {
				isVector := kinds[0] == parquet.Float
				if kind == wanted && (list == 1) == isVector {
					return &column{index: leaf.ColumnIndex}, nil
				}
			}
			return nil, fmt.Errorf("%w: column %s is a %s with %d levels of lists", ErrFormat, name, leaf.Node.Type(),
				list)
		}
	}
	return nil, nil
}

func (t *table) columns() []*column {
	var all []*column
	for _, c := range []*column{t.vector, t.id, t.label} {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (t *table) Rows() int64 { return t.rows }

func (t *table) Close() error {
	var errs []error
	for _, c := range t.columns() {
		if c.pages != nil {
			errs = append(errs, c.pages.Close())
		}
	}
	return errors.Join(errs...)
}

func (t *table) Next() (Row, error) {
	for {
		row, err := t.next()
		if err != io.EOF {
			return row, err
		}
		if err := t.Close(); err != nil {
			return Row{}, err
		}
		if len(t.groups) == 0 {
			for _, c := range t.columns() {
				c.pages = nil
			}
			return Row{}, io.EOF
		}
		chunks := t.groups[0].ColumnChunks()
		t.groups = t.groups[1:]
		for _, c := range t.columns() {
			c.pages, c.values, c.pending = chunks[c.index].Pages(), nil, nil
		}
	}
}

// next reads a row of the open group; io.EOF where it ends.
func (t *table) next() (row Row, err error) {
	if t.vector.pages == nil {
		return Row{}, io.EOF
	}
	t.numbers = t.numbers[:0]
	for first := true; ; first = false {
		v, err := t.vector.peek()
		if err == io.EOF && !first || err == nil && !first && v.RepetitionLevel() == 0 {
			break // the next row begins here
		}
		if err != nil {
			return Row{}, err
		}
		t.vector.pending = t.vector.pending[1:]
		switch {
		case v.IsNull():
			return Row{}, fmt.Errorf("%w: a number is missing", ErrFormat)
		case v.Kind() == parquet.Double:
			t.numbers = append(t.numbers, float32(v.Double()))
		default:
			t.numbers = append(t.numbers, v.Float())
		}
	}
	row.Vector = t.numbers
	if row.ID, err = t.id.text(); err != nil {
		return Row{}, err
	}
	row.Label, err = t.label.text()
	return row, err
}

// text is the next value of a column that may not be there.
func (c *column) text() (string, error) {
	if c == nil {
		return "", nil
	}
	v, err := c.peek()
	if err == io.EOF {
		return "", fmt.Errorf("%w: a column ends before the vectors do", ErrFormat)
	}
	if err != nil {
		return "", err
	}
	c.pending = c.pending[1:]
	if v.IsNull() {
		return "", nil
	}
	return v.String(), nil
}

// peek is the next value of the column, left in place.
func (c *column) peek() (parquet.Value, error) {
	for len(c.pending) == 0 {
		if c.values == nil {
			page, err := c.pages.ReadPage()
			if err != nil {
				if err == io.EOF {
					return parquet.Value{}, io.EOF
				}
				return parquet.Value{}, fmt.Errorf("%w: %w", ErrFormat, err)
			}
			c.values = page.Values()
		}
		n, err := c.values.ReadValues(c.buffer[:])
		c.pending = c.buffer[:n]
		if err == io.EOF {
			c.values = nil
		} else if err != nil {
			return parquet.Value{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	return c.pending[0], nil
}
