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

// Rounded leaves values as Short keeps them.
func Rounded(values []float32, scale float32) {
	for i, v := range values {
		values[i] = Long(Short(v, scale), scale)
	}
}
