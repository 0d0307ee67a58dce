package recent

import (
	"cmp"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Block is the items of one episode, which are kept and dropped together.
type Block struct {
	items     []kept            // guarded by the store's mutex once the block is added, except for what never changes
	names     []string          // texts of the items that come from the labels, guarded as they are
	numbers   map[string]uint32 // of the names; nil: they are few
	texts     []byte            // of the items; never changed
	codes     []int8            // one row for each item; never changed
	lengths   []float32         // of each code
	dimension int
	size      int64 // in bytes

	// Labels are the next offsets of the labels topic as of which the items are labelled. Only the
	// partition's owner uses it.
	Labels []int64
}

// NewBlock copies the items and quantises their vectors, which all have one dimension. of returns them; nil: they are
// not known, as of items that were answered earlier. It is nil if there are no items.
func NewBlock(items []Item, of func(i int) []float32) *Block {
	if len(items) == 0 {
		return nil
	}
	known := of != nil
	if !known {
		of = func(int) []float32 { return nil }
	}
	b := &Block{items: make([]kept, 0, len(items)), dimension: len(of(0)), lengths: make([]float32, len(items))}
	b.codes = make([]int8, len(items)*b.dimension)
	b.texts, b.names = make([]byte, 0, 64*len(items)), make([]string, 0, fewNames/2)
	for i := range items {
		it := items[i]
		if known {
			it.Class = cmp.Or(it.Class, it.Label)
			it.Said, it.SaidConfidence = it.Class, it.Confidence
		}
		if len(it.Attributes) > longestAttributes {
			it.Attributes = nil
		}
		b.keep(&it)
		square := vector.Bytes(b.codes[i*b.dimension:(i+1)*b.dimension], of(i))
		b.lengths[i] = float32(math.Sqrt(float64(max(square, 1))))
	}
	b.complete()
	return b
}

// decode writes the unit vector of item i to out.
func (b *Block) decode(out []float32, i int) {
	scale := 1 / b.lengths[i]
	for j, c := range b.codes[i*b.dimension : (i+1)*b.dimension] {
		out[j] = scale * float32(c)
	}
}

// unit returns x scaled to length one; false if x is zero or not finite.
func unit(x []float32) ([]float32, bool) {
	largest := float64(kernel.Largest(x))
	if !(largest > 0) || math.IsInf(largest, 0) {
		return nil, false
	}
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(float64(v) / largest)
	}
	kernel.Scale(1/float32(math.Sqrt(float64(kernel.Dot(out, out)))), out)
	return out, true
}
