package table

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// batches reads an Arrow IPC file, or stream, batch by batch.
type batches struct {
	next              func() (arrow.RecordBatch, error) // io.EOF after the last
	close             func() error
	rows              int64
	vector, id, label int // -1: no such column
	current           arrow.RecordBatch
	row               int
	numbers           []float32
}

func openArrow(file *os.File) (Source, error) {
	magic := make([]byte, 6)
	if _, err := file.ReadAt(magic, 0); err != nil {
		return nil, fmt.Errorf("%w: shorter than an Arrow file", ErrFormat)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	bounded := ipc.WithAllocator(boundedMemory{memory.DefaultAllocator, 1<<24 + 256*int(info.Size())})
	b := &batches{rows: -1}
	var schema *arrow.Schema
	switch {
	case string(magic) == "ARROW1":
		reader, err := ipc.NewFileReader(file, bounded)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		schema, b.close = reader.Schema(), reader.Close
		at := 0
		b.next = func() (arrow.RecordBatch, error) {
			if at == reader.NumRecords() {
				return nil, io.EOF
			}
			at++
			return reader.RecordBatchAt(at - 1)
		}
	case string(magic[:4]) == "\xff\xff\xff\xff":
		reader, err := ipc.NewReader(file, bounded)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		schema, b.close = reader.Schema(), func() error { reader.Release(); return nil }
		b.next = func() (arrow.RecordBatch, error) {
			batch, err := reader.Read()
			if err == nil {
				batch.Retain() // the reader keeps its own hold until its next batch
			}
			return batch, err
		}
	default:
		return nil, fmt.Errorf("%w: starts with %q, neither an Arrow file nor an Arrow stream", ErrFormat, magic)
	}
	find := func(names []string) int {
		return slices.IndexFunc(schema.Fields(), func(f arrow.Field) bool { return slices.Contains(names, f.Name) })
	}
	if b.vector, b.id, b.label = find(vectorColumns), find(idColumns), find(labelColumns); b.vector < 0 {
		return nil, errors.Join(fmt.Errorf("%w: no column named one of %v", ErrFormat, vectorColumns), b.close())
	}
	return b, nil
}

// boundedMemory refuses what a damaged file asks for beyond all proportion to its size. Its panic is caught
// by guard.
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

func (b *batches) Rows() int64 { return b.rows }

func (b *batches) Close() error {
	if b.current != nil {
		b.current.Release()
		b.current = nil
	}
	return b.close()
}

func (b *batches) Next() (Row, error) {
	for b.current == nil || b.row == int(b.current.NumRows()) {
		if b.current != nil {
			b.current.Release()
			b.current = nil
		}
		batch, err := b.next()
		if err == io.EOF {
			return Row{}, io.EOF
		}
		if err != nil {
			return Row{}, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		b.current, b.row = batch, 0
	}
	row := Row{ID: textAt(b.current, b.id, b.row), Label: textAt(b.current, b.label, b.row)}
	err := b.readVector()
	row.Vector = b.numbers
	b.row++
	return row, err
}

// readVector copies the numbers of the present row out of its list.
func (b *batches) readVector() error {
	b.numbers = b.numbers[:0]
	column := b.current.Column(b.vector)
	list, ok := column.(array.ListLike)
	if !ok {
		return fmt.Errorf("%w: column %s is %s, not a list of numbers", ErrFormat, b.current.ColumnName(b.vector),
			column.DataType())
	}
	if column.IsNull(b.row) {
		return fmt.Errorf("%w: a vector is missing", ErrFormat)
	}
	from, to := list.ValueOffsets(b.row)
	values := list.ListValues()
	for i := int(from); i < int(to); i++ {
		if values.IsNull(i) {
			return fmt.Errorf("%w: a number is missing", ErrFormat)
		}
		switch v := values.(type) {
		case *array.Float32:
			b.numbers = append(b.numbers, v.Value(i))
		case *array.Float64:
			b.numbers = append(b.numbers, float32(v.Value(i)))
		case *array.Float16:
			b.numbers = append(b.numbers, v.Value(i).Float32())
		default:
			return fmt.Errorf("%w: column %s is %s, not a list of numbers", ErrFormat, b.current.ColumnName(b.vector),
				column.DataType())
		}
	}
	return nil
}

// textAt is a cell as text; "" where there is none.
func textAt(batch arrow.RecordBatch, column, row int) string {
	if column < 0 || batch.Column(column).IsNull(row) {
		return ""
	}
	return batch.Column(column).ValueStr(row)
}
