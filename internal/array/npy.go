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
var ErrFormat = errors.New("not readable")

// want says what an array is read as.
type want int

const (
	numbers want = iota
	integers
	labels // integers or texts
)

// ReadMatrix reads the n rows of a .npy file of numbers of any type; those of 64 bits are rounded. d is the
// product of all axes after the first.
func ReadMatrix(path string) (rows []float32, n, d int, err error) {
	rows, h, err := readFile(path, numbers, kind.number)
	if err != nil {
		return nil, 0, 0, err
	}
	return rows, h.shape[0], h.columns(), nil
}

// ReadIntegers reads a .npy file of integers of any width; each must fit an int32.
func ReadIntegers(path string) ([]int32, error) {
	values, _, err := readFile(path, integers, kind.int32)
	return values, err
}

// ReadLabels reads a .npy file of labels, which are texts or integers, as texts. An integer below
// 0 becomes "".
func ReadLabels(path string) ([]string, error) {
	values, _, err := readFile(path, labels, kind.label)
	return values, err
}

// Labels is ReadLabels for a reader, which it reads to the end.
func Labels(r io.Reader) ([]string, error) {
	values, _, err := readNPY(r, labels, kind.label)
	return values, err
}

func readFile[T any](path string, as want, decode func(kind, []byte) (T, error)) ([]T, header, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, header{}, err
	}
	defer file.Close()
	values, h, err := readNPY(file, as, decode)
	if err != nil {
		return nil, h, fmt.Errorf("%s: %w", path, err)
	}
	return values, h, nil
}

// readNPY reads one array, to the end of r. The values grow as data arrive, so that a false shape allocates no
// more memory than the file justifies.
func readNPY[T any](
	r io.Reader, as want, decode func(kind, []byte) (T, error),
) (values []T, h header, err error) {
	in := bufio.NewReaderSize(r, 1<<20)
	if h, err = readHeader(in, as); err != nil {
		return nil, h, err
	}
	n := 1
	for _, axis := range h.shape {
		if axis > 0 && n > math.MaxInt/16/axis/h.width {
			return nil, h, fmt.Errorf("%w: shape %v is too large", ErrFormat, h.shape)
		}
		n *= axis
	}
	chunk := make([]byte, max(1, 1<<16/h.width)*h.width)
	for len(values) < n {
		got, failed := io.ReadFull(in, chunk[:min(len(chunk), (n-len(values))*h.width)])
		for at := 0; at+h.width <= got; at += h.width {
			v, err := decode(h.kind, chunk[at:])
			if err != nil {
				return nil, h, fmt.Errorf("%w: value %d: %w", ErrFormat, len(values), err)
			}
			values = append(values, v)
		}
		if failed == io.EOF || failed == io.ErrUnexpectedEOF {
			failed = fmt.Errorf("%w: truncated after %d of %d values of shape %v", ErrFormat, len(values), n, h.shape)
		}
		if failed != nil {
			return nil, h, failed
		}
	}
	if _, err := in.ReadByte(); err == nil {
		return nil, h, fmt.Errorf("%w: data goes on after the last of %d values of shape %v", ErrFormat, n, h.shape)
	} else if err != io.EOF {
		return nil, h, err
	}
	if h.fortran {
		values = turned(values, h.shape[0])
	}
	return values, h, nil
}

// turned returns a matrix in C order that was in Fortran order.
func turned[T any](values []T, rows int) []T {
	out := make([]T, 0, len(values))
	for row := range rows {
		for at := row; at < len(values); at += rows {
			out = append(out, values[at])
		}
	}
	return out
}

// header is what a .npy file says before its values.
type header struct {
	kind
	shape   []int // at least one axis
	fortran bool  // a matrix, column by column
	before  int64 // bytes before the values
}

// columns is the product of all axes after the first: 1 for an array of one axis.
func (h *header) columns() int {
	columns := 1
	for _, n := range h.shape[1:] {
		columns *= n
	}
	return columns
}

// headerLimit bounds the memory allocated for a header; numpy's own headers are below 200 bytes.
const headerLimit = 64 << 10

var (
	headerType  = regexp.MustCompile(`['"]descr['"]\s*:\s*['"]([^'"]*)['"]`)
	headerOrder = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	headerShape = regexp.MustCompile(`['"]shape['"]\s*:\s*\(([^)]*)\)`)
)

// readHeader reads the header of an array, whose values must be of a type that is wanted.
func readHeader(in *bufio.Reader, as want) (header, error) {
	fail := func(format string, args ...any) (header, error) {
		return header{}, fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
	}
	var prefix [12]byte
	if _, err := io.ReadFull(in, prefix[:8]); err != nil {
		return fail("shorter than a .npy header (%v)", err)
	}
	if string(prefix[:6]) != "\x93NUMPY" {
		return fail("starts with %q, not with the .npy magic", prefix[:6])
	}
	before := 10 // bytes up to the text, the last of which are its length
	switch prefix[6] {
	case 1:
	case 2, 3:
		before = 12
	default:
		return fail(".npy version %d, not one of 1, 2, 3", prefix[6])
	}
	if _, err := io.ReadFull(in, prefix[8:before]); err != nil {
		return fail("header is truncated")
	}
	length := binary.LittleEndian.Uint32(prefix[8:]) // zeros follow a length of two bytes
	if length > headerLimit {
		return fail("header of %d bytes is above the limit of %d", length, headerLimit)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(in, text); err != nil {
		return fail("header is truncated")
	}
	typed, order := headerType.FindSubmatch(text), headerOrder.FindSubmatch(text)
	shape := headerShape.FindSubmatch(text)
	if typed == nil || order == nil || shape == nil {
		return fail("header %.100q lacks descr, fortran_order or shape", text)
	}
	h := header{before: int64(before) + int64(length)}
	var known bool
	h.kind, known = parseKind(string(typed[1]))
	switch {
	case as == numbers && !(known && h.isNumber()):
		return fail("type %q, wanted numbers: save it as float32, X.astype('float32')", typed[1])
	case as == integers && !(known && h.isInteger()):
		return fail("type %q, wanted integers such as int32 (<i4)", typed[1])
	case as == labels && !(known && (h.isInteger() || h.isText())):
		const wanted = "type %q, wanted integers, -1 unknown, or texts, empty unknown: save them with "
		if known && h.isNumber() {
			return fail(wanted+"y.astype(int), a column a class with y.argmax(1)", typed[1])
		}
		return fail(wanted+"numpy.array([x if isinstance(x, str) else '' for x in y])", typed[1])
	}
	for part := range strings.SplitSeq(string(shape[1]), ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		axis, err := strconv.Atoi(strings.TrimSuffix(part, "L"))
		if err != nil || axis < 0 {
			return fail("shape (%s)", shape[1])
		}
		h.shape = append(h.shape, axis)
	}
	h.fortran = string(order[1]) == "True" && len(h.shape) > 1
	switch {
	case len(h.shape) == 0:
		return fail("a single value, not an array of rows")
	case h.fortran && len(h.shape) > 2:
		return fail("Fortran order and %d axes; save it in C order (numpy.ascontiguousarray)", len(h.shape))
	}
	return h, nil
}
