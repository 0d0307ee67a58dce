package record

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// Vectors of a stream that come in one fetch share memory, and each is its own all the same. What a stream sends once in
// a while shares none: it may stay in an open episode for long.
func TestVectorsOfAFetchShareMemory(t *testing.T) {
	const d, rows = 512, 100
	decoder, err := NewDecoder(Options{Format: "f32"})
	if err != nil {
		t.Fatal(err)
	}
	offset := int64(0)
	decode := func(key string, n int) (items []Item) {
		for range n {
			v := make([]float32, d)
			for j := range v {
				v[j] = float32(offset + 1)
			}
			raw := Raw{Topic: "in", Key: []byte(key), Value: AppendVector(nil, v), Offset: offset}
			if items, err = decoder.Decode(t.Context(), &raw, items); err != nil {
				t.Fatal(err)
			}
			offset++
		}
		return items
	}
	pieces := func(items []Item) (n int) {
		var end uintptr
		for i := range items {
			at := uintptr(unsafe.Pointer(&items[i].Vector[0]))
			if at != end || n == 0 {
				n++
			}
			end = at + 4*d
		}
		return n
	}
	for fetch, most := range []int{40, 5, 5} {
		decoder.NextFetch()
		busy, quiet := decode("busy", rows), decode("quiet", 1)
		if got := pieces(busy); got > most {
			t.Errorf("fetch %d: %d vectors are in %d pieces, more than %d", fetch, rows, got, most)
		}
		if got := cap(quiet[0].Vector); got > d {
			t.Errorf("fetch %d: the vector of a quiet stream holds %d numbers", fetch, got)
		}
		for i := range busy {
			_ = append(busy[i].Vector, -1) // which must not be the first number of the next
		}
		for i := range busy {
			v, want := busy[i].Vector, float32(busy[i].Source.Offset+1)
			if len(v) != d || v[0] != want || v[d-1] != want {
				t.Fatalf("fetch %d: %g to %g, not %g", fetch, v[0], v[d-1], want)
			}
		}
	}
	decoder.NextFetch()
	decode("other", 1)
	decoder.NextFetch()
	if piece := decode("busy", 2); cap(decoder.senders["busy"].rest) > 0 {
		t.Errorf("a stream that came in no fetch before has a piece for %d numbers", d+cap(piece[0].Vector))
	}
}

// What a fetch left of its pieces is given up with the next one, also of streams that fall silent.
func TestSilentStreamsHoldNoPieces(t *testing.T) {
	const d, streams = 1024, 200
	decoder, err := NewDecoder(Options{Format: "f32"})
	if err != nil {
		t.Fatal(err)
	}
	value := AppendVector(nil, slices.Repeat([]float32{1}, d))
	offset := int64(0)
	inUse := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	for _, rows := range []int{16, 1} {
		decoder.NextFetch()
		for i := range streams * rows {
			raw := Raw{Topic: "in", Key: fmt.Append(nil, i%streams), Value: value, Offset: offset}
			if _, err := decoder.Decode(t.Context(), &raw, nil); err != nil {
				t.Fatal(err)
			}
			offset++
		}
	}
	decoder.NextFetch()
	if held := inUse() - before; held > streams*d {
		t.Errorf("%d silent streams hold %d bytes", streams, held)
	}
	runtime.KeepAlive(decoder)
}
