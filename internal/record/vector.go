package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"github.com/slkstream/slkstream/internal/kernel"
)

// shortest and longest bound the norm of a vector: outside of them its squares underflow or overflow float32,
// and a solver could only return NaN.
const (
	shortest = 1e-18
	longest  = 1e18
)

// CheckVector rejects vectors that no solver can use: empty, with NaN or Inf, zero, or with a norm out
// of range.
func CheckVector(v []float32) *Rejection {
	if len(v) == 0 {
		return reject(BadValue, "the vector is empty")
	}
	// NaN and Inf show in the sum, and inside these bounds float32 has neither lost nor overflowed anything.
	if square := kernel.Dot(v, v); square >= 1e-30 && square <= 1e30 {
		return nil
	}
	square := 0. // in float64, squares of finite float32s neither underflow nor overflow
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if square >= shortest*shortest && square <= longest*longest {
		return nil
	}
	for i, x := range v {
		if x != x || math.IsInf(float64(x), 0) {
			return reject(BadValue, "vector[%d] is %g: not a finite number", i, x)
		}
	}
	if square == 0 {
		return reject(BadValue, "the vector is zero")
	}
	return reject(BadValue, "the vector's length is %.3g: not between %g and %g; are its numbers of another type, such as float64?",
		math.Sqrt(square), shortest, longest)
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// rawVector appends little-endian numbers of a form to v: f32, f16 or bf16.
func rawVector(v []float32, b []byte, form string) ([]float32, *Rejection) {
	size := 2
	if form == "f32" {
		size = 4
	}
	if len(b)%size != 0 {
		return nil, reject(Unreadable, "%d bytes are not a whole number of %s values", len(b), form)
	}
	if v == nil && size == 4 && littleEndian && len(b) > 0 { // copied without being cleared before
		b = append([]byte(nil), b...)
		return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), len(b)/4), nil
	}
	from := len(v)
	v = slices.Grow(v, len(b)/size)[:from+len(b)/size]
	switch into := v[from:]; form {
	case "f32":
		fillFloat32(into, b)
	case "f16":
		for i := range into {
			into[i] = kernel.Float16(binary.LittleEndian.Uint16(b[2*i:]))
		}
	default:
		for i := range into {
			into[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
	}
	return v, nil
}

// fillFloat32 fills v from its little-endian bytes.
func fillFloat32(v []float32, b []byte) {
	if littleEndian && len(v) > 0 {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 4*len(v)), b)
		return
	}
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
}

// base64Vector appends the numbers of a base64 string of little-endian float32, in either alphabet, padded or
// not, to v.
func base64Vector(v []float32, text []byte) ([]float32, *Rejection) {
	var spare []byte // what v has room for is decoded where it stays
	if rest := v[len(v):cap(v)]; len(rest) > 0 {
		spare = unsafe.Slice((*byte)(unsafe.Pointer(&rest[0])), 4*len(rest))[:0]
	}
	b, bad := decodeBase64(spare, text)
	if bad != nil {
		return nil, bad
	}
	return rawVector(v, b, "f32")
}

// ParseVector reads and checks a vector from a JSON value: a list of numbers, or a base64 string of
// little-endian float32. The error is a *Rejection.
func ParseVector(value []byte) ([]float32, error) {
	var f fields
	s := scanner{b: value}
	if !f.readVector(&s, false) || !s.end() {
		return nil, s.bad
	}
	if bad := CheckVector(f.vector); bad != nil {
		return nil, bad
	}
	return f.vector, nil
}

// decodeBase64 appends to b.
func decodeBase64(b, text []byte) ([]byte, *Rejection) {
	text = bytes.TrimRight(text, "=")
	encoding := base64.RawStdEncoding
	if bytes.ContainsAny(text, "-_") {
		encoding = base64.RawURLEncoding
	}
	b, err := encoding.AppendDecode(b, text)
	if err != nil && bytes.HasPrefix(text, []byte("[")) {
		return nil, reject(Unreadable, "the text of a list, as str(array) gives it: write a list of numbers, or base64 of float32")
	}
	if err != nil {
		return nil, reject(Unreadable, "not base64: %v", err)
	}
	return b, nil
}

// AppendVector appends v to dst as little-endian float32, the raw format of a record.
func AppendVector(dst []byte, v []float32) []byte {
	for _, x := range v {
		dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(x))
	}
	return dst
}

// vectorOf decodes the bytes written by AppendVector.
func vectorOf(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	fillFloat32(v, b)
	return v
}
