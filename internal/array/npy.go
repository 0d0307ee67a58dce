// Package array reads and writes .npy arrays of vectors and labels.
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

// ErrFormat is wrapped by the error of a file that is not a .npy file, is truncated, or has a type or an
// order that is not supported.
var ErrFormat = errors.New("not a readable array")

// Array is a .npy file in memory: Floats if it was read as numbers, Integers or Texts if it was
// read as labels.
type Array struct {
	Type     string // as in the file: <f4, >f2, |u1, <U7 ...
	Shape    []int
	Floats   []float32
	Integers []int32
	Texts    []string
}

// Rows is the length of the first axis.
func (a *Array) Rows() int { return a.Shape[0] }

// Columns is the product of all axes after the first: 1 for an array of one axis.
func (a *Array) Columns() int {
	columns := 1
	for _, n := range a.Shape[1:] {
		columns *= n
	}
	return columns
}

// headerLimit bounds the memory allocated for a header; numpy's own headers are below 200 bytes.
const headerLimit = 64 << 10

// want says what an array is read as.
type want int

const (
	numbers want = iota
	integers
	labels // integers or texts
)

// ReadMatrix reads the rows of a .npy file of numbers of any type; those of 64 bits are rounded.
func ReadMatrix(path string) (*Array, error) { return readFile(path, numbers) }

// ReadIntegers reads a .npy file of integers of any width; each must fit an int32.
func ReadIntegers(path string) (*Array, error) { return readFile(path, integers) }

// ReadLabels reads a .npy file of labels, which are texts or integers, as texts. An integer below
// 0 becomes "".
func ReadLabels(path string) ([]string, error) {
	a, err := readFile(path, labels)
	if err != nil {
		return nil, err
	}
	return a.labels(), nil
}

// Labels is ReadLabels for a reader, which it reads to the end.
func Labels(r io.Reader) ([]string, error) {
	a, err := readNPY(r, labels)
	if err != nil {
		return nil, err
	}
	return a.labels(), nil
}

func (a *Array) labels() []string {
	for _, class := range a.Integers {
		text := ""
		if class >= 0 {
			text = strconv.Itoa(int(class))
		}
		a.Texts = append(a.Texts, text)
	}
	return a.Texts
}

func readFile(path string, as want) (*Array, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	a, err := readNPY(file, as)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// readNPY reads one array, to the end of r.
func readNPY(r io.Reader, as want) (*Array, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	header, _, err := readHeader(in)
	if err != nil {
		return nil, err
	}
	a, of, fortran, err := parseHeader(header, as)
	if err != nil {
		return nil, err
	}
	n := 1
	for _, axis := range a.Shape {
		if axis > 0 && n > math.MaxInt/16/axis/of.width {
			return nil, fmt.Errorf("%w: shape %v is too large", ErrFormat, a.Shape)
		}
		n *= axis
	}
	if err := a.readValues(in, n, of, as); err != nil {
		return nil, err
	}
	if _, err := in.ReadByte(); err == nil {
		return nil, fmt.Errorf("%w: data goes on after the last of %d values of shape %v", ErrFormat, n, a.Shape)
	} else if err != io.EOF {
		return nil, err
	}
	if fortran {
		a.Floats, a.Integers, a.Texts = turned(a.Floats, a.Shape), turned(a.Integers, a.Shape), turned(a.Texts, a.Shape)
	}
	return a, nil
}

// turned returns a matrix in C order that was in Fortran order.
func turned[T any](values []T, shape []int) []T {
	out := make([]T, 0, len(values))
	for row := range shape[0] {
		for at := row; at < len(values); at += shape[0] {
			out = append(out, values[at])
		}
	}
	return out
}

// readHeader returns the header and the number of bytes before the data.
func readHeader(in *bufio.Reader) (string, int64, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return "", 0, fmt.Errorf("%w: shorter than a .npy header (%v)", ErrFormat, err)
	}
	if string(prefix[:6]) != "\x93NUMPY" {
		return "", 0, fmt.Errorf("%w: starts with %q, not with the .npy magic", ErrFormat, prefix[:6])
	}
	length, before := 0, int64(10)
	switch prefix[6] {
	case 1:
		var b [2]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return "", 0, fmt.Errorf("%w: header is truncated", ErrFormat)
		}
		length = int(binary.LittleEndian.Uint16(b[:]))
	case 2, 3:
		var b [4]byte
		if _, err := io.ReadFull(in, b[:]); err != nil {
			return "", 0, fmt.Errorf("%w: header is truncated", ErrFormat)
		}
		long := binary.LittleEndian.Uint32(b[:])
		if long > headerLimit {
			return "", 0, fmt.Errorf("%w: header of %d bytes is above the limit of %d", ErrFormat, long, headerLimit)
		}
		length, before = int(long), 12
	default:
		return "", 0, fmt.Errorf("%w: .npy version %d, not one of 1, 2, 3", ErrFormat, prefix[6])
	}
	header := make([]byte, length)
	if _, err := io.ReadFull(in, header); err != nil {
		return "", 0, fmt.Errorf("%w: header is truncated", ErrFormat)
	}
	return string(header), before + int64(length), nil
}

var (
	headerType  = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	headerOrder = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	headerShape = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([^)]*)\)`)
)

// parseHeader returns the empty array that a header describes, the type of its values, and whether they are
// in Fortran order.
func parseHeader(header string, as want) (*Array, kind, bool, error) {
	fail := func(format string, args ...any) (*Array, kind, bool, error) {
		return nil, kind{}, false, fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
	}
	typed, order, shape := headerType.FindStringSubmatch(header), headerOrder.FindStringSubmatch(header), headerShape.FindStringSubmatch(header)
	if typed == nil || order == nil || shape == nil {
		return fail("header %.100q lacks descr, fortran_order or shape", header)
	}
	a := &Array{Type: typed[1]}
	of, known := parseKind(a.Type)
	switch {
	case as == numbers && !(known && of.isNumber()):
		return fail("type %q, wanted numbers: save it as float32, X.astype('float32')", a.Type)
	case as == integers && !(known && of.isInteger()):
		return fail("type %q, wanted integers such as int32 (<i4)", a.Type)
	case as == labels && !(known && (of.isInteger() || of.isText())):
		return fail("type %q, wanted integers or texts: save labels with y.astype(str)", a.Type)
	}
	for part := range strings.SplitSeq(shape[1], ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		axis, err := strconv.Atoi(strings.TrimSuffix(part, "L"))
		if err != nil || axis < 0 {
			return fail("shape (%s)", shape[1])
		}
		a.Shape = append(a.Shape, axis)
	}
	fortran := order[1] == "True" && len(a.Shape) > 1
	switch {
	case len(a.Shape) == 0:
		return fail("a single value, not an array of rows")
	case fortran && len(a.Shape) > 2:
		return fail("Fortran order and %d axes; save it in C order (numpy.ascontiguousarray)", len(a.Shape))
	}
	return a, of, fortran, nil
}

// readValues grows the array as data arrive, so that a false shape allocates no more memory than
// the file justifies.
func (a *Array) readValues(in io.Reader, n int, of kind, as want) error {
	chunk := make([]byte, min(n*of.width, max(1<<20, of.width)))
	for done := 0; done < n; {
		part := chunk[:min((n-done)*of.width, len(chunk)/of.width*of.width)]
		if got, err := io.ReadFull(in, part); err != nil {
			if err == io.EOF || err == io.ErrUnexpectedEOF {
				return fmt.Errorf("%w: truncated after %d of %d values of shape %v", ErrFormat, done+got/of.width, n,
					a.Shape)
			}
			return err
		}
		for i := 0; i < len(part); i += of.width {
			switch {
			case as == numbers:
				a.Floats = append(a.Floats, of.float(part[i:]))
			case of.isText():
				a.Texts = append(a.Texts, of.text(part[i:]))
			default:
				v := of.integer(part[i:])
				if v != int64(int32(v)) {
					return fmt.Errorf("%w: value %d at %d does not fit an int32", ErrFormat, v, done+i/of.width)
				}
				a.Integers = append(a.Integers, int32(v))
			}
		}
		done += len(part) / of.width
	}
	return nil
}
