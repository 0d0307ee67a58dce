package vector

import "github.com/slkstream/slkstream/internal/kernel"

// mostShort is the code of the largest value.
const mostShort = 1<<15 - 1

// Shorts returns a copy of codes with the codes of values appended, 16 bits each: none is above scale, either sign, and Longs
// decodes it within a 65,534th of the scale.
func Shorts(codes []int16, values []float32, scale float32) []int16 {
	list := append(make([]int16, 0, len(codes)+len(values)), codes...)[:len(codes)+len(values)]
	kernel.Narrow(list[len(codes):], values, mostShort/scale)
	return list
}

// Longs decodes codes into values, which has at least as many.
func Longs(values []float32, codes []int16, scale float32) {
	kernel.Widen(values, codes, scale/mostShort)
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
