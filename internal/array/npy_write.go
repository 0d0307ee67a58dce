package array

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

// Value is a number type that WriteNPY can write.
type Value interface{ ~float32 | ~int32 | ~uint8 }

// WriteNPY writes values as an array of the given shape, little-endian and in C order.
func WriteNPY[T Value](w io.Writer, values []T, shape ...int) error {
	n := 1
	for _, axis := range shape {
		n *= axis
	}
	if len(shape) == 0 || n != len(values) {
		return fmt.Errorf("%d values do not make an array of shape %v", len(values), shape)
	}
	var kind string
	switch any(values).(type) {
	case []float32:
		kind = "<f4"
	case []int32:
		kind = "<i4"
	default:
		kind = "|u1"
	}
	axes := strings.ReplaceAll(strings.Trim(fmt.Sprint(shape), "[]"), " ", ", ")
	if len(shape) == 1 {
		axes += ","
	}
	out := bufio.NewWriterSize(w, 1<<20)
	writeHeader(out, kind, axes)
	// binary.Write copies its argument: write in parts, so that the copy stays small
	for from := 0; from < len(values); from += 1 << 16 {
		if err := binary.Write(out, binary.LittleEndian, values[from:min(len(values), from+1<<16)]); err != nil {
			return err
		}
	}
	return out.Flush()
}

func writeHeader(out *bufio.Writer, kind, axes string) {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", kind, axes)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n" // aligns the data to 64 bytes
	out.WriteString("\x93NUMPY\x01\x00")
	binary.Write(out, binary.LittleEndian, uint16(len(header)))
	out.WriteString(header)
}

// WriteTexts writes n texts as an array of code points, each as wide as the longest.
func WriteTexts(w io.Writer, n int, text func(int) string) error {
	widest := 1
	for i := range n {
		widest = max(widest, utf8.RuneCountInString(text(i)))
	}
	out := bufio.NewWriterSize(w, 1<<20)
	writeHeader(out, fmt.Sprintf("<U%d", widest), fmt.Sprintf("%d,", n))
	value := make([]byte, 4*widest)
	for i := range n {
		clear(value)
		at := 0
		for _, point := range text(i) {
			binary.LittleEndian.PutUint32(value[at:], uint32(point))
			at += 4
		}
		if _, err := out.Write(value); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteNPYFile is WriteNPY to a file.
func WriteNPYFile[T Value](path string, values []T, shape ...int) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(WriteNPY(file, values, shape...), file.Close()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
