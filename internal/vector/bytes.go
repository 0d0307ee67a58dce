package vector

import "math"

// Bytes fills codes with values as whole numbers, of which 127 stands for the largest: their direction, up to
// half of one. Values without a direction have codes of 0.
func Bytes(codes []int8, values []float32) {
	most := Largest(values)
	if !(most >= 1e-30 && most <= math.MaxFloat32) {
		clear(codes)
		return
	}
	inverse := math.MaxInt8 / most
	for j, v := range values {
		// The sum with so large a number keeps whole numbers only, the nearest one, in its last bits.
		codes[j] = int8(math.Float32bits(float32(v*inverse) + 3<<22))
	}
}

// FromBytes fills values with codes as numbers.
func FromBytes(values []float32, codes []int8) {
	values = values[:len(codes)]
	for j, code := range codes {
		values[j] = float32(code)
	}
}
