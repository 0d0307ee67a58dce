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

// ShortRows encodes rows of dimension d in 16 bits a value, each row with a scale of its own.
func ShortRows(rows []float32, d int) (codes []int16, scales []float32) {
	codes, scales = make([]int16, len(rows)), make([]float32, len(rows)/d)
	for i := range scales {
		row, bits := rows[i*d:i*d+d], uint32(0)
		for _, v := range row {
			bits = max(bits, math.Float32bits(v)&^(1<<31)) // of a number without its sign: in the numbers' order
		}
		most := math.Float32frombits(bits)
		if most < 1e-30 { // no direction
			continue
		}
		scales[i] = most / mostShort
		inverse, list := mostShort/most, codes[i*d:i*d+d]
		for j, v := range row {
			// The sum with so large a number keeps whole numbers only, the nearest one, in its last bits.
			list[j] = int16(math.Float32bits(float32(v*inverse) + 3<<22))
		}
	}
	return codes, scales
}

// LongRows decodes what ShortRows returned into rows.
func LongRows(rows []float32, codes []int16, scales []float32) {
	d := len(codes) / max(1, len(scales))
	for i, scale := range scales {
		row := rows[i*d : i*d+d]
		for j, code := range codes[i*d : i*d+d] {
			row[j] = float32(code) * scale
		}
	}
}
