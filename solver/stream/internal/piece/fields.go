// Package piece writes and reads the pieces of a stream's state.
package piece

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
)

// A piece of state is: magic, version, fields, CRC-32C of all before. A field is a number, a length and
// bytes. A reader skips unknown numbers, so that a later version may add fields and an older one still
// reads the rest.
const (
	magic   = "slkm"
	version = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrState is wrapped by the errors of Open and Fields.
var ErrState = errors.New("not a readable state")

// Fields are those of one piece, or of a group in it. One list of them serves both ways: it writes or reads
// them. A field that is not there leaves its variable as it is. The first error ends reading.
type Fields struct {
	Kind, Name string // of the piece; Name: the class of a class piece
	Index      int    // of a cluster that is written
	Dimension  int    // of the stream
	Writes     bool   // else they are read
	Err        error  // of reading

	b      []byte
	inner  []byte           // memory of groups
	values map[int][][]byte // read, by number, in their order
}

// Len returns how many bytes were written.
func (f *Fields) Len() int { return len(f.b) }

// Over has f write into the memory of other fields, which are not used any more.
func (f *Fields) Over(other *Fields) { f.b, f.inner = other.b[:0], other.inner }

// Sealed returns the piece: a copy of what was written, and its checksum.
func (f *Fields) Sealed() []byte {
	b := append(make([]byte, 0, len(magic)+1+len(f.b)+4), magic...)
	b = append(append(b, version), f.b...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// Open checks magic, version and sum, and returns the fields of a piece.
func Open(b []byte) (*Fields, error) {
	if len(b) < len(magic)+1+4 || string(b[:len(magic)]) != magic {
		return nil, fmt.Errorf("%w: %d bytes without its mark", ErrState, len(b))
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if got := crc32.Checksum(body, castagnoli); got != sum {
		return nil, fmt.Errorf("%w: checksum %08x, not %08x", ErrState, got, sum)
	}
	if err := SameVersion(b); err != nil {
		return nil, err
	}
	f := parse(body[len(magic)+1:])
	return f, f.Err
}

// SameVersion returns an error if a piece is not of the version that this build reads. It does not decode it.
func SameVersion(b []byte) error {
	if len(b) > len(magic) && string(b[:len(magic)]) == magic && b[len(magic)] != version {
		return fmt.Errorf("%w: version %d, this build reads %d", ErrState, b[len(magic)], version)
	}
	return nil
}

func parse(b []byte) *Fields {
	f := &Fields{values: map[int][][]byte{}}
	for len(b) > 0 && f.Err == nil {
		number, n := binary.Uvarint(b)
		size, m := binary.Uvarint(b[max(0, n):])
		f.Check(n > 0 && number > 0 && number <= math.MaxInt32, "field number")
		f.Check(m > 0 && size <= uint64(len(b)-n-m), "field length")
		if f.Err == nil {
			f.values[int(number)] = append(f.values[int(number)], b[n+m:n+m+int(size)])
			b = b[n+m+int(size):]
		}
	}
	return f
}

// Check fails reading unless what was read is so. It leaves writing alone, or the parts after this one would
// be missing in a state that looks whole.
func (f *Fields) Check(holds bool, what string) {
	if !holds && !f.Writes && f.Err == nil {
		f.Err = fmt.Errorf("%w: bad %s", ErrState, what)
	}
}

func (f *Fields) put(number int, value []byte) {
	f.b = binary.AppendUvarint(f.b, uint64(number))
	f.b = binary.AppendUvarint(f.b, uint64(len(value)))
	f.b = append(f.b, value...)
}

// Last returns the value read of a number; the last one counts.
func (f *Fields) Last(number int) (value []byte, there bool) {
	all := f.values[number]
	if len(all) == 0 || f.Err != nil {
		return nil, false
	}
	return all[len(all)-1], true
}

// Text is a string or bytes.
func Text[T ~string | ~[]byte](f *Fields, number int, v *T) {
	if f.Writes {
		f.put(number, []byte(*v))
	} else if b, there := f.Last(number); there {
		*v = T(string(b))
	}
}

// Integer is a whole number.
func Integer[T ~int | ~int32 | ~int64 | ~uint64](f *Fields, number int, v *T) {
	if f.Writes {
		f.put(number, binary.AppendVarint(nil, int64(*v)))
	} else if b, there := f.Last(number); there {
		x, n := binary.Varint(b)
		f.Check(n == len(b) && n > 0, "integer")
		*v = T(x)
	}
}

// Flag is written only where it is true.
func Flag(f *Fields, number int, v *bool) {
	set := 1
	if !f.Writes {
		set = 0
		Integer(f, number, &set)
		*v = set != 0
	} else if *v {
		Integer(f, number, &set)
	}
}

// Slice has want values, -1: any number. An empty one is not written.
func Slice[T float32 | float64 | int16 | int8](f *Fields, number int, v *[]T, want int) {
	if f.Writes {
		if len(*v) > 0 {
			b, _ := binary.Append(nil, binary.LittleEndian, *v) // of a fixed size
			f.put(number, b)
		}
		return
	}
	b, there := f.Last(number)
	if !there || len(b) == 0 {
		return
	}
	size := binary.Size([1]T{})
	if f.Check(len(b)%size == 0 && (want < 0 || len(b) == want*size), "vector length"); f.Err != nil {
		return
	}
	out := make([]T, len(b)/size)
	_, _ = binary.Decode(b, binary.LittleEndian, out)
	for _, x := range out {
		f.Check(x-x == 0, "number that is not finite")
	}
	*v = out
}

// Number is any number.
func Number[T float32 | float64](f *Fields, number int, v *T) {
	one := []T{*v}
	Slice(f, number, &one, 1)
	*v = one[0]
}

// Group is a field that is itself a list of fields.
func (f *Fields) Group(number int, each func(*Fields)) {
	inner := &Fields{Writes: true, b: f.inner[:0]}
	if !f.Writes {
		b, there := f.Last(number)
		if !there {
			return
		}
		inner = parse(b)
	}
	inner.Dimension = f.Dimension
	each(inner)
	if f.Err == nil {
		f.Err = inner.Err
	}
	if f.Writes {
		f.put(number, inner.b)
		f.inner = inner.b
	}
}

// List is a field that is there once for each item.
func List[T any](f *Fields, number int, items *[]T, each func(f *Fields, number int, item *T)) {
	if f.Writes {
		for i := range *items {
			each(f, number, &(*items)[i])
		}
		return
	}
	for _, b := range f.values[number] {
		var item T
		one := &Fields{Dimension: f.Dimension, values: map[int][][]byte{number: {b}}, Err: f.Err}
		each(one, number, &item)
		f.Err = one.Err
		*items = append(*items, item)
	}
}
