package stream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/slkstream/slkstream/internal/vector"
)

// A piece of state is: magic, version, fields, CRC-32C of all before. A field is a number, a length and
// bytes. A reader skips unknown numbers, so that a later version may add fields and an older one still
// reads the rest.
const (
	magic   = "slkm"
	version = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrState is wrapped by the error for bytes that are not a state: cut, changed, or of a format that this
// build cannot read.
var ErrState = errors.New("not a readable state")

// fields are those of one piece, or of a group in it. One list of them serves both ways: it writes or reads
// them. A field that is not there leaves its variable as it is. The first error ends reading.
type fields struct {
	kind, name string // of the piece; name: the class of a class piece
	index      int    // of a cluster that is written
	dimension  int    // of the stream

	writes bool
	b      []byte
	values map[int][][]byte // read, by number, in their order
	err    error
}

// sealed returns the piece: what was written, and its checksum.
func (f *fields) sealed() []byte {
	b := append(append([]byte(magic), version), f.b...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// open checks magic, version and sum, and returns the fields of a piece.
func open(b []byte) (*fields, error) {
	if len(b) < len(magic)+1+4 || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: %d bytes without its mark", ErrState, len(b))
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, fmt.Errorf("%w: checksum %08x, not %08x", ErrState, got, sum)
	}
	if v := body[len(magic)]; v != version {
		return nil, fmt.Errorf("%w: version %d, this build reads %d", ErrState, v, version)
	}
	f := parse(body[len(magic)+1:])
	return f, f.err
}

func parse(b []byte) *fields {
	f := &fields{values: map[int][][]byte{}}
	for len(b) > 0 && f.err == nil {
		number, n := binary.Uvarint(b)
		size, m := binary.Uvarint(b[max(0, n):])
		f.check(n > 0 && number > 0 && number <= math.MaxInt32, "field number")
		f.check(m > 0 && size <= uint64(len(b)-n-m), "field length")
		if f.err == nil {
			f.values[int(number)] = append(f.values[int(number)], b[n+m:n+m+int(size)])
			b = b[n+m+int(size):]
		}
	}
	return f
}

// check fails reading unless what was read is so. It leaves writing alone, or the parts after this one would
// be missing in a state that looks whole.
func (f *fields) check(holds bool, what string) {
	if !holds && !f.writes && f.err == nil {
		f.err = fmt.Errorf("%w: bad %s", ErrState, what)
	}
}

func (f *fields) put(number int, value []byte) {
	f.b = binary.AppendUvarint(f.b, uint64(number))
	f.b = binary.AppendUvarint(f.b, uint64(len(value)))
	f.b = append(f.b, value...)
}

// last returns the value read of a number; the last one counts.
func (f *fields) last(number int) (value []byte, there bool) {
	all := f.values[number]
	if len(all) == 0 || f.err != nil {
		return nil, false
	}
	return all[len(all)-1], true
}

func text[T ~string | ~[]byte](f *fields, number int, v *T) {
	if f.writes {
		f.put(number, []byte(*v))
	} else if b, there := f.last(number); there {
		*v = T(string(b))
	}
}

func integer[T ~int | ~int32 | ~int64 | ~uint64](f *fields, number int, v *T) {
	if f.writes {
		f.put(number, binary.AppendVarint(nil, int64(*v)))
	} else if b, there := f.last(number); there {
		x, n := binary.Varint(b)
		f.check(n == len(b) && n > 0, "integer")
		*v = T(x)
	}
}

// flag is written only where it is true.
func flag(f *fields, number int, v *bool) {
	set := 1
	if !f.writes {
		set = 0
		integer(f, number, &set)
		*v = set != 0
	} else if *v {
		integer(f, number, &set)
	}
}

// slice has want values, -1: any number. An empty one is not written.
func slice[T float32 | float64 | int16 | int8](f *fields, number int, v *[]T, want int) {
	if f.writes {
		if len(*v) > 0 {
			b, _ := binary.Append(nil, binary.LittleEndian, *v) // of a fixed size
			f.put(number, b)
		}
		return
	}
	b, there := f.last(number)
	if !there || len(b) == 0 {
		return
	}
	size := binary.Size([1]T{})
	if f.check(len(b)%size == 0 && (want < 0 || len(b) == want*size), "vector length"); f.err != nil {
		return
	}
	out := make([]T, len(b)/size)
	_, _ = binary.Decode(b, binary.LittleEndian, out)
	for _, x := range out {
		f.check(x-x == 0, "number that is not finite")
	}
	*v = out
}

func number[T float32 | float64](f *fields, number int, v *T) {
	one := []T{*v}
	slice(f, number, &one, 1)
	*v = one[0]
}

// shorts are values of at most scale, in 16 bits each.
func shorts(f *fields, number int, v *[]float32, scale float32) {
	codes := vector.Shorts(nil, *v, scale)
	slice(f, number, &codes, -1)
	if !f.writes && len(codes) > 0 {
		*v = make([]float32, len(codes))
		vector.Longs(*v, codes, scale)
	}
}

// group is a field that is itself a list of fields.
func (f *fields) group(number int, each func(*fields)) {
	inner := &fields{writes: true}
	if !f.writes {
		b, there := f.last(number)
		if !there {
			return
		}
		inner = parse(b)
	}
	inner.dimension = f.dimension
	each(inner)
	if f.err == nil {
		f.err = inner.err
	}
	if f.writes {
		f.put(number, inner.b)
	}
}

// list is a field that is there once for each item.
func list[T any](f *fields, number int, items *[]T, each func(f *fields, number int, item *T)) {
	if f.writes {
		for i := range *items {
			each(f, number, &(*items)[i])
		}
		return
	}
	for _, b := range f.values[number] {
		var item T
		one := &fields{dimension: f.dimension, values: map[int][][]byte{number: {b}}, err: f.err}
		each(one, number, &item)
		f.err = one.err
		*items = append(*items, item)
	}
}
