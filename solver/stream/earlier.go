package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
)

// A few items alone hardly show which of them belong together: an episode is solved with the items before it,
// up to solvedTogether rows in all, and up to earlierEach for each item, so that an item of a short episode
// costs no more than about that many of a long one.
const (
	solvedTogether = 100
	earlierEach    = 10
)

// earlier are the last items that were answered, oldest first. A short episode is solved with them as
// unlabelled rows. A stream whose last episode was long enough keeps none. The list is replaced, never
// changed.
type earlier struct{ items []earlierItem }

// earlierItem is an item without its label: it may be corrected later, and counts as an example.
type earlierItem struct {
	codes        []int8  // the vector: 127 stands for its largest value ...
	scale        float32 // ... which is this, without sign
	frame, track string
}

// before appends the earlier items that an episode is solved with to its own. values is memory for their
// vectors, and returned.
func (r *earlier) before(items []Item, values []float32) ([]Item, []float32) {
	count := min(len(r.items), solvedTogether-len(items), earlierEach*len(items))
	if count <= 0 {
		return items, values
	}
	d := len(items[0].Vector)
	rows, values := slices.Clone(items), vector.Resize(values, count*d)
	for i, x := range r.items[len(r.items)-count:] {
		row := values[i*d : i*d+d]
		for j, code := range x.codes {
			row[j] = x.scale * (float32(code) / math.MaxInt8)
		}
		rows = append(rows, Item{Vector: row, Frame: x.frame, Track: x.track})
	}
	return rows, values
}

func (r *earlier) observe(e *episode) {
	if e.solved == nil || len(e.items) >= solvedTogether {
		r.items = nil
		return
	}
	kept := r.items[max(0, len(r.items)+len(e.items)-solvedTogether):]
	next := append(make([]earlierItem, 0, len(kept)+len(e.items)), kept...)
	for i := range e.items {
		item := &e.items[i]
		x := earlierItem{
			codes: make([]int8, len(item.Vector)), scale: vector.Largest(item.Vector), frame: item.Frame,
			track: item.Track,
		}
		for j, v := range item.Vector {
			x.codes[j] = int8(math.RoundToEven(float64(v/x.scale) * math.MaxInt8))
		}
		next = append(next, x)
	}
	r.items = next
}

// reset drops the items: any may be of the class.
func (r *earlier) reset(string) bool {
	r.items = nil
	return false
}

func (r *earlier) fields(f *fields) {
	if f.kind != "earlier" {
		return
	}
	list(f, fieldEarlierItem, &r.items, func(f *fields, field int, x *earlierItem) {
		f.group(field, func(f *fields) {
			slice(f, fieldCodes, &x.codes, f.dimension)
			number(f, fieldScales, &x.scale)
			text(f, fieldFrame, &x.frame)
			text(f, fieldTrack, &x.track)
			f.check(len(x.codes) == f.dimension && x.scale > 0, "earlier item")
		})
	})
}
