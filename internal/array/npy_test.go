package array

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// npy returns a version 1 file of the given header and data.
func npy(header string, data ...byte) []byte {
	b := append([]byte("\x93NUMPY\x01\x00"), 0, 0)
	binary.LittleEndian.PutUint16(b[8:], uint16(len(header)))
	return append(append(b, header...), data...)
}

func describe(kind, shape string) string {
	return fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }   \n", kind, shape)
}

func TestReadNPY(t *testing.T) {
	for _, c := range []struct {
		kind, shape string
		data        []byte
		want        []float32
	}{
		{"<f4", "1, 2", []byte{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}, []float32{1, -2}},
		{"<f8", "1, 2", []byte{0, 0, 0, 0, 0, 0, 0xf0, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, []float32{1, -2}},
		{"<f2", "3,", []byte{0, 0x3c, 1, 0, 0, 0xfc}, []float32{1, 0x1p-24, float32(math.Inf(-1))}},
		{"|u1", "2, 2", []byte{0, 1, 128, 255}, []float32{0, 1, 128, 255}},
		{"|i1", "2,", []byte{1, 0xff}, []float32{1, -1}},
		{">f4", "1, 2", []byte{0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0}, []float32{1, -2}},
		{">f2", "1,", []byte{0x3c, 0}, []float32{1}},
		{">i2", "1,", []byte{0xff, 0xfe}, []float32{-2}},
		{"<u8", "1,", []byte{7, 0, 0, 0, 0, 0, 0, 0}, []float32{7}},
	} {
		got, _, err := readNPY(bytes.NewReader(npy(describe(c.kind, c.shape), c.data...)), numbers, kind.number)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s (%s): %v, %v; want %v", c.kind, c.shape, got, err, c.want)
		}
	}
	for _, c := range []struct {
		kind string
		data []byte
	}{
		{"<i4", []byte{5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}},
		{"<i8", []byte{5, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
		{"<i2", []byte{5, 0, 0xff, 0xff}},
		{"|i1", []byte{5, 0xff}},
		{">i4", []byte{0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff}},
	} {
		got, _, err := readNPY(bytes.NewReader(npy(describe(c.kind, "2,"), c.data...)), integers, kind.int32)
		if err != nil || !slices.Equal(got, []int32{5, -1}) {
			t.Errorf("%s: %v, %v", c.kind, got, err)
		}
	}
}

func TestReadNPYRefuses(t *testing.T) {
	for want, c := range map[string]struct {
		file     []byte
		integers bool
	}{
		"shorter":           {file: []byte("\x93NUM")},
		"magic":             {file: []byte("PK\x03\x04 a zip file")},
		"version":           {file: []byte("\x93NUMPY\x09\x00\x00\x00")},
		"header is trunc":   {file: npy(describe("<f4", "1,"))[:40]},
		"above the limit":   {file: []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff")},
		"lacks":             {file: npy("{}")},
		"single value":      {file: npy(describe("<f4", ""), 0, 0, 0, 0)},
		"type \"<c8\"":      {file: npy(describe("<c8", "1,"), 0, 0, 0, 0, 0, 0, 0, 0)},
		"axes; save it":     {file: npy(strings.Replace(describe("<f4", "1, 1, 1"), "False", "True", 1), 0, 0, 0, 0)},
		"wanted integers":   {file: npy(describe("<f4", "1,"), 0, 0, 0, 0), integers: true},
		"truncated after 1": {file: npy(describe("<f4", "2,"), 0, 0, 0, 0, 0)},
		"goes on":           {file: npy(describe("<f4", "1,"), 0, 0, 0, 0, 0)},
		"too large":         {file: npy(describe("<f4", "9223372036854775807, 9223372036854775807"))},
		"truncated after 0": {file: npy(describe("<f4", "1000000000000, 1"))},
		"does not fit":      {file: npy(describe("<i8", "1,"), 0, 0, 0, 0, 1, 0, 0, 0), integers: true},
	} {
		_, _, err := readNPY(bytes.NewReader(c.file), numbers, kind.number)
		if c.integers {
			_, _, err = readNPY(bytes.NewReader(c.file), integers, kind.int32)
		}
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A matrix in Fortran order reads like the same matrix in C order, in memory and streamed; texts are labels.
func TestFortranOrderAndTexts(t *testing.T) {
	byColumn := npy(strings.Replace(describe("<i2", "3, 2"), "False", "True", 1), 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0)
	want := []float32{1, 4, 2, 5, 3, 6}
	whole, _, err := readNPY(bytes.NewReader(byColumn), numbers, kind.number)
	if err != nil || !slices.Equal(whole, want) {
		t.Errorf("%v %v", whole, err)
	}
	rows, err := NewRows(bytes.NewReader(byColumn), int64(len(byColumn)))
	if err != nil {
		t.Fatal(err)
	}
	var streamed []float32
	for range rows.Len() {
		row, err := rows.Next()
		if err != nil {
			t.Fatal(err)
		}
		streamed = append(streamed, row...)
	}
	if !slices.Equal(streamed, want) {
		t.Errorf("streamed %v", streamed)
	}
	for kind, data := range map[string][]byte{
		"<U2": {'h', 0, 0, 0, 0xe9, 0, 0, 0, 'x', 0, 0, 0, 0, 0, 0, 0}, ">U2": {0, 0, 0, 'h', 0, 0, 0, 0xe9, 0, 0, 0, 'x', 0, 0, 0, 0},
		"|S3": {'h', 0xc3, 0xa9, 'x', 0, 0},
	} {
		texts, err := Labels(bytes.NewReader(npy(describe(kind, "2,"), data...)))
		if err != nil || !slices.Equal(texts, []string{"h\u00e9", "x"}) {
			t.Errorf("%s: %v %v", kind, texts, err)
		}
	}
	texts, err := Labels(bytes.NewReader(npy(describe("|i1", "2,"), 3, 0xff)))
	if err != nil || !slices.Equal(texts, []string{"3", ""}) {
		t.Errorf("%v %v", texts, err)
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy(describe("<f4", "1, 2"), 0, 0, 0, 0, 0, 0, 0, 0))
	f.Add(npy(describe("<i8", "1,"), 0, 0, 0, 0, 1, 0, 0, 0))
	f.Add(npy(describe("<U1", "1,"), 'a', 0, 0, 0))
	f.Fuzz(func(t *testing.T, file []byte) {
		readsWhole(t, file, numbers, kind.number)
		readsWhole(t, file, integers, kind.int32)
		readsWhole(t, file, labels, kind.label)
	})
}

func readsWhole[T any](t *testing.T, file []byte, as want, decode func(kind, []byte) (T, error)) {
	values, h, err := readNPY(bytes.NewReader(file), as, decode)
	if err == nil && len(values) != h.shape[0]*h.columns() {
		t.Errorf("%d values for shape %v", len(values), h.shape)
	}
}
