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
