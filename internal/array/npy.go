// Package array reads and writes tables of vectors and labels: .npy here, other formats beside it.
package array

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// ErrFormat is wrapped by the error of a file that is not what its name says, is truncated, or holds a type
// or an order that is not read.
var ErrFormat = errors.New("not a readable array")

// Array is a .npy file in memory: Floats where its type is f64, f32, f16 or u8 and it was read as numbers,
// Integers where it was read as labels.
type Array struct {
	Type     string // as the file says it: <f4, <f2, |u1, <i4 ...
	Shape    []int
	Floats   []float32
	Integers []int32
}

// Rows and Columns of a matrix; an array of one axis has one column.
func (a *Array) Rows() int { return a.Shape[0] }

// Columns is the product of all axes after the first.
func (a *Array) Columns() int {
	columns := 1
	for _, n := range a.Shape[1:] {
		columns *= n
	}
	return columns
}

// headerLimit bounds what a file may make us allocate before its data begin; numpy's own headers are below
// 200 bytes.
const headerLimit = 64 << 10

// ReadMatrix reads the rows of a .npy file of float64, which is rounded, float32, float16 or uint8 in C
// order.
func ReadMatrix(path string) (*Array, error) { return readFile(path, false) }

// ReadIntegers reads a .npy file of integers of any width that fit an int32, in C order.
func ReadIntegers(path string) (*Array, error) { return readFile(path, true) }

func readFile(path string, integers bool) (*Array, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a, err := ReadNPY(file, integers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// ReadNPY reads one array to the end of r: into Integers where integers is set, else into Floats.
func ReadNPY(r io.Reader, integers bool) (*Array, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	header, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	a, width, err := parseHeader(header, integers)
	if err != nil {
		return nil, err
	}
	n := 1
	for _, axis := range a.Shape {
		if axis > 0 && n > math.MaxInt/16/axis {
			return nil, fmt.Errorf("%w: shape %v is too large", ErrFormat, a.Shape)
		}
		n *= axis
	}
	if err := a.readValues(in, n, width, integers); err != nil {
		return nil, err
	}
	if _, err := in.ReadByte(); err == nil {
		return nil, fmt.Errorf("%w: data goes on after the last of %d values of shape %v", ErrFormat, n, a.Shape)
	} else if err != io.EOF {
		return nil, err
	}
	return a, nil
}

func readHeader(in *bufio.Reader) (string, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return "", fmt.Errorf("%w: shorter than a .npy header (%v)", ErrFormat, err)
	}
	if string(prefix[:6]) != "\x93NUMPY" {
		return "", fmt.Errorf("%w: starts with %q, not with the .npy magic", ErrFormat, prefix[:6])
	}
	var length int
	switch prefix[6] {
	case 1:
		var b [2]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return "", fmt.Errorf("%w: header is truncated", ErrFormat)
		}
		length = int(binary.LittleEndian.Uint16(b[:]))
	case 2, 3:
		var b [4]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return "", fmt.Errorf("%w: header is truncated", ErrFormat)
		}
		long := binary.LittleEndian.Uint32(b[:])
		if long > headerLimit {
			return "", fmt.Errorf("%w: header of %d bytes is above the limit of %d", ErrFormat, long, headerLimit)
		}
		length = int(long)
	default:
		return "", fmt.Errorf("%w: .npy version %d, not one of 1, 2, 3", ErrFormat, prefix[6])
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(in, header); err != nil {
		return "", fmt.Errorf("%w: header is truncated", ErrFormat)
	}
	return string(header), nil
}

var (
	headerType  = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	headerOrder = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	headerShape = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([^)]*)\)`)
)

// parseHeader returns the empty array that a header announces and the width of its values in bytes.
func parseHeader(header string, integers bool) (*Array, int, error) {
	kind, order, shape := headerType.FindStringSubmatch(header), headerOrder.FindStringSubmatch(header), headerShape.FindStringSubmatch(header)
	if kind == nil || order == nil || shape == nil {
		return nil, 0, fmt.Errorf("%w: header %.100q lacks descr, fortran_order or shape", ErrFormat, header)
	}
	a := &Array{Type: kind[1]}
	widths, wanted := map[string]int{
		"<f8": 8, "<f4": 4, "<f2": 2,
		"|u1": 1,
	}, "float32 (<f4), float64 (<f8), float16 (<f2) or uint8 (|u1)"
	if integers {
		widths, wanted = map[string]int{
			"<i4": 4, "<i8": 8, "<i2": 2, "|i1": 1, "|u1": 1,
			"<u2": 2,
		}, "integers such as int32 (<i4)"
	}
	width, ok := widths[a.Type]
	if !ok {
		return nil, 0, fmt.Errorf("%w: type %q, wanted %s", ErrFormat, a.Type, wanted)
	}
	for part := range strings.SplitSeq(shape[1], ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		axis, err := strconv.Atoi(strings.TrimSuffix(part, "L"))
		if err != nil || axis < 0 {
			return nil, 0, fmt.Errorf("%w: shape (%s)", ErrFormat, shape[1])
		}
		a.Shape = append(a.Shape, axis)
	}
	if len(a.Shape) == 0 {
		return nil, 0, fmt.Errorf("%w: a single value, not an array of rows", ErrFormat)
	}
	if order[1] == "True" && len(a.Shape) > 1 {
		return nil, 0, fmt.Errorf("%w: Fortran order; save it in C order (numpy.ascontiguousarray)", ErrFormat)
	}
	return a, width, nil
}

// readValues grows the array as the data arrive, so that a lying shape costs no more memory than the file
// holds.
func (a *Array) readValues(in io.Reader, n, width int, integers bool) error {
	chunk := make([]byte, min(n*width, 1<<20))
	for done := 0; done < n; {
		part := chunk[:min((n-done)*width, len(chunk)/width*width)]
		if got, err := io.ReadFull(in, part); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return fmt.Errorf("%w: truncated after %d of %d values of shape %v", ErrFormat, done+got/width, n,
					a.Shape)
			}
			return err
		}
		for i := 0; i < len(part); i += width {
			if !integers {
				a.Floats = append(a.Floats, floatAt(part[i:], a.Type))
				continue
			}
			v := integerAt(part[i:], a.Type)
			if v != int64(int32(v)) {
				return fmt.Errorf("%w: value %d at %d does not fit an int32", ErrFormat, v, done+i/width)
			}
			a.Integers = append(a.Integers, int32(v))
		}
		done += len(part) / width
	}
	return nil
}

func floatAt(b []byte, kind string) float32 {
	switch kind {
	case "<f8":
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case "<f4":
		return math.Float32frombits(binary.LittleEndian.Uint32(b))
	case "<f2":
		return Float16(binary.LittleEndian.Uint16(b))
	}
	return float32(b[0])
}

func integerAt(b []byte, kind string) int64 {
	switch kind {
	case "<i8":
		return int64(binary.LittleEndian.Uint64(b))
	case "<i4":
		return int64(int32(binary.LittleEndian.Uint32(b)))
	case "<i2":
		return int64(int16(binary.LittleEndian.Uint16(b)))
	case "<u2":
		return int64(binary.LittleEndian.Uint16(b))
	case "|i1":
		return int64(int8(b[0]))
	}
	return int64(b[0])
}

// Float16 is the value of an IEEE half.
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
