package array

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// columnLimit bounds the buffer allocated for a row.
const columnLimit = 1 << 20

// Rows streams the rows of a .npy matrix, so that it need not fit in memory.
type Rows struct {
	in      io.Reader
	of      kind
	rows    int64
	next    int64
	bytes   []byte
	vector  []float32
	columns *columns // for Fortran order; else nil
}

// NewRows begins to read a .npy matrix of numbers of any type. size is the number of bytes, -1 if unknown.
func NewRows(from io.Reader, size int64) (*Rows, error) {
	in := bufio.NewReaderSize(from, 1<<20)
	h, err := readHeader(in, numbers)
	if err != nil {
		return nil, err
	}
	if len(h.shape) != 2 {
		return nil, fmt.Errorf("%w: shape %v, want rows and columns", ErrFormat, h.shape)
	}
	n, d := h.shape[0], h.shape[1]
	if d < 1 || d > columnLimit {
		return nil, fmt.Errorf("%w: %d columns, want 1 to %d", ErrFormat, d, columnLimit)
	}
	// Find a truncated file now, not after hours of work on its first rows.
	if size >= 0 && int64(n) > size/int64(h.width*d) {
		return nil, fmt.Errorf("%w: %d rows of %d columns are announced, the file has %d bytes", ErrFormat, n, d, size)
	}
	r := &Rows{in: in, of: h.kind, rows: int64(n), vector: make([]float32, d)}
	if !h.fortran {
		r.bytes = make([]byte, h.width*d)
		return r, nil
	}
	at, seekable := from.(io.ReaderAt)
	if !seekable {
		return nil, fmt.Errorf("%w: Fortran order in a stream; save it in C order (numpy.ascontiguousarray)", ErrFormat)
	}
	r.columns = &columns{from: at, before: h.before, rows: r.rows}
	return r, nil
}

// SizeOf returns the size of a regular file in bytes; -1 for any other file.
func SizeOf(file *os.File) int64 {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return -1
}

// columns reads a matrix in Fortran order, a block of rows at a time.
type columns struct {
	from         io.ReaderAt
	before, rows int64
	block        []byte // in Fortran order
	first, count int64  // rows of the block
}

// blockBytes bounds the block, except that it holds at least one row.
const blockBytes = 16 << 20

// row reads the numbers of row i. Rows must be read in order.
func (c *columns) row(i int64, of kind, vector []float32) error {
	width := int64(of.width)
	if i >= c.first+c.count {
		c.first = i
		c.count = min(c.rows-i, max(1, blockBytes/width/int64(len(vector))))
		if c.block == nil {
			c.block = make([]byte, c.count*width*int64(len(vector)))
		}
		for j := range int64(len(vector)) {
			part := c.block[j*c.count*width : (j+1)*c.count*width]
			if _, err := c.from.ReadAt(part, c.before+(j*c.rows+i)*width); err != nil {
				return err
			}
		}
	}
	for j := range vector {
		vector[j] = of.float(c.block[(int64(j)*c.count+i-c.first)*width:])
	}
	return nil
}

// Rounded says whether the file's numbers are float64, which are rounded to float32.
func (r *Rows) Rounded() bool { return r.of.letter == 'f' && r.of.width == 8 }

// Len is the number of rows.
func (r *Rows) Len() int64 { return r.rows }

// Next returns the next row, valid until the next call, or io.EOF after the last one.
func (r *Rows) Next() ([]float32, error) {
	if r.next == r.rows {
		return nil, io.EOF
	}
	var err error
	if r.columns != nil {
		err = r.columns.row(r.next, r.of, r.vector)
	} else if _, err = io.ReadFull(r.in, r.bytes); err == nil {
		for i := range r.vector {
			r.vector[i] = r.of.float(r.bytes[i*r.of.width:])
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: truncated: %w", ErrFormat, err)
	}
	r.next++
	return r.vector, nil
}
