package vector

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
)

// mostShort is the code of the largest value.
const mostShort = 1<<15 - 1

// Short encodes a value of at most scale, either sign, in 16 bits; Long decodes it within a 65,534th
// of the scale.
func Short(v, scale float32) int16 {
	return int16(math.RoundToEven(float64(max(-1, min(1, v/scale)) * mostShort)))
}

// Long decodes a code of Short.
func Long(code int16, scale float32) float32 { return float32(code) * (scale / mostShort) }

// Shorts returns a copy of codes with the codes of values, none above scale, appended.
func Shorts(codes []int16, values []float32, scale float32) []int16 {
	list := append(make([]int16, 0, len(codes)+len(values)), codes...)[:len(codes)+len(values)]
	kernel.Narrow(list[len(codes):], values, mostShort/scale)
	return list
}

// Longs decodes codes into values, which has at least as many.
func Longs(values []float32, codes []int16, scale float32) {
	kernel.Widen(values, codes, scale/mostShort)
}

// Rounded rounds values as Short and Long do.
func Rounded(values []float32, scale float32) {
	for i, v := range values {
		values[i] = Long(Short(v, scale), scale)
	}
}

// ShortRow encodes a row in codes, and returns what 1 stands for. LongRow decodes it.
func ShortRow(codes []int16, row []float32) (scale float32) {
	most := kernel.Largest(row)
	if !(most >= 1e-30) { // no direction
		clear(codes)
		return 0
	}
	kernel.Narrow(codes, row, mostShort/most)
	return most / mostShort
}

// LongRow decodes a row of ShortRow.
func LongRow(row []float32, codes []int16, scale float32) { kernel.Widen(row, codes, scale) }
