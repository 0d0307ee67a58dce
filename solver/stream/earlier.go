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

// earlier are the last items that were answered, oldest first, without their labels: these may be corrected
// later, and count as examples. A short episode is solved with them as unlabelled rows. A stream whose last
// episode was long enough keeps none. The lists are replaced, never changed.
type earlier struct {
	rows    []byte    // half rows, one after the other
	scales  []float32 // of each row
	tracked []tracked // of each row; nil: no item has a frame or a track
}

// tracked is an item's frame and track.
type tracked struct{ frame, track string }

// earlierItem is one item.
type earlierItem struct {
	row   []byte // a half row of the vector
	scale float32
	tracked
}

// before appends the earlier items that an episode is solved with to its own. values is memory for their
// vectors, and returned.
func (r *earlier) before(items []Item, values []float32) ([]Item, []float32) {
	count := min(len(r.scales), solvedTogether-len(items), earlierEach*len(items))
	if count <= 0 {
		return items, values
	}
	d, first := len(items[0].Vector), len(r.scales)-count
	rows, values := slices.Clone(items), vector.Resize(values, count*d)
	for i := range count {
		x := r.item(first+i, d)
		row := values[i*d : i*d+d]
		vector.Unhalve(row, x.row, x.scale)
		rows = append(rows, Item{Vector: row, Frame: x.frame, Track: x.track})
	}
	return rows, values
}

// item returns an item. Its row is shared.
func (r *earlier) item(i, d int) earlierItem {
	size := vector.HalfBytes(d)
	x := earlierItem{row: r.rows[i*size : i*size+size], scale: r.scales[i]}
	if r.tracked != nil {
		x.tracked = r.tracked[i]
	}
	return x
}

func (r *earlier) observe(e *episode) {
	if e.solved == nil || len(e.items) >= solvedTogether {
		*r = earlier{}
		return
	}
	first := max(0, len(r.scales)+len(e.items)-solvedTogether)
	next := newEarlier(len(r.scales)-first+len(e.items), e.stream.dimension)
	for i := first; i < len(r.scales); i++ {
		next.add(r.item(i, e.stream.dimension))
	}
	row := make([]byte, vector.HalfBytes(e.stream.dimension))
	for i := range e.items {
		x := earlierItem{row: row, tracked: tracked{e.items[i].Frame, e.items[i].Track}}
		x.scale = vector.Halve(row, e.items[i].Vector)
		next.add(x)
	}
	*r = next
}

func newEarlier(n, d int) earlier {
	return earlier{rows: make([]byte, 0, n*vector.HalfBytes(d)), scales: make([]float32, 0, n)}
}

func (r *earlier) add(x earlierItem) {
	if r.tracked == nil && x.tracked != (tracked{}) {
		r.tracked = make([]tracked, len(r.scales), cap(r.scales))
	}
	if r.tracked != nil {
		r.tracked = append(r.tracked, x.tracked)
	}
	r.rows, r.scales = append(r.rows, x.row...), append(r.scales, x.scale)
}

// reset drops the items: any may be of the class.
func (r *earlier) reset(string) bool {
	*r = earlier{}
	return false
}

func (r *earlier) bytes(int) int { return len(r.rows) + 4*len(r.scales) + 32*len(r.tracked) }

func (r *earlier) fields(f *fields) {
	if f.kind != "earlier" {
		return
	}
	items := make([]earlierItem, len(r.scales))
	for i := range items {
		items[i] = r.item(i, f.dimension)
	}
	list(f, fieldEarlierItem, &items, func(f *fields, field int, x *earlierItem) { f.group(field, x.fields) })
	if f.writes || f.err != nil {
		return
	}
	*r = newEarlier(len(items), f.dimension)
	for _, x := range items {
		r.add(x)
	}
}

func (x *earlierItem) fields(f *fields) {
	text(f, fieldHalfBytes, &x.row)
	number(f, fieldScales, &x.scale)
	text(f, fieldFrame, &x.frame)
	text(f, fieldTrack, &x.track)
	if _, older := f.last(fieldCodes); older { // a byte a number: 127 stands for the scale
		var codes []int8
		slice(f, fieldCodes, &codes, f.dimension)
		values := make([]float32, len(codes))
		for j, code := range codes {
			values[j] = x.scale * (float32(code) / math.MaxInt8)
		}
		x.row = make([]byte, vector.HalfBytes(len(values)))
		x.scale = vector.Halve(x.row, values)
	}
	f.check(len(x.row) == vector.HalfBytes(f.dimension) && x.scale > 0, "earlier item")
}
