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

// npy is a version 1 file of the given header and data.
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
	} {
		a, err := ReadNPY(bytes.NewReader(npy(describe(c.kind, c.shape), c.data...)), false)
		if err != nil || !slices.Equal(a.Floats, c.want) {
			t.Errorf("%s (%s): %v, %v; want %v", c.kind, c.shape, a, err, c.want)
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
	} {
		a, err := ReadNPY(bytes.NewReader(npy(describe(c.kind, "2,"), c.data...)), true)
		if err != nil || !slices.Equal(a.Integers, []int32{5, -1}) {
			t.Errorf("%s: %v, %v", c.kind, a, err)
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
		"type \">f4\"":      {file: npy(describe(">f4", "1,"), 0, 0, 0, 0)},
		"wanted integers":   {file: npy(describe("<f4", "1,"), 0, 0, 0, 0), integers: true},
		"truncated after 1": {file: npy(describe("<f4", "2,"), 0, 0, 0, 0, 0)},
		"goes on":           {file: npy(describe("<f4", "1,"), 0, 0, 0, 0, 0)},
		"too large":         {file: npy(describe("<f4", "9223372036854775807, 9223372036854775807"))},
		"truncated after 0": {file: npy(describe("<f4", "1000000000000, 1"))},
		"Fortran":           {file: npy(strings.Replace(describe("<f4", "1, 1"), "False", "True", 1), 0, 0, 0, 0)},
		"does not fit":      {file: npy(describe("<i8", "1,"), 0, 0, 0, 0, 1, 0, 0, 0), integers: true},
	} {
		_, err := ReadNPY(bytes.NewReader(c.file), c.integers)
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npy(describe("<f4", "1, 2"), 0, 0, 0, 0, 0, 0, 0, 0), false)
	f.Add(npy(describe("<i8", "1,"), 0, 0, 0, 0, 1, 0, 0, 0), true)
	f.Fuzz(func(t *testing.T, file []byte, integers bool) {
		a, err := ReadNPY(bytes.NewReader(file), integers)
		if err == nil && len(a.Floats)+len(a.Integers) != a.Rows()*a.Columns() {
			t.Errorf("%d values for shape %v", len(a.Floats)+len(a.Integers), a.Shape)
		}
	})
}
