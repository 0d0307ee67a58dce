package vector

import "math"

// Bytes fills codes with values as whole numbers up to 127, and returns the value of 1. A code is within half
// of that of its number. Values without a direction have codes of 0.
func Bytes(codes []int8, values []float32) (scale float32) {
	most := Largest(values)
	if !(most >= 1e-30 && most <= math.MaxFloat32) {
		clear(codes)
		return 0
	}
	inverse := math.MaxInt8 / most
	for j, v := range values {
		// The sum with so large a number keeps whole numbers only, the nearest one, in its last bits.
		codes[j] = int8(math.Float32bits(float32(v*inverse) + 3<<22))
	}
	return most / math.MaxInt8
}

// FromBytes fills values from codes, of which 1 stands for scale.
func FromBytes(values []float32, codes []int8, scale float32) {
	values = values[:len(codes)]
	for j, code := range codes {
		values[j] = float32(code) * scale
	}
}
