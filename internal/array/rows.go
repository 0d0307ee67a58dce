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
	in      io.Reader
	of      kind
	rows    int64
	next    int64
	bytes   []byte
	vector  []float32
	columns *columns // of a matrix in Fortran order; else nil
}

// NewRows begins to read a .npy matrix of numbers of any type. size is how many bytes there are, -1 where that is
// not known.
func NewRows(from io.Reader, size int64) (*Rows, error) {
	in := bufio.NewReaderSize(from, 1<<20)
	header, before, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	a, of, fortran, err := parseHeader(header, numbers)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 {
		return nil, fmt.Errorf("%w: shape %v, want rows and columns", ErrFormat, a.Shape)
	}
	d := a.Columns()
	if d < 1 || d > columnLimit {
		return nil, fmt.Errorf("%w: %d columns, want 1 to %d", ErrFormat, d, columnLimit)
	}
	// Known before hours go into the first rows.
	if size >= 0 && int64(a.Rows()) > size/int64(of.width*d) {
		return nil, fmt.Errorf("%w: %d rows of %d columns are announced, the file has %d bytes", ErrFormat, a.Rows(), d, size)
	}
	r := &Rows{in: in, of: of, rows: int64(a.Rows()), vector: make([]float32, d)}
	if !fortran {
		r.bytes = make([]byte, of.width*d)
		return r, nil
	}
	at, seekable := from.(io.ReaderAt)
	if !seekable {
		return nil, fmt.Errorf("%w: Fortran order in a stream; save it in C order (numpy.ascontiguousarray)", ErrFormat)
	}
	r.columns = &columns{from: at, before: before, rows: r.rows}
	return r, nil
}

// SizeOf is how many bytes a regular file has; -1 for any other.
func SizeOf(file *os.File) int64 {
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return -1
}

// columns are the columns of a matrix in Fortran order, some rows at a time.
type columns struct {
	from         io.ReaderAt
	before, rows int64
	block        []byte // column by column
	first, count int64  // rows of the block
}

// blockBytes bounds what is held of a matrix in Fortran order.
const blockBytes = 16 << 20

// row reads the numbers of a row.
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

// Rounded says whether the file's numbers are float64, and rounded to float32.
func (r *Rows) Rounded() bool { return r.of.letter == 'f' && r.of.width == 8 }

// Len is the number of rows.
func (r *Rows) Len() int64 { return r.rows }

// Next is the next row, valid until the next call, or io.EOF after the last one.
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
