//go:build !lean

package table

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/slkstream/slkstream/internal/record"
)

// batches reads an Arrow IPC file, or stream, batch by batch.
type batches struct {
	reader interface { // keeps a batch until the next one
		Schema() *arrow.Schema
		Read() (arrow.RecordBatch, error)
	}
	most    int64 // rows of a batch: one without a column that fills bytes may claim any number
	layout  layout
	current arrow.RecordBatch // nil: none yet
	row     int
	numbers []float32
}

func openArrow(file *os.File, how Reading) (*Source, error) {
	magic := make([]byte, 6)
	if _, err := file.ReadAt(magic, 0); err != nil {
		return nil, fmt.Errorf("%w: shorter than an Arrow file", ErrFormat)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	most := 1<<24 + 256*int(info.Size())
	// What the metadata claims is checked here; without limits of the library's own, a batch may be of any size.
	bounded := []ipc.Option{
		ipc.WithAllocator(boundedMemory{memory.DefaultAllocator, most}),
		ipc.WithMetadataSizeLimit(0), ipc.WithBodySizeLimit(0),
	}
	b := &batches{most: int64(most)}
	source := &Source{Rows: -1, next: b.next}
	switch {
	case string(magic) == "ARROW1":
		checkArrowFile(file, info.Size())
		reader, err := ipc.NewFileReader(file, bounded...)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		b.reader, source.close = reader, reader.Close
	case string(magic[:4]) == "\xff\xff\xff\xff":
		checkArrowStream(file, info.Size())
		reader, err := ipc.NewReader(file, bounded...)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		b.reader, source.close = reader, func() error { reader.Release(); return nil }
	default:
		return nil, fmt.Errorf("%w: starts with %q, neither an Arrow file nor an Arrow stream", ErrFormat, magic)
	}
	var has []string
	for _, f := range b.reader.Schema().Fields() {
		has = append(has, f.Name)
	}
	if b.layout, err = how.lay(has); err != nil {
		return nil, errors.Join(err, source.close())
	}
	source.Unread = b.layout.unread
	for _, at := range b.layout.kept {
		source.Kept = append(source.Kept, Column{has[at], arrowKind(b.reader.Schema().Field(at).Type)})
	}
	return source, nil
}

// boundedMemory panics if a damaged file requests far more memory than its size justifies. guard
// recovers the panic.
type boundedMemory struct {
	memory.Allocator
	limit int
}

func (m boundedMemory) Allocate(size int) []byte {
	m.check(size)
	return m.Allocator.Allocate(size)
}

func (m boundedMemory) Reallocate(size int, b []byte) []byte {
	m.check(size)
	return m.Allocator.Reallocate(size, b)
}

func (m boundedMemory) check(size int) {
	if size < 0 || size > m.limit {
		panic(fmt.Sprintf("a part of %d bytes is announced", size))
	}
}

func (b *batches) next() (Row, error) {
	for b.current == nil || b.row == int(b.current.NumRows()) {
		var err error
		if b.current, err = b.reader.Read(); err == io.EOF {
			return Row{}, io.EOF
		}
		if err != nil {
			return Row{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		if rows := b.current.NumRows(); rows < 0 || rows > b.most {
			return Row{}, fmt.Errorf("%w: a batch claims %d rows", ErrFormat, rows)
		}
		b.row = 0
	}
	row, err := Row{}, error(nil)
	for i, at := range b.layout.fields {
		err = cmp.Or(err, rowFields[i].set(&row, textAt(b.current, at, b.row)))
	}
	for _, at := range b.layout.kept {
		row.Kept = append(row.Kept, valueAt(b.current.Column(at), b.row))
	}
	err = cmp.Or(err, b.readVector())
	row.Vector = b.numbers
	b.row++
	return row, err
}

// readVector copies the numbers of the present row: from a list, from bytes, or from one
// column per dimension.
func (b *batches) readVector() (err error) {
	b.numbers = b.numbers[:0]
	for _, at := range b.layout.vector {
		column := b.current.Column(at)
		if column.IsNull(b.row) {
			return badRow("a vector or a number is missing")
		}
		values, from, to := column, b.row, b.row+1
		switch c := column.(type) {
		case array.ListLike:
			first, end := c.ValueOffsets(b.row)
			values, from, to = c.ListValues(), int(first), int(end)
		case interface{ Value(int) []byte }: // bytes of any width
			b.numbers, err = bytesVector(b.numbers, c.Value(b.row))
			return err
		case *array.String, *array.LargeString:
			b.numbers, err = textVector(b.numbers, c.ValueStr(b.row))
			return err
		}
		for i := from; i < to; i++ {
			if values.IsNull(i) {
				return badRow("a number is missing")
			}
			x, ok := numberAt(values, i)
			if !ok {
				return fmt.Errorf("%w: column %s is %s, not numbers: save a list of float32, bytes of float32, or a column a dimension, "+
					"or name another column with --vector-field", ErrFormat, b.current.ColumnName(at), column.DataType())
			}
			b.numbers = append(b.numbers, x)
		}
	}
	return nil
}

func numberAt(values arrow.Array, i int) (float32, bool) {
	switch v := values.(type) {
	case *array.Float32:
		return v.Value(i), true
	case *array.Float64:
		return float32(v.Value(i)), true
	case *array.Float16:
		return v.Value(i).Float32(), true
	case *array.Int8:
		return float32(v.Value(i)), true
	case *array.Uint8:
		return float32(v.Value(i)), true
	case *array.Int16:
		return float32(v.Value(i)), true
	case *array.Uint16:
		return float32(v.Value(i)), true
	case *array.Int32:
		return float32(v.Value(i)), true
	case *array.Uint32:
		return float32(v.Value(i)), true
	case *array.Int64:
		return float32(v.Value(i)), true
	case *array.Uint64:
		return float32(v.Value(i)), true
	}
	return 0, false
}

// textAt returns a cell as text; "" if the column or the value is missing.
func textAt(batch arrow.RecordBatch, column, row int) string {
	if column < 0 || batch.Column(column).IsNull(row) {
		return ""
	}
	if kind := arrowKind(batch.Column(column).DataType()); kind == record.Time || kind == record.Number { // NaN is no text
		return textOf(valueAt(batch.Column(column), row))
	}
	return batch.Column(column).ValueStr(row)
}

// arrowKind is the kind of the values that valueAt returns.
func arrowKind(t arrow.DataType) record.Kind {
	switch id := t.ID(); {
	case id == arrow.TIMESTAMP:
		return record.Time
	case id == arrow.BOOL:
		return record.Truth
	case id == arrow.STRING || id == arrow.LARGE_STRING:
		return record.Text
	case id == arrow.BINARY:
		return record.Bytes
	case id == arrow.UINT64: // it may be beyond int64
		return record.JSON
	case arrow.IsInteger(id):
		return record.Whole
	case arrow.IsFloating(id):
		return record.Number
	}
	return record.JSON
}

// valueAt returns a copy of a cell; nil if it is missing.
func valueAt(column arrow.Array, row int) any {
	if column.IsNull(row) {
		return nil
	}
	kind := arrowKind(column.DataType())
	switch c := column.(type) {
	case *array.Timestamp:
		return record.NearestTime(c.Value(row).ToTime(c.DataType().(*arrow.TimestampType).Unit))
	case *array.Boolean:
		return c.Value(row)
	case *array.Binary:
		return bytes.Clone(c.Value(row))
	}
	switch text := column.ValueStr(row); kind {
	case record.Text:
		return strings.Clone(text)
	case record.Whole:
		n, _ := strconv.ParseInt(text, 10, 64) // as Arrow wrote it
		return n
	case record.Number:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return nil // JSON has no such number
		}
		return x
	}
	value, err := json.Marshal(column.GetOneForMarshal(row))
	if err != nil {
		return column.ValueStr(row)
	}
	return json.RawMessage(value)
}
