//go:build !lean

package table

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/record"
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
	keeps   int           // columns that are kept
}

// column is what a needed leaf column holds.
type column struct {
	fields  []int                   // of rowFields that its values are
	kept    int                     // where they go among the kept; -1: nowhere
	read    func(parquet.Value) any // a copy of a value that is there, for fields and what is kept
	list    bool                    // kept as a list
	there   int                     // the definition level of a list that is there
	vector  bool                    // its values are numbers of the vector
	float16 bool
	bytes   bool // each value is a whole vector
}

func openParquet(file *os.File, how Reading) (*Source, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkFooter(file, info.Size()); err != nil {
		return nil, err
	}
	p, err := parquet.OpenFile(file, info.Size(), parquet.SkipBloomFilters(true), parquet.SkipPageIndex(true))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	leaves := p.Schema().Columns() // the numbers of a list are below it
	has := make([]string, len(leaves))
	for i, path := range leaves {
		has[i] = strings.Join(slices.DeleteFunc(slices.Clone(path), func(step string) bool {
			return step == "list" || step == "element" || step == "item" || step == "bag" || step == "array_element"
		}), ".")
	}
	l, err := how.lay(has)
	if err != nil {
		return nil, err
	}
	t := &table{needed: slices.Clone(l.vector)}
	t.columns = make([]column, len(leaves))
	for i := range t.columns {
		t.columns[i].kept = -1
	}
	for _, at := range l.vector {
		if t.columns[at], err = vectorColumn(p, leaves[at], len(l.vector) > 1); err != nil {
			return nil, err
		}
	}
	for i, at := range l.fields {
		if at < 0 || isNothing(p, leaves[at]) {
			continue
		}
		if err := checkText(p, leaves[at]); err != nil {
			return nil, err
		}
		t.columns[at].fields = append(t.columns[at].fields, i)
		t.need(at)
	}
	source := &Source{Rows: p.NumRows(), next: t.next, close: t.close}
	source.Unread = l.unread
	for i, at := range l.kept {
		if isNothing(p, leaves[at]) {
			source.Kept = append(source.Kept, Column{has[at], record.JSON})
			continue
		}
		leaf, _ := p.Schema().Lookup(leaves[at]...)
		kind, _ := parquetValue(leaf.Node.Type())
		c := &t.columns[at]
		if c.kept, c.list = i, leaf.MaxRepetitionLevel > 0; c.list {
			kind, c.there = record.JSON, listLevel(p, leaves[at])
		}
		source.Kept = append(source.Kept, Column{has[at], kind})
		t.need(at)
	}
	for _, at := range t.needed {
		leaf, _ := p.Schema().Lookup(leaves[at]...)
		of := leaf.Node.Type()
		if logical := of.LogicalType(); logical != nil && logical.Decimal != nil {
			if n := logical.Decimal.Scale; n < 0 || n > mostDecimals {
				return nil, fmt.Errorf("%w: column %s has %d digits behind the point, not 0 to %d", ErrFormat, has[at], n, mostDecimals)
			}
		}
		_, t.columns[at].read = parquetValue(of)
	}
	t.keeps = len(l.kept)
	for i, group := range p.Metadata().RowGroups {
		if group.NumRows == 0 { // its columns may have no page of values
			continue
		}
		t.groups = append(t.groups, p.RowGroups()[i])
		for _, at := range t.needed {
			if err := checkPages(file, &group.Columns[at].MetaData); err != nil {
				return nil, err
			}
		}
	}
	return source, nil
}

// checkPages refuses a column whose pages claim more than is there, or more in memory than they can unpack to.
func checkPages(file *os.File, column *format.ColumnMetaData) error {
	const usualHead, longestHead, unpacks, least = 1 << 10, 1 << 16, 2000, 64 << 20
	from, left := column.DataPageOffset, column.TotalCompressedSize
	if first := column.DictionaryPageOffset; first > 0 && first < from {
		from = first
	}
	if from < 0 || left < 0 {
		return fmt.Errorf("%w: a column begins at %d and has %d bytes", ErrFormat, from, left)
	}
	head := make([]byte, longestHead)
	for left > 0 {
		var size int
		var onDisk, inMemory int64
		err := error(nil)
		for _, most := range []int64{usualHead, longestHead} { // of large texts it holds the least and the greatest
			n, failed := file.ReadAt(head[:min(left, most)], from)
			if failed != nil && failed != io.EOF {
				return failed
			}
			if size, onDisk, inMemory, err = pageSizes(head[:n]); err == nil {
				break
			}
		}
		if err != nil {
			return err
		}
		if onDisk < 0 || onDisk > left-int64(size) || inMemory < 0 || inMemory > max(least, unpacks*onDisk) {
			return fmt.Errorf("%w: a page claims %d bytes, unpacked %d, where its column has %d", ErrFormat, onDisk, inMemory, left)
		}
		from, left = from+int64(size)+onDisk, left-int64(size)-onDisk
	}
	return nil
}

// checkFooter refuses a file whose metadata claim more than it holds.
func checkFooter(file *os.File, size int64) error {
	const ends = 8 // the footer's size, and PAR1
	var end [ends]byte
	if _, err := file.ReadAt(end[:], max(0, size-ends)); err != nil {
		return fmt.Errorf("%w: shorter than a Parquet file", ErrFormat)
	}
	footer := int64(binary.LittleEndian.Uint32(end[:]))
	if footer > size-ends {
		return fmt.Errorf("%w: its footer claims %d bytes of %d", ErrFormat, footer, size)
	}
	metadata := make([]byte, footer)
	if _, err := file.ReadAt(metadata, size-ends-footer); err != nil {
		return err
	}
	return checkThrift(metadata)
}

// need has a leaf column read.
func (t *table) need(at int) {
	if !slices.Contains(t.needed, at) {
		t.needed = append(t.needed, at)
	}
}

// vectorColumn returns a leaf of numbers. With flat it holds one number per row; otherwise a list, or whole
// vectors as bytes.
func vectorColumn(p *parquet.File, path []string, flat bool) (column, error) {
	leaf, _ := p.Schema().Lookup(path...)
	of := leaf.Node.Type()
	c := column{kept: -1, vector: true}
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
			"%w: column %s is a %s with %d levels of lists: save a list of float32, bytes of float32, or a column a dimension, "+
				"or name another column with --vector-field",
			ErrFormat,
			path[0],
			of,
			leaf.MaxRepetitionLevel,
		)
	}
	return c, nil
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
	t.row = Row{Vector: t.row.Vector[:0]}
	if t.keeps > 0 {
		t.row.Kept = make([]any, t.keeps)
	}
	var wrong error
	columns := 0
	for i, v := range values {
		if i == 0 || v.Column() != values[i-1].Column() {
			columns++
		}
		c := &t.columns[v.Column()]
		if c.vector {
			var err error
			if t.row.Vector, err = c.append(t.row.Vector, v); err != nil {
				wrong = err // the rows behind it can be read
			}
		}
		if c.kept >= 0 {
			t.row.Kept[c.kept] = c.keep(t.row.Kept[c.kept], v)
		}
		for _, field := range c.fields {
			wrong = cmp.Or(wrong, rowFields[field].set(&t.row, c.text(v)))
		}
	}
	for i, v := range t.row.Kept {
		if list, is := v.([]any); is {
			text, err := json.Marshal(list)
			t.row.Kept[i] = json.RawMessage(text)
			wrong = cmp.Or(wrong, err)
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
