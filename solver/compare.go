package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// anchorTile is how many labelled rows are compared with a tile of items at once.
const anchorTile = 256

// compare finds the rho nearest labelled rows in force of each item, at least the nearest, and
// the distance to the nearest of each class in z-space. An inner product in u-space is the product of the two
// by (z - centre) plus the signed product of what scaleAlong makes of their products with the metric's
// directions.
func (e *episode) compare(rho int) {
	b, l, n, d := &e.beside, e.beside.prepared, e.n, e.d
	if b.plain, b.rho = b.plain[:0], 0; rho == 0 && len(l.label) == 0 {
		return
	}
	rho = max(1, rho)
	b.rho = rho
	b.ids, b.squares = vector.Resize(b.ids, n*rho), vector.Resize(b.squares, n*rho)
	b.limits = vector.Resize(b.limits, n)
	for i := range b.ids {
		b.ids[i] = -1
	}
	infinite(b.squares)
	infinite(b.limits)
	if len(l.label) == 0 {
		return
	}
	b.plain = vector.Resize(b.plain, n*e.k)
	infinite(b.plain)
	for i, y := range e.label[:n] {
		if y >= 0 {
			b.limits[i] = float32(math.Inf(-1))
		}
	}
	b.centre, b.back = vector.Zeroed(b.centre, n), vector.Zeroed(b.back, n)
	for i, by := range e.by[:n] {
		if by > 0 {
			b.back[i] = 2 / by
		}
	}
	if l.metric != nil {
		kernel.Products(b.centre, l.metric.Centre, e.v, 1, n, d)
		directions, less := len(l.metric.Scales), shrinkingScales(l.metric.Scales)
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
		kernel.Products(b.delta[s*n:s*n+n], l.deltas[s*d:s*d+d], e.v, 1, n, d)
	}
	if b.twists = l.metric != nil && len(l.metric.Scales) > 0 && len(l.along) == 0; b.twists {
		b.twist(e)
	}
	tiles := (n + tile - 1) / tile
	if len(e.pool.workers) == 1 { // no closure, so nothing is allocated
		for t := range tiles {
			e.compareItems(e.pool.workers[0], t*tile)
		}
		return
	}
	e.pool.run(tiles, func(w *worker, t int) { e.compareItems(w, t*tile) })
}

func infinite(x []float32) {
	for i := range x {
		x[i] = float32(math.Inf(1))
	}
}

// compareItems compares a tile of items with all labelled rows.
func (e *episode) compareItems(w *worker, lo int) {
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
			e.compareTile(w, s, lo, count, first, from, to-from)
			from = to
		}
		first += set.Len()
	}
}

// twist fills twisted, whose products with plain rows are products in u-space: v + V'
// sign(s^2-1) sqrt|1-s^2| along.
func (b *besides) twist(e *episode) {
	m := b.prepared.metric
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
		kernel.Products(b.twistedDelta[s*n:s*n+n], b.prepared.deltas[s*d:s*d+d], b.twisted, 1, n, d)
	}
}

// compareTile compares items lo to lo+count-1 with rows from to from+rows-1 of set s. first is the number of
// the set's first row among the rows of all sets.
func (e *episode) compareTile(w *worker, s, lo, count, first, from, rows int) {
	b, l, d, n, rho := &e.beside, e.beside.prepared, e.d, e.n, e.beside.rho
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
		if len(b.plain) > 0 {
			class := int(e.number[l.label[at+j]]) * n
			nearest, square := b.plain[class+lo:class+lo+count], l.square[at+j]
			for i, v := range products {
				// Non-negative numbers compare like their bits: without a branch.
				apart := int32(math.Float32bits(lengths[i] + square - back[i]*v))
				nearest[i] = math.Float32frombits(uint32(min(int32(math.Float32bits(nearest[i])), apart)))
			}
		}
		near := kernel.BelowEach(w.near[:count], one, dots, limits)
		for _, i := range w.near[:near] {
			p := lo + int(i)
			ids, squares := b.ids[p*rho:p*rho+rho], b.squares[p*rho:p*rho+rho]
			if squared := max(0, e.own[p]+one-2*dots[i]); squared < squares[rho-1] {
				insertNear(ids, squares, int32(at+j), squared)
				limits[i] = squares[rho-1] - e.own[p]
			}
		}
	}
}

// insertNear inserts an entry into an ascending list, after equal ones, and drops the last entry.
func insertNear(ids []int32, squares []float32, id int32, squared float32) {
	at := len(ids) - 1
	for ; at > 0 && squares[at-1] > squared; at-- {
		ids[at], squares[at] = ids[at-1], squares[at-1]
	}
	ids[at], squares[at] = id, squared
}
