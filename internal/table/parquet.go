//go:build !lean

package table

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"

	"github.com/slkstream/slkstream/internal/kernel"
)

// table reads a Parquet file row by row. It decodes only the columns it needs.
type table struct {
	groups  []parquet.RowGroup // to be read
	needed  []int              // leaf columns: those of the vector in their order, then id and label
	columns []column           // by leaf column
	rows    parquet.Rows       // of the open row group; nil: none is open
	buffer  [64]parquet.Row
	pending []parquet.Row // read and not returned yet
	row     Row           // the last one returned
}

// column is what a needed leaf column holds.
type column struct {
	texts   []*string // where its values go as texts; nil: they are numbers of the vector
	float16 bool
	bytes   bool // each value is a whole vector
}

func openParquet(file *os.File, names Columns) (*Source, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(file, info.Size(), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	leaves := p.Schema().Columns() // the numbers of a list are below it
	has := make([]string, len(leaves))
	for i, path := range leaves {
		has[i] = path[0]
	}
	l, err := names.lay(has)
	if err != nil {
		return nil, err
	}
	t := &table{groups: p.RowGroups(), needed: l.vector}
	t.columns = make([]column, len(leaves))
	for _, at := range l.vector {
		if t.columns[at], err = vectorColumn(p, leaves[at], len(l.vector) > 1); err != nil {
			return nil, err
		}
	}
	for _, x := range []struct {
		at   int
		text *string
	}{{l.id, &t.row.ID}, {l.label, &t.row.Label}} {
		if x.at < 0 {
			continue
		}
		if err := checkText(p, leaves[x.at]); err != nil {
			return nil, err
		}
		c := &t.columns[x.at]
		if c.texts = append(c.texts, x.text); len(c.texts) == 1 {
			t.needed = append(t.needed, x.at)
		}
	}
	return &Source{Rows: p.NumRows(), next: t.next, close: t.close}, nil
}

// vectorColumn returns a leaf of numbers. With flat it holds one number per row; otherwise a list, or whole
// vectors as bytes.
func vectorColumn(p *parquet.File, path []string, flat bool) (column, error) {
	leaf, _ := p.Schema().Lookup(path...)
	of := leaf.Node.Type()
	var c column
	list, number := leaf.MaxRepetitionLevel == 1, false
	switch of.Kind() {
	case parquet.Float, parquet.Double, parquet.Int32, parquet.Int64:
		number = true
	case parquet.FixedLenByteArray:
		c.float16 = of.Length() == 2
		number, c.bytes = c.float16, !c.float16
	case parquet.ByteArray:
		c.bytes = true
	}
	if leaf.MaxRepetitionLevel > 1 || c.bytes && (list || flat) || number && list == flat || !number && !c.bytes {
		return c, fmt.Errorf(
			"%w: column %s is a %s with %d levels of lists: want a list of float32, bytes of float32, or a column a dimension",
			ErrFormat,
			path[0],
			of,
			leaf.MaxRepetitionLevel,
		)
	}
	return c, nil
}

// checkText refuses a leaf that holds neither texts nor whole numbers.
func checkText(p *parquet.File, path []string) error {
	leaf, _ := p.Schema().Lookup(path...)
	kind := leaf.Node.Type().Kind()
	if leaf.MaxRepetitionLevel > 0 || kind != parquet.ByteArray && kind != parquet.Int32 && kind != parquet.Int64 {
		return fmt.Errorf("%w: column %s is a %s with %d levels of lists, not texts", ErrFormat, path[0],
			leaf.Node.Type(), leaf.MaxRepetitionLevel)
	}
	return nil
}

func (t *table) close() error {
	if t.rows == nil {
		return nil
	}
	defer func() { t.rows = nil }()
	return t.rows.Close()
}

func (t *table) next() (Row, error) {
	for len(t.pending) == 0 {
		if err := t.read(); err != nil {
			return Row{}, err
		}
	}
	values := t.pending[0]
	t.pending = t.pending[1:]
	t.row.Vector = t.row.Vector[:0]
	var wrong error
	columns := 0
	for i, v := range values {
		if i == 0 || v.Column() != values[i-1].Column() {
			columns++
		}
		switch c := &t.columns[v.Column()]; {
		case c.texts == nil:
			var err error
			if t.row.Vector, err = c.append(t.row.Vector, v); err != nil {
				wrong = err // the rows behind it can be read
			}
		default:
			text := ""
			if !v.IsNull() {
				text = v.String()
			}
			for _, to := range c.texts {
				*to = text
			}
		}
	}
	if columns != len(t.needed) {
		return Row{}, fmt.Errorf("%w: a column ends before the others do", ErrFormat)
	}
	return t.row, wrong
}

// read reads some rows of the open row group, or opens the next one; io.EOF after the last.
func (t *table) read() error {
	if t.rows == nil {
		if len(t.groups) == 0 {
			return io.EOF
		}
		t.rows = parquet.NewRowGroupRowReader(someColumns{t.groups[0], t.needed})
		t.groups = t.groups[1:]
	}
	n, err := t.rows.ReadRows(t.buffer[:])
	t.pending = t.buffer[:n]
	switch {
	case err == io.EOF && n > 0:
		return nil
	case err == io.EOF:
		return t.close()
	case err != nil:
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	return nil
}

// someColumns is a row group that has only these columns.
type someColumns struct {
	parquet.RowGroup
	needed []int
}

func (s someColumns) ColumnChunks() []parquet.ColumnChunk {
	all, some := s.RowGroup.ColumnChunks(), make([]parquet.ColumnChunk, len(s.needed))
	for i, at := range s.needed {
		some[i] = all[at]
	}
	return some
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
