package vector

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Bytes fills codes with values as whole numbers, of which 127 stands for the largest: their direction, up to
// half of one. It returns the sum of the codes' squares. Values without a direction have codes of 0.
func Bytes(codes []int8, values []float32) (square int32) {
	most := kernel.Largest(values)
	if !(most > 0 && most <= math.MaxFloat32) {
		clear(codes)
		return 0
	}
	by := math.MaxInt8 / most
	if by > math.MaxFloat32 { // for the smallest of numbers
		values = slices.Clone(values)
		kernel.Scale(1<<100, values)
		by = math.MaxInt8 / kernel.Largest(values)
	}
	return kernel.Bytes(codes, values, by)
}

// FromBytes fills values with codes as numbers.
func FromBytes(values []float32, codes []int8) {
	values = values[:len(codes)]
	for j, code := range codes {
		values[j] = float32(code)
	}
}
