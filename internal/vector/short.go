package vector

import "math"

// mostShort is the code of the largest value.
const mostShort = 1<<15 - 1

// Short is a value of at most scale in 16 bits; Long is it again, within a 65,534th of the scale.
func Short(v, scale float32) int16 {
	return int16(math.RoundToEven(float64(max(-1, min(1, v/scale)) * mostShort)))
}

// Long is the value of a code of Short.
func Long(code int16, scale float32) float32 { return float32(code) / mostShort * scale }

// Shorts are the codes of values after those in codes, which stay as they are.
func Shorts(codes []int16, values []float32, scale float32) []int16 {
	list := append(make([]int16, 0, len(codes)+len(values)), codes...)
	for _, v := range values {
		list = append(list, Short(v, scale))
	}
	return list
}

// Longs fills values with those of as many codes.
func Longs(values []float32, codes []int16, scale float32) {
	for i, code := range codes {
		values[i] = Long(code, scale)
	}
}

// Rounded leaves values as Short keeps them.
func Rounded(values []float32, scale float32) {
	for i, v := range values {
		values[i] = Long(Short(v, scale), scale)
	}
}
