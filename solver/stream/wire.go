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

type writer struct{ b []byte }

func newWriter() *writer { return &writer{append([]byte(magic), version)} }

// sealed appends the checksum.
func (w *writer) sealed() []byte {
	return binary.LittleEndian.AppendUint32(w.b, crc32.Checksum(w.b, castagnoli))
}

func (w *writer) bytes(field int, v []byte) {
	w.b = binary.AppendUvarint(w.b, uint64(field))
	w.b = binary.AppendUvarint(w.b, uint64(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) text(field int, v string) { w.bytes(field, []byte(v)) }

func (w *writer) integer(field int, v int64) {
	w.bytes(field, binary.AppendVarint(nil, v))
}

func (w *writer) float(field int, v float64) {
	w.bytes(field, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
}

func (w *writer) vector(field int, v []float32) {
	w.b = binary.AppendUvarint(w.b, uint64(field))
	w.b = binary.AppendUvarint(w.b, uint64(4*len(v)))
	for _, x := range v {
		w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(x))
	}
}

func (w *writer) doubles(field int, v []float64) {
	w.b = binary.AppendUvarint(w.b, uint64(field))
	w.b = binary.AppendUvarint(w.b, uint64(8*len(v)))
	for _, x := range v {
		w.b = binary.LittleEndian.AppendUint64(w.b, math.Float64bits(x))
	}
}

// short writes values of at most scale, in 16 bits each.
func (w *writer) short(field int, v []float32, scale float32) {
	w.shorts(field, vector.Shorts(nil, v, scale))
}

// shorts writes codes of vector.Shorts.
func (w *writer) shorts(field int, codes []int16) {
	w.b = binary.AppendUvarint(w.b, uint64(field))
	w.b = binary.AppendUvarint(w.b, uint64(2*len(codes)))
	for _, code := range codes {
		w.b = binary.LittleEndian.AppendUint16(w.b, uint16(code))
	}
}

// group writes a field that is itself a list of fields.
func (w *writer) group(field int, write func(*writer)) {
	inner := &writer{}
	write(inner)
	w.bytes(field, inner.b)
}

// reader reads the fields of a piece. The first error ends reading and is kept in err.
type reader struct {
	b     []byte
	value []byte
	err   error
}

// open checks magic, version and sum.
func open(b []byte) (*reader, error) {
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
	return &reader{b: body[len(magic)+1:]}, nil
}

// next reads the next field and returns its number, 0 at the end.
func (r *reader) next() int {
	if r.err != nil || len(r.b) == 0 {
		return 0
	}
	field, n := binary.Uvarint(r.b)
	if n <= 0 || field == 0 || field > math.MaxInt32 {
		return r.fail("field number")
	}
	size, m := binary.Uvarint(r.b[n:])
	if m <= 0 || size > uint64(len(r.b)-n-m) {
		return r.fail("field length")
	}
	r.value = r.b[n+m : n+m+int(size)]
	r.b = r.b[n+m+int(size):]
	return int(field)
}

func (r *reader) fail(what string) int {
	if r.err == nil {
		r.err = fmt.Errorf("%w: bad %s", ErrState, what)
	}
	return 0
}

func (r *reader) text() string { return string(r.value) }

func (r *reader) integer() int64 {
	v, n := binary.Varint(r.value)
	if n != len(r.value) || n <= 0 {
		r.fail("integer")
		return 0
	}
	return v
}

func (r *reader) float() float64 {
	if len(r.value) != 8 {
		r.fail("number")
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(r.value))
	if math.IsNaN(v) || math.IsInf(v, 0) {
		r.fail("number that is not finite")
		return 0
	}
	return v
}

// vector reads float32 values; want is their number, -1 for any.
func (r *reader) vector(want int) []float32 {
	if len(r.value)%4 != 0 || want >= 0 && len(r.value) != 4*want {
		r.fail("vector length")
		return nil
	}
	v := make([]float32, len(r.value)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.value[4*i:]))
		if x := float64(v[i]); math.IsNaN(x) || math.IsInf(x, 0) {
			r.fail("vector value that is not finite")
			return nil
		}
	}
	return v
}

func (r *reader) short(scale float32) []float32 {
	codes := r.shorts()
	if codes == nil {
		return nil
	}
	v := make([]float32, len(codes))
	vector.Longs(v, codes, scale)
	return v
}

func (r *reader) shorts() []int16 {
	if len(r.value)%2 != 0 {
		r.fail("vector length")
		return nil
	}
	codes := make([]int16, len(r.value)/2)
	for i := range codes {
		codes[i] = int16(binary.LittleEndian.Uint16(r.value[2*i:]))
	}
	return codes
}

func (r *reader) doubles(want int) []float64 {
	if len(r.value)%8 != 0 || want >= 0 && len(r.value) != 8*want {
		r.fail("vector length")
		return nil
	}
	v := make([]float64, len(r.value)/8)
	for i := range v {
		v[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.value[8*i:]))
		if math.IsNaN(v[i]) || math.IsInf(v[i], 0) {
			r.fail("vector value that is not finite")
			return nil
		}
	}
	return v
}

func (r *reader) group(read func(*reader)) {
	inner := &reader{b: r.value}
	read(inner)
	if inner.err != nil && r.err == nil {
		r.err = inner.err
	}
}
