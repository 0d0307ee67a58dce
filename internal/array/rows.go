package array

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// columnLimit bounds the buffer that a header may make us allocate.
const columnLimit = 1 << 20

// Rows streams the rows of a .npy matrix, so that it need not fit in memory.
type Rows struct {
	in     *bufio.Reader
	kind   string
	width  int // bytes of a number
	rows   int64
	next   int64
	bytes  []byte
	vector []float32
}

// NewRows begins to read a .npy matrix of float64, float32, float16 or uint8 in C order.
func NewRows(file *os.File) (*Rows, error) {
	in := bufio.NewReaderSize(file, 1<<20)
	header, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	a, width, err := parseHeader(header, false)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 {
		return nil, fmt.Errorf("%w: shape %v, want rows and columns", ErrFormat, a.Shape)
	}
	columns := a.Columns()
	if columns < 1 || columns > columnLimit {
		return nil, fmt.Errorf("%w: %d columns, want 1 to %d", ErrFormat, columns, columnLimit)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	// Known before hours go into the first rows.
	if info.Mode().IsRegular() && int64(a.Rows()) > info.Size()/int64(width*columns) {
		return nil, fmt.Errorf("%w: %d rows of %d columns are announced, the file has %d bytes", ErrFormat,
			a.Rows(), columns, info.Size())
	}
	return &Rows{
		in: in, kind: a.Type, width: width, rows: int64(a.Rows()), bytes: make([]byte, width*columns),
		vector: make([]float32, columns),
	}, nil
}

// Rounded says whether the file's numbers are float64, and rounded to float32.
func (r *Rows) Rounded() bool { return r.kind == "<f8" }

// Len is the number of rows.
func (r *Rows) Len() int64 { return r.rows }

// Next is the next row, valid until the next call, or io.EOF after the last one.
func (r *Rows) Next() ([]float32, error) {
	if r.next == r.rows {
		return nil, io.EOF
	}
	if _, err := io.ReadFull(r.in, r.bytes); err != nil {
		return nil, fmt.Errorf("%w: truncated: %w", ErrFormat, err)
	}
	for i := range r.vector {
		r.vector[i] = floatAt(r.bytes[i*r.width:], r.kind)
	}
	r.next++
	return r.vector, nil
}
