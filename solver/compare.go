package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// anchorTile is how many labelled rows are compared with a tile of items at once.
const anchorTile = 256

// compare compares the items with all labelled rows in force. It finds the nearest one, the nearest of each
// class in z-space, and adds those that are nearer than the last of an item's list to that list; lists may be
// nil. An inner product in u-space is the inner product by (z - centre), plus the signed product of both
// rows' products with the metric's directions after scaleAlong.
func (e *episode) compare(lists *nearLists) {
	b, l, n, d := &e.beside, e.beside.prepared, e.n, e.d
	b.nearest, b.plain = vector.Resize(b.nearest, n), b.plain[:0]
	infinite(b.nearest)
	if len(l.label) == 0 {
		return
	}
	b.plain = vector.Resize(b.plain, n*e.k)
	infinite(b.plain)
	b.limits = vector.Resize(b.limits, n)
	for i, y := range e.label[:n] {
		if b.limits[i] = float32(math.Inf(-1)); y < 0 && lists != nil {
			b.limits[i] = lists.last(i)
		}
	}
	b.centre, b.back = vector.Zeroed(b.centre, n), vector.Zeroed(b.back, n)
	for i, by := range e.by[:n] {
		if by > 0 {
			b.back[i] = 2 / by
		}
	}
	if b.metric != nil {
		kernel.Products(b.centre, b.metric.Centre, e.v, 1, n, d)
		directions, less := len(b.metric.Scales), shrinkingScales(b.metric.Scales)
		b.signed = vector.Resize(b.signed, n*directions)
		for i := range n {
			row := b.signed[i*directions : i*directions+directions]
			for r := range row {
				row[r] = e.along[r*e.rows+i]
			}
			kernel.Scale(-1, row[:less])
		}
	}
	b.delta = vector.Resize(b.delta, n*len(b.list))
	for s := range b.list {
		kernel.Products(b.delta[s*n:s*n+n], b.deltas[s*d:s*d+d], e.v, 1, n, d)
	}
	if b.twists = b.metric != nil && len(b.metric.Scales) > 0 && len(l.along) == 0; b.twists {
		b.twist(e)
	}
	e.pool.run((n+tile-1)/tile, func(w *worker, t int) { e.compareItems(w, lists, t*tile) })
}

func infinite(x []float32) {
	for i := range x {
		x[i] = float32(math.Inf(1))
	}
}

// compareItems compares a tile of items with all labelled rows.
func (e *episode) compareItems(w *worker, lists *nearLists, lo int) {
	l := e.beside.prepared
	count, first := min(tile, e.n-lo), 0
	w.products, w.moved = vector.Resize(w.products, tile*anchorTile), vector.Resize(w.moved, tile*anchorTile)
	w.near = vector.Resize(w.near, tile)
	for s, set := range e.beside.list {
		label := l.label[first : first+set.Len()]
		for from := 0; from < len(label); {
			if label[from] < 0 { // in large sets the rows of a class are adjacent
				from++
				continue
			}
			to := from + 1
			for to < min(from+anchorTile, len(label)) && label[to] >= 0 {
				to++
			}
			e.compareTile(w, lists, s, lo, count, first, from, to-from)
			from = to
		}
		first += set.Len()
	}
}

// twist fills twisted, whose products with plain rows are products in u-space: v + V'
// sign(s^2-1) sqrt|1-s^2| along.
func (b *besides) twist(e *episode) {
	m := b.metric
	n, d, r := e.n, e.d, len(m.Scales)
	scaleAlong(b.signed, m.Scales)
	b.twisted = append(b.twisted[:0], e.v[:n*d]...)
	for i := range n {
		for j, by := range b.signed[i*r : i*r+r] {
			kernel.Axpy(by, m.Vectors[j*d:j*d+d], b.twisted[i*d:i*d+d])
		}
	}
	sets := len(b.list)
	b.twistedCentre, b.twistedDelta = vector.Resize(b.twistedCentre, n), vector.Resize(b.twistedDelta, n*sets)
	kernel.Products(b.twistedCentre, m.Centre, b.twisted, 1, n, d)
	for s := range sets {
		kernel.Products(b.twistedDelta[s*n:s*n+n], b.deltas[s*d:s*d+d], b.twisted, 1, n, d)
	}
}

// compareTile compares items lo to lo+count-1 with rows from to from+rows-1 of set s. first is the number of
// the set's first row among the rows of all sets.
func (e *episode) compareTile(w *worker, lists *nearLists, s, lo, count, first, from, rows int) {
	b, l, d, n := &e.beside, e.beside.prepared, e.d, e.n
	at, items := first+from, s*n+lo
	anchors := b.list[s].rows[from*d : (from+rows)*d]
	plain, moved := w.products[:count*rows], w.moved[:count*rows] // count values for each labelled row
	kernel.Products(plain, anchors, e.v[lo*d:(lo+count)*d], rows, count, d)
	if r := len(l.along) / len(l.label); b.twists {
		kernel.Products(moved, anchors, b.twisted[lo*d:(lo+count)*d], rows, count, d)
	} else if r > 0 {
		kernel.Products(moved, l.along[at*r:(at+rows)*r], b.signed[lo*r:(lo+count)*r], rows, count, r)
	} else {
		clear(moved)
	}
	limits, lengths := b.limits[lo:lo+count], e.square[lo:lo+count]
	nearest, own := b.nearest[lo:lo+count], e.own[lo:lo+count]
	centre, delta, back := b.centre[lo:lo+count], b.delta[items:items+count], b.back[lo:lo+count]
	for j := range rows {
		products, dots := plain[j*count:j*count+count], moved[j*count:j*count+count]
		inverse, by, one := l.inverse[at+j], l.by[at+j], float32(1)
		if by == 0 {
			one = 0
		}
		for i, v := range products {
			products[i] = (v-delta[i])*inverse - centre[i]
		}
		if b.twists {
			for i, v := range dots {
				dots[i] = ((v-b.twistedDelta[items+i])*inverse - b.twistedCentre[lo+i]) * by
			}
		} else {
			kernel.Axpy(by, products, dots)
		}
		class := int(e.number[l.label[at+j]]) * n
		plainest, square := b.plain[class+lo:class+lo+count], l.square[at+j]
		for i, v := range products {
			lower(&plainest[i], lengths[i]+square-back[i]*v)
		}
		for i, v := range dots {
			lower(&nearest[i], own[i]+one-2*v)
		}
		if lists == nil {
			continue
		}
		near := kernel.BelowEach(w.near[:count], one, dots, limits)
		for _, i := range w.near[:near] {
			limits[i] = lists.insert(lo+int(i), int32(n+at+j), one-2*dots[i])
		}
	}
}

// lower lowers a squared distance to another without a branch: non-negative numbers compare like their bits.
// What rounding makes negative counts as zero in the end, whichever of it is kept.
func lower(least *float32, v float32) {
	a, b := int32(math.Float32bits(*least)), int32(math.Float32bits(v))
	*least = math.Float32frombits(uint32(min(a, b)))
}
