package array

import (
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/kernel"
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

func (k kind) number(b []byte) (float32, error) { return k.float(b), nil }

func (k kind) float(b []byte) float32 {
	switch bits := k.bits(b); {
	case k.letter != 'f':
		return float32(k.integer(b))
	case k.width == 2:
		return kernel.Float16(uint16(bits))
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

func (k kind) int32(b []byte) (int32, error) {
	v := k.integer(b)
	if v != int64(int32(v)) {
		return 0, fmt.Errorf("%d does not fit an int32", v)
	}
	return int32(v), nil
}

// label returns a text, or an integer of 32 bits as text, "" for -1.
func (k kind) label(b []byte) (string, error) {
	if k.isText() {
		return k.text(b), nil
	}
	class, err := k.int32(b)
	switch {
	case err != nil || class == -1:
		return "", err
	case class < -1:
		return "", fmt.Errorf("%d is no class, which is 0 or more, or -1 for unknown", class)
	}
	return strconv.Itoa(int(class)), nil
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
