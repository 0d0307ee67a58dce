//go:build !lean

package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/parquet-go/parquet-go"

	"github.com/slkstream/slkstream/internal/kernel"
)

// table reads a Parquet file row by row. It decodes only the columns it needs.
type table struct {
	groups    []parquet.RowGroup
	vector    []*column // one of whole vectors, or one per dimension
	id, label *column
	rows      int64
	numbers   []float32
}

// column is a leaf column, with values that were read but not used yet.
type column struct {
	index   int
	float16 bool
	bytes   bool // each value is a whole vector
	list    bool
	pages   parquet.Pages
	values  parquet.ValueReader
	buffer  [1024]parquet.Value
	pending []parquet.Value
}

func openParquet(file *os.File, names Columns) (Source, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(file, info.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	t := &table{groups: p.RowGroups(), rows: p.NumRows()}
	leaves := p.Schema().Columns() // the numbers of a list are below it
	has := make([]string, len(leaves))
	for i, path := range leaves {
		has[i] = path[0]
	}
	l, err := names.lay(has)
	if err != nil {
		return nil, err
	}
	for _, at := range l.vector {
		c, err := vectorColumn(p, leaves[at], len(l.vector) > 1)
		if err != nil {
			return nil, err
		}
		t.vector = append(t.vector, c)
	}
	if t.id, err = textColumn(p, leaves, l.id); err != nil {
		return nil, err
	}
	t.label, err = textColumn(p, leaves, l.label)
	return t, err
}

// vectorColumn returns a leaf of numbers. With flat it holds one number per row; otherwise a list, or whole
// vectors as bytes.
func vectorColumn(p *parquet.File, path []string, flat bool) (*column, error) {
	leaf, _ := p.Schema().Lookup(path...)
	of := leaf.Node.Type()
	c := &column{index: leaf.ColumnIndex, list: leaf.MaxRepetitionLevel == 1}
	number := false
	switch of.Kind() {
	case parquet.Float, parquet.Double, parquet.Int32, parquet.Int64:
		number = true
	case parquet.FixedLenByteArray:
		c.float16 = of.Length() == 2
		number, c.bytes = c.float16, !c.float16
	case parquet.ByteArray:
		c.bytes = true
	}
	if leaf.MaxRepetitionLevel > 1 || c.bytes && (c.list || flat) || number && c.list == flat || !number && !c.bytes {
		return nil, fmt.Errorf("%w: column %s is a %s with %d levels of lists: want a list of float32, bytes of float32, or a column a dimension",
			ErrFormat, path[0], of, leaf.MaxRepetitionLevel)
	}
	return c, nil
}

// textColumn returns a leaf of texts or whole numbers; nil if there is none.
func textColumn(p *parquet.File, leaves [][]string, at int) (*column, error) {
	if at < 0 {
		return nil, nil
	}
	leaf, _ := p.Schema().Lookup(leaves[at]...)
	switch kind := leaf.Node.Type().Kind(); {
	case leaf.MaxRepetitionLevel > 0, kind != parquet.ByteArray && kind != parquet.Int32 && kind != parquet.Int64:
		return nil, fmt.Errorf("%w: column %s is a %s with %d levels of lists, not texts", ErrFormat, leaves[at][0],
			leaf.Node.Type(), leaf.MaxRepetitionLevel)
	}
	return &column{index: leaf.ColumnIndex}, nil
}

func (t *table) columns() []*column {
	var all []*column
	for _, c := range append(slices.Clone(t.vector), t.id, t.label) {
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

// next reads a row of the open row group; io.EOF at its end.
func (t *table) next() (row Row, err error) {
	if t.vector[0].pages == nil {
		return Row{}, io.EOF
	}
	t.numbers = t.numbers[:0]
	var wrong error
	for _, c := range t.vector {
		for first := true; first || c.list; first = false {
			v, err := c.peek()
			if err == io.EOF && !first || err == nil && !first && v.RepetitionLevel() == 0 {
				break // the next row begins here
			}
			if err != nil {
				return Row{}, err
			}
			c.pending = c.pending[1:]
			if t.numbers, err = c.append(t.numbers, v); err != nil {
				wrong = err // skip the rest of the row
			}
		}
	}
	row.Vector = t.numbers
	if row.ID, err = t.id.text(); err != nil {
		return Row{}, err
	}
	if row.Label, err = t.label.text(); err != nil {
		return Row{}, err
	}
	return row, wrong
}

// append adds the numbers of a value to a vector.
func (c *column) append(to []float32, v parquet.Value) ([]float32, error) {
	switch {
	case v.IsNull():
		return to, badRow("a number is missing")
	case c.bytes:
		return bytesVector(to, v.ByteArray())
	case c.float16:
		return append(to, kernel.Float16(binary.LittleEndian.Uint16(v.ByteArray()))), nil
	}
	switch v.Kind() {
	case parquet.Double:
		return append(to, float32(v.Double())), nil
	case parquet.Int32:
		return append(to, float32(v.Int32())), nil
	case parquet.Int64:
		return append(to, float32(v.Int64())), nil
	}
	return append(to, v.Float()), nil
}

// text returns the next value; "" if the column is nil or the value null.
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

// peek returns the next value without consuming it.
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

type parquetEncoder struct {
	to   *parquet.GenericWriter[Answer]
	rows []Answer
}

func (o *Output) beginParquet() (encoder, error) {
	return &parquetEncoder{to: parquet.NewGenericWriter[Answer](o.buffer,
		parquet.MaxRowsPerRowGroup(16*groupOfRows), parquet.Compression(&parquet.Zstd))}, nil
}

func (p *parquetEncoder) write(a *Answer) error {
	if p.rows = append(p.rows, *a); len(p.rows) < groupOfRows {
		return nil
	}
	return p.flush()
}

func (p *parquetEncoder) flush() error {
	_, err := p.to.Write(p.rows)
	p.rows = p.rows[:0]
	return err
}

func (p *parquetEncoder) finish() error {
	if err := p.flush(); err != nil {
		return err
	}
	return p.to.Close()
}
