//go:build !lean

package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// A size that a file claims, of its footer, a list, a page or a dictionary, takes no memory that the file does not
// fill: the largest of 64 MiB or 300 times the file are allocated in all, whatever stands in it.
func TestSizesThatAFileClaims(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	claims := [][]byte{
		{0xff, 0xff, 0xff, 0x7f},
		{0xff, 0xff, 0xff, 0x3f},
		{0, 0, 0, 0x10},
		{0x7f, 0xff, 0xff, 0xff},
		{0xfe, 0xff, 0xff, 0xff, 0x0f},
		{0xff, 0xff, 0xff, 0xff, 0x03}, // varints
		{0xfc, 0xff, 0xff, 0xff, 0xff, 0x07},
		{0xf5, 0xff, 0xff, 0xff, 0xff, 0x07}, // lists of thrift
		{0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0},
		{0, 0, 0, 0, 1, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	}
	check := func(name string, content []byte) {
		t.Helper()
		path := save(t, name, content)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		rows, err := readAll(path)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > uint64(max(64<<20, 300*len(content))) {
			t.Errorf("%s of %d bytes: %d MB for %d rows, %v", name, len(content), took>>20, len(rows), err)
		}
		if err != nil && rows == nil && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, size := range []uint32{1<<31 - 1, 1<<32 - 1, 1 << 30, 100, 12, 4} {
		check("x.parquet", append(binary.LittleEndian.AppendUint32([]byte("PAR1"), size), "PAR1"...))
	}
	nested := bytes.Repeat([]byte{0x19}, 12<<20) // a list in a list in a list: each level was one of the stack too
	length := binary.LittleEndian.AppendUint32(nil, uint32(len(nested)))
	check("x.parquet", slices.Concat([]byte("PAR1"), nested, length, []byte("PAR1")))
	all := files(t, examples()[:20])
	for at := range 300 { // the heads of pages
		for _, claim := range claims[2:5] {
			content := slices.Clone(all["x.parquet"])
			copy(content[at:], claim)
			check("x.parquet", content)
		}
	}
	whole := all["x.parquet"]
	for at := max(0, len(whole)-1500); at < len(whole); at++ { // odd numbers of a footer are below 0
		content := slices.Clone(whole)
		content[at] |= 1
		check("x.parquet", content)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for range 150 {
			content := slices.Clone(all[name])
			for range 1 + random.IntN(2) {
				claim, at := claims[random.IntN(len(claims))], random.IntN(len(content))
				if random.IntN(2) == 0 { // heads and footers hold most sizes
					at = max(0, len(content)-1-random.IntN(1500))
				}
				copy(content[at:], claim)
			}
			check(name, content)
		}
	}
}

// The digits behind the point of a decimal, which a file claims, are all written out.
func TestADecimalOfManyDigits(t *testing.T) {
	for _, digits := range []int{-1, mostDecimals + 1, 1 << 30} {
		var out bytes.Buffer
		w := parquet.NewWriter(&out, parquet.NewSchema("table", parquet.Group{
			"a": parquet.Decimal(
				digits,
				9,
				parquet.Int32Type,
			), "x0": parquet.Leaf(parquet.FloatType), "x1": parquet.Leaf(parquet.FloatType),
		}))
		_, err := w.WriteRows([]parquet.Row{{
			parquet.Int32Value(1).Level(0, 0, 0), parquet.FloatValue(1).Level(0, 0, 1), parquet.FloatValue(2).Level(0, 0, 2),
		}})
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		if rows, err := readColumns(save(t, "x.parquet", out.Bytes()), Reading{Keep: true}); !errors.Is(err, ErrFormat) {
			t.Errorf("%d digits: %v, %v", digits, rows, err)
		}
	}
}
