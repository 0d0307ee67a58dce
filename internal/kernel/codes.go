package kernel

import "math"

// A code is 127 sign(r) |r|^.75 of a number r from -1 to 1, in a byte: finer near zero. The operations below
// store many numbers as codes, each relative to the product of two scales.

// codeMost is the code of 1.
const codeMost = 127

// codeValues are the numbers that bytes stand for, those of codes 0 to 127 first. ToCodes never makes the
// byte -128, which is decoded like -127.
var codeValues = func() (table [256]float32) {
	for b := range table {
		v := float64(max(int8(b), -codeMost)) / codeMost
		table[b] = float32(math.Copysign(math.Pow(math.Abs(v), 4./3), v))
	}
	return table
}()

// codeStep is how many codes assembly processes at once.
const codeStep = 16

// ToCodes fills codes with the codes of values[i] scale scales[i], clamped to -1 and 1. dither[i], from -.5
// to .5, is added to each code before it is rounded. All other slices are at least as long as codes.
func ToCodes(codes []byte, values []float32, scale float32, scales, dither []float32) {
	n := len(codes)
	values, scales, dither = values[:n], scales[:n], dither[:n]
	if n < codeStep {
		portableToCodes(codes, values, scale, scales, dither)
		return
	}
	some := func(from, to int) {
		active.toCodes(codes[from:to], values[from:to], scale, scales[from:to], dither[from:to])
	}
	some(0, n&^(codeStep-1))
	some(n-codeStep, n) // again some of those before, rather than one by one
}

// FromCodes fills out with the numbers of codes, times scale scales[i]. codes and scales are at least as
// long as out.
func FromCodes(out []float32, codes []byte, scale float32, scales []float32) {
	n := len(out)
	codes, scales = codes[:n], scales[:n]
	if n < codeStep {
		portableFromCodes(out, codes, scale, scales)
		return
	}
	whole := n &^ (codeStep - 1)
	active.fromCodes(out[:whole], codes[:whole], scale, scales[:whole])
	active.fromCodes(out[n-codeStep:], codes[n-codeStep:], scale, scales[n-codeStep:])
}

func portableToCodes(codes []byte, values []float32, scale float32, scales, dither []float32) {
	toCodesBy(portableThreeQuarterPower, codes, values, scale, scales, dither)
}

// toCodesBy is ToCodes with another operation for the powers, which it calls on blocks.
func toCodesBy(power func(out, x []float32), codes []byte, values []float32, scale float32, scales,
	dither []float32,
) {
	t := panels.Get().(*panel)
	defer panels.Put(t)
	for len(codes) > 0 {
		powers := t.rows[:min(len(codes), len(t.rows))]
		for i := range powers {
			powers[i] = float32(values[i]*scale) * scales[i]
		}
		power(powers, powers)
		for i, v := range powers {
			if v > 1 { // a branch that is almost never taken costs less than min
				v = 1
			} else if v < -1 {
				v = -1
			}
			// The sum with so large a number keeps whole numbers only, so the last byte of its bits is the code.
			codes[i] = byte(math.Float32bits(float32(float32(v*codeMost)+dither[i]) + codeLarge))
		}
		n := len(powers)
		codes, values, scales, dither = codes[n:], values[n:], scales[n:], dither[n:]
	}
}

const codeLarge = 3 << 22

func portableFromCodes(out []float32, codes []byte, scale float32, scales []float32) {
	for i := range out {
		out[i] = float32(codeValues[codes[i]]*scale) * scales[i]
	}
}

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
