package recent

import (
	"cmp"
	"math"
	"unsafe"

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
func NewBlock(items []Item, of func(i int) []float32) *Block { return new(slabs).block(items, of) }

// Block is NewBlock in memory that the partition's blocks share, as they are dropped in the order in which they were made:
// small ones here and there would keep much memory from the system that is free around them. One goroutine calls it.
func (p *Partition) Block(items []Item, of func(i int) []float32) *Block {
	return p.slabs.block(items, of)
}

func (s *slabs) block(items []Item, of func(i int) []float32) *Block {
	if len(items) == 0 {
		return nil
	}
	known := of != nil
	if !known {
		of = func(int) []float32 { return nil }
	}
	b := &Block{dimension: len(of(0))}
	b.items = reserve(&s.items, len(items), s.each)[:0]
	b.codes = reserve(&s.codes, len(items)*b.dimension, s.each)
	b.lengths = reserve(&s.lengths, len(items), s.each)
	if b.texts = s.texting[:0]; s.texting == nil {
		b.texts = make([]byte, 0, 64*len(items))
	}
	b.names = make([]string, 0, fewNames/2)
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
	if s.each > 0 && cap(b.texts) <= s.each {
		s.texting = b.texts
	}
	b.complete(s)
	return b
}

// slabs are memory of which blocks have pieces. The zero value gives each block memory of its own.
type slabs struct {
	each    int // bytes of a slab
	items   []kept
	codes   []int8
	lengths []float32
	texts   []byte

	texting []byte // workspace
}

// slabBytes is the size of a slab.
const slabBytes = 64 << 10

// reserve returns n values, the next of a slab, or of a new one if it has fewer left. What takes more than a quarter of a
// slab has memory of its own.
func reserve[T any](slab *[]T, n, bytes int) []T {
	var one T
	if size := int(unsafe.Sizeof(one)); bytes == 0 || 4*n*size > bytes {
		return make([]T, n)
	} else if len(*slab) < n {
		*slab = make([]T, bytes/size)
	}
	list := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return list
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
