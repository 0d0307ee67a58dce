package vector

import "math"

// mostShort is the code of the largest value.
const mostShort = 1<<15 - 1

// Short encodes a value of at most scale, either sign, in 16 bits; Long decodes it within a 65,534th
// of the scale.
func Short(v, scale float32) int16 {
	return int16(math.RoundToEven(float64(max(-1, min(1, v/scale)) * mostShort)))
}

// Long decodes a code of Short.
func Long(code int16, scale float32) float32 { return float32(code) / mostShort * scale }

// Shorts returns a copy of codes with the codes of values appended.
func Shorts(codes []int16, values []float32, scale float32) []int16 {
	list := append(make([]int16, 0, len(codes)+len(values)), codes...)
	for _, v := range values {
		list = append(list, Short(v, scale))
	}
	return list
}

// Longs decodes codes into values, which has at least as many.
func Longs(values []float32, codes []int16, scale float32) {
	for i, code := range codes {
		values[i] = Long(code, scale)
	}
}

// Rounded rounds values as Short and Long do.
func Rounded(values []float32, scale float32) {
	for i, v := range values {
		values[i] = Long(Short(v, scale), scale)
	}
}
