package record

import (
	"encoding/binary"
	"math"
	"strconv"
	"unsafe"
)

// tens holds the powers of ten that are exact in float64.
var tens = [23]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
	1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// number reads the JSON number at b[i:] as the nearest float32 and returns the index after it. A number that
// is too small is zero, as in strconv. ok is false if it overflows float32, and then value is infinite; or if
// there is no JSON number, and then value is zero, and a digit is missing at next.
func number(b []byte, i int) (value float32, next int, ok bool) {
	from := i
	negative := false
	if i < len(b) && b[i] == '-' {
		negative = true
		i++
	}
	var mantissa uint64
	digits := i
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	whole := i - digits
	switch {
	case whole == 0:
		return 0, i, false
	case whole > 1 && b[digits] == '0': // ends the number
		return 0, digits + 1, true
	}
	exponent, fraction := 0, 0
	if i < len(b) && b[i] == '.' {
		i++
		start := i
		for i+8 <= len(b) {
			eight, all := eightDigits(binary.LittleEndian.Uint64(b[i:]))
			if !all {
				break
			}
			mantissa = mantissa*100000000 + eight
			i += 8
		}
		for i < len(b) && b[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			i++
		}
		if fraction = i - start; fraction == 0 {
			return 0, i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		minus := false
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			minus = b[i] == '-'
			i++
		}
		start := i
		for i < len(b) && b[i]-'0' <= 9 {
			if exponent < 10000 {
				exponent = exponent*10 + int(b[i]-'0')
			}
			i++
		}
		if i == start {
			return 0, i, false
		}
		if minus {
			exponent = -exponent
		}
	}
	exponent -= fraction
	significant := whole + fraction
	if significant > 19 {
		for _, c := range b[digits:i] {
			if c == '0' {
				significant--
			} else if c != '.' {
				break
			}
		}
	}
	// Up to 19 digits fit the mantissa. Its float64 and the product or quotient are each off by at most half a
	// unit, in all by at most two units. Unless the value is that near to the middle between two float32s, the
	// nearest float32 is certain. Otherwise, and for rarer numbers, strconv decides.
	if significant <= 19 && exponent >= -22 && exponent <= 22 {
		x := float64(mantissa)
		if exponent < 0 {
			x /= tens[-exponent]
		} else {
			x *= tens[exponent]
		}
		const half, slack = 1 << 28, 8
		rest := math.Float64bits(x) & (1<<29 - 1)
		if mantissa == 0 || x >= 0x1p-126 && x <= 0x1p127 && (rest < half-slack || rest > half+slack) {
			if negative {
				x = -x
			}
			return float32(x), i, true
		}
	}
	text := b[from:i]
	exact, err := strconv.ParseFloat(unsafe.String(&text[0], len(text)), 32) // string used only in the call
	return float32(exact), i, err == nil
}

// eightDigits returns the value of eight ASCII digits, the first in the lowest byte; false if not all of them
// are digits.
func eightDigits(w uint64) (uint64, bool) {
	if (w&0xf0f0f0f0f0f0f0f0)|(((w+0x0606060606060606)&0xf0f0f0f0f0f0f0f0)>>4) != 0x3333333333333333 {
		return 0, false
	}
	w -= 0x3030303030303030
	w = w*10 + w>>8 // pairs
	const mask = 0x000000ff000000ff
	return (w&mask*(100+1000000<<32) + w>>16&mask*(1+10000<<32)) >> 32, true
}
