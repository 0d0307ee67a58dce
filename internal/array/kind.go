package array

import (
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the type of a .npy file's values, from numpy's descr: <f4, >i8, |u1, <U7.
type kind struct {
	letter byte // f, i, u, b, U or S
	width  int  // bytes per value
	order  binary.ByteOrder
}

var kindPattern = regexp.MustCompile(`^([<>|=]?)([fiubUS])([0-9]{1,6})$`)

func parseKind(text string) (kind, bool) {
	m := kindPattern.FindStringSubmatch(text)
	if m == nil {
		return kind{}, false
	}
	k := kind{letter: m[2][0], order: binary.LittleEndian}
	if m[1] == ">" {
		k.order = binary.BigEndian
	}
	k.width, _ = strconv.Atoi(m[3])
	if k.letter == 'U' {
		k.width *= 4 // code points
	}
	return k, k.width > 0
}

func (k kind) isInteger() bool {
	return (k.letter == 'i' || k.letter == 'u') && (k.width == 1 || k.width == 2 || k.width == 4 || k.width == 8)
}

func (k kind) isNumber() bool {
	return k.isInteger() || k.letter == 'b' && k.width == 1 ||
		k.letter == 'f' && (k.width == 2 || k.width == 4 || k.width == 8)
}

func (k kind) isText() bool { return k.letter == 'U' || k.letter == 'S' }

func (k kind) bits(b []byte) uint64 {
	switch k.width {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(k.order.Uint16(b))
	case 4:
		return uint64(k.order.Uint32(b))
	}
	return k.order.Uint64(b)
}

func (k kind) float(b []byte) float32 {
	switch bits := k.bits(b); {
	case k.letter != 'f':
		return float32(k.integer(b))
	case k.width == 2:
		return Float16(uint16(bits))
	case k.width == 4:
		return math.Float32frombits(uint32(bits))
	default:
		return float32(math.Float64frombits(bits))
	}
}

// integer returns a whole number. An unsigned one of 64 bits that does not fit an int64 becomes negative.
func (k kind) integer(b []byte) int64 {
	bits := k.bits(b)
	if k.letter == 'i' {
		shift := 64 - 8*k.width
		return int64(bits<<shift) >> shift
	}
	return int64(bits)
}

// text returns a text without its padding zeros.
func (k kind) text(b []byte) string {
	if k.letter == 'S' {
		return strings.TrimRight(string(b[:k.width]), "\x00")
	}
	var out strings.Builder
	for i := 0; i < k.width; i += 4 {
		point := k.order.Uint32(b[i:])
		if point == 0 {
			break
		}
		if point > utf8.MaxRune {
			point = utf8.RuneError
		}
		out.WriteRune(rune(point))
	}
	return out.String()
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
