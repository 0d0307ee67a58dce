package kernel

import "math"

// Float16 returns the value of an IEEE half.
func Float16(bits uint16) float32 {
	sign, exponent, fraction := uint32(bits>>15)<<31, int(bits>>10&31), uint32(bits&1023)
	switch exponent {
	case 0: // zero and subnormal: fraction * 2^-24, exact in float32
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | uint32(exponent+112)<<23 | fraction<<13)
}

// Half returns the IEEE half nearest to a value, of two the even one; Inf for one beyond all.
func Half(value float32) uint16 {
	bits := math.Float32bits(value)
	sign, size := uint16(bits>>16)&0x8000, bits&^(1<<31)
	switch {
	case value != value:
		return sign | 0x7e00
	case size >= 0x477ff000: // 65520, half-way to what would be the next
		return sign | 0x7c00
	case size < 0x38800000: // 2^-14: subnormal
		return sign | uint16(math.RoundToEven(float64(math.Float32frombits(size))*0x1p24))
	}
	return sign | uint16((size+0xfff+size>>13&1-112<<23)>>13)
}
