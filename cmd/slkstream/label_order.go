package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/slkstream/slkstream/solver/file"
)

// rowOrder is the order of a file's rows: stream by stream, in each by time where all its rows have one. Neighbouring
// rows are often the same thing, and the rows of several cameras in one file are not neighbours.
type rowOrder struct {
	names  map[string]int32
	stream []int32
	times  []time.Time // nil: no row has one
	ranks  []int32     // of each row; nil: the file's own order
	rows   []int32     // of each rank
}

// add takes the next row.
func (o *rowOrder) add(stream string, at time.Time) {
	number, known := o.names[stream]
	if o.names == nil {
		o.names = map[string]int32{}
	}
	if !known {
		number = int32(len(o.names))
		o.names[stream] = number
	}
	if o.times == nil && !at.IsZero() {
		o.times = make([]time.Time, len(o.stream))
	}
	o.stream = append(o.stream, number)
	if o.times != nil {
		o.times = append(o.times, at)
	}
}

func (o *rowOrder) streams() int { return len(o.names) }

// rank returns the position of a row of the file in the order.
func (o *rowOrder) rank(row int) int {
	if o.ranks == nil {
		return row
	}
	return int(o.ranks[row])
}

// row returns the row of the file at a position of the order.
func (o *rowOrder) row(rank int) int64 {
	if o.rows == nil {
		return int64(rank)
	}
	return int64(o.rows[rank])
}

// sort finds the order, and says whether it is another one than the file's.
func (o *rowOrder) sort() bool {
	timed := make([]bool, len(o.names))
	for i := range timed {
		timed[i] = o.times != nil
	}
	for i := range o.times {
		timed[o.stream[i]] = timed[o.stream[i]] && !o.times[i].IsZero()
	}
	rows := make([]int32, len(o.stream))
	for i := range rows {
		rows[i] = int32(i)
	}
	slices.SortStableFunc(rows, func(a, b int32) int {
		if by := cmp.Compare(o.stream[a], o.stream[b]); by != 0 || !timed[o.stream[a]] {
			return by
		}
		return o.times[a].Compare(o.times[b])
	})
	if slices.IsSorted(rows) {
		return false
	}
	o.rows, o.ranks = rows, make([]int32, len(rows))
	for rank, row := range rows {
		o.ranks[row] = int32(rank)
	}
	return true
}

// sorted returns Problem.Read in the order of the rows. A file in another order is copied once to a temporary one, as it
// can only be read from its beginning.
func (o *rowOrder) sorted(c *call, p file.Problem, given []int32) (func(func([]float32, int32) error) error, error) {
	if !o.sort() {
		return p.Read, nil
	}
	copied, err := os.CreateTemp("", "slkstream-*.rows")
	if err != nil {
		return nil, err
	}
	c.atEnd(func() { copied.Close(); os.Remove(copied.Name()) })
	c.Log.Info("rows are taken stream by stream, by time", "streams", o.streams(), "copy", copied.Name())
	size, i := int64(4*p.D), 0
	var buffer []byte
	if err := p.Read(func(row []float32, _ int32) error {
		buffer = buffer[:0]
		for _, x := range row {
			buffer = binary.LittleEndian.AppendUint32(buffer, math.Float32bits(x))
		}
		_, err := copied.WriteAt(buffer, int64(o.rank(i))*size)
		i++
		return err
	}); err != nil {
		return nil, err
	}
	return func(use func([]float32, int32) error) error {
		in := bufio.NewReaderSize(io.NewSectionReader(copied, 0, int64(p.N)*size), 1<<20)
		numbers, row := make([]byte, size), make([]float32, p.D)
		for rank := range p.N {
			if _, err := io.ReadFull(in, numbers); err != nil {
				return errors.Join(err, errors.New("input: its copy in order cannot be read"))
			}
			for d := range row {
				row[d] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*d:]))
			}
			y := int32(-1)
			if at := int(o.row(rank)); at < len(given) {
				y = given[at]
			}
			if err := use(row, y); err != nil {
				return err
			}
		}
		return nil
	}, nil
}
