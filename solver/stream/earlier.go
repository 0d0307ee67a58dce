package stream

import (
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
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
// episode was long enough keeps none.
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

// before returns an episode's items and the earlier ones that it is solved with, in p's memory, for as long as the episode.
func (r *earlier) before(items []Item, p *problem) []Item {
	count := min(len(r.scales), solvedTogether-len(items), earlierEach*len(items))
	if count <= 0 {
		return items
	}
	d, first := len(items[0].Vector), len(r.scales)-count
	p.together, p.earlier = append(p.together[:0], items...), vector.Resize(p.earlier, count*d)
	for i := range count {
		x := r.item(first+i, d)
		row := p.earlier[i*d : i*d+d]
		vector.Unhalve(row, x.row, x.scale)
		p.together = append(p.together, Item{Vector: row, Frame: x.frame, Track: x.track})
	}
	return p.together
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
	d := e.stream.dimension
	r.drop(len(r.scales)+len(e.items)-solvedTogether, d)
	r.grow(len(e.items), d)
	for i := range e.items {
		r.add(tracked{e.items[i].Frame, e.items[i].Track}, d, func(row []byte) float32 {
			return vector.Halve(row, e.items[i].Vector)
		})
	}
}

// drop drops the oldest n items; none if that is below 1.
func (r *earlier) drop(n, d int) {
	if n <= 0 {
		return
	}
	r.rows = r.rows[:copy(r.rows, r.rows[n*vector.HalfBytes(d):])]
	r.scales = r.scales[:copy(r.scales, r.scales[n:])]
	if r.tracked != nil {
		left := copy(r.tracked, r.tracked[n:])
		clear(r.tracked[left:])
		r.tracked = r.tracked[:left]
	}
}

// grow makes room for n more items, and for no more than ever are kept.
func (r *earlier) grow(n, d int) {
	have, want := cap(r.scales), len(r.scales)+n
	if want <= have {
		return
	}
	room := min(max(want, 2*have), max(want, solvedTogether))
	r.rows = append(make([]byte, 0, room*vector.HalfBytes(d)), r.rows...)
	r.scales = append(make([]float32, 0, room), r.scales...)
	if r.tracked != nil {
		r.tracked = append(make([]tracked, 0, room), r.tracked...)
	}
}

// add adds an item, for which there is room. fill writes its half row, and returns the scale.
func (r *earlier) add(x tracked, d int, fill func(row []byte) float32) {
	if r.tracked == nil && x != (tracked{}) {
		r.tracked = make([]tracked, len(r.scales), cap(r.scales))
	}
	if r.tracked != nil {
		r.tracked = append(r.tracked, x)
	}
	from, to := len(r.rows), len(r.rows)+vector.HalfBytes(d)
	r.rows = r.rows[:to]
	r.scales = append(r.scales, fill(r.rows[from:to]))
}

func (r *earlier) detach() {
	r.rows = append(make([]byte, 0, cap(r.rows)), r.rows...)
	r.scales = append(make([]float32, 0, cap(r.scales)), r.scales...)
	if r.tracked != nil {
		r.tracked = append(make([]tracked, 0, cap(r.tracked)), r.tracked...)
	}
}

// reset drops the items: any may be of the class.
func (r *earlier) reset(string) bool {
	*r = earlier{}
	return false
}

func (r *earlier) bytes(int) int { return len(r.rows) + 4*len(r.scales) + 32*len(r.tracked) }

func (r *earlier) kinds() []string { return []string{"earlier"} }

func (r *earlier) fields(f *piece.Fields) {
	if f.Kind != "earlier" {
		return
	}
	items := make([]earlierItem, len(r.scales))
	for i := range items {
		items[i] = r.item(i, f.Dimension)
	}
	piece.List(f, piece.EarlierItem, &items, func(f *piece.Fields, field int, x *earlierItem) { f.Group(field, x.fields) })
	if f.Writes || f.Err != nil {
		return
	}
	*r = earlier{}
	r.grow(len(items), f.Dimension)
	for _, x := range items {
		r.add(x.tracked, f.Dimension, func(row []byte) float32 {
			copy(row, x.row)
			return x.scale
		})
	}
}

func (x *earlierItem) fields(f *piece.Fields) {
	piece.Text(f, piece.HalfBytes, &x.row)
	piece.Number(f, piece.Scales, &x.scale)
	piece.Text(f, piece.Frame, &x.frame)
	piece.Text(f, piece.Track, &x.track)
	f.Check(len(x.row) == vector.HalfBytes(f.Dimension) && x.scale > 0, "earlier item")
}
