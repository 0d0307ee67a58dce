package record

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"unsafe"
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
	var a, b, c, d float64 // in float64, squares of finite float32s neither underflow nor overflow
	i := 0
	for ; i+4 <= len(v); i += 4 {
		w, x, y, z := float64(v[i]), float64(v[i+1]), float64(v[i+2]), float64(v[i+3])
		a += w * w
		b += x * x
		c += y * y
		d += z * z
	}
	for ; i < len(v); i++ {
		a += float64(v[i]) * float64(v[i])
	}
	square := a + b + c + d
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
	return reject(BadValue, "the vector's length is %.3g: not between %g and %g", math.Sqrt(square), shortest,
		longest)
}

// element is the number type of raw bytes.
type element string

const (
	float32s  element = "f32"
	float16s  element = "f16"
	bfloat16s element = "bf16"
)

func (e element) size() int {
	if e == float32s {
		return 4
	}
	return 2
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// rawVector reads little-endian numbers. With alias the vector shares the bytes' memory if their type, order
// and alignment allow it.
func rawVector(b []byte, e element, alias bool) ([]float32, *Rejection) {
	if len(b)%e.size() != 0 {
		return nil, reject(Unreadable, "%d bytes are not a whole number of %s values", len(b), e)
	}
	if len(b) == 0 {
		return nil, nil
	}
	if e == float32s && littleEndian && !alias {
		b, alias = bytes.Clone(b), true // a clone is not zeroed first, unlike make and copy
	}
	switch n := len(b) / e.size(); {
	case e == float32s && alias && littleEndian && uintptr(unsafe.Pointer(&b[0]))%4 == 0:
		return unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n), nil
	case e == float32s:
		v := make([]float32, n)
		fillFloat32(v, b)
		return v, nil
	case e == float16s:
		v := make([]float32, n)
		for i := range v {
			v[i] = float16(binary.LittleEndian.Uint16(b[2*i:]))
		}
		return v, nil
	default:
		v := make([]float32, n)
		for i := range v {
			v[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		}
		return v, nil
	}
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

// float16 converts an IEEE 754 half.
func float16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0: // zero and subnormal: fraction x 2^-24
		return math.Float32frombits(math.Float32bits(float32(fraction)*(1.0/(1<<24))) | sign)
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// base64Vector reads a base64 string of little-endian float32, in either alphabet, padded or not.
func base64Vector(text []byte) ([]float32, *Rejection) {
	b, err := decodeBase64(text)
	if err != nil {
		return nil, err
	}
	return rawVector(b, float32s, true) // nothing else uses the decoded bytes
}

// ParseVector reads and checks a vector from a JSON value: a list of numbers, or a base64 string of
// little-endian float32. The error is a *Rejection.
func ParseVector(value []byte) ([]float32, error) {
	var vector []float32
	var text string
	var rejected *Rejection
	if json.Unmarshal(value, &text) == nil {
		vector, rejected = base64Vector([]byte(text))
	} else if err := json.Unmarshal(value, &vector); err != nil {
		rejected = reject(Unreadable, "neither a list of numbers nor base64 of little-endian float32")
	}
	if rejected == nil {
		rejected = CheckVector(vector)
	}
	if rejected != nil {
		return nil, rejected
	}
	return vector, nil
}

func decodeBase64(text []byte) ([]byte, *Rejection) {
	s := strings.TrimRight(string(text), "=")
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(s, "-_") {
		encoding = base64.RawURLEncoding
	}
	b, err := encoding.DecodeString(s)
	if err != nil && strings.HasPrefix(s, "[") {
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

// VectorOf decodes the bytes written by AppendVector.
func VectorOf(b []byte) []float32 {
	v := make([]float32, len(b)/4)
	fillFloat32(v, b)
	return v
}
