package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// anchorTile is how many labelled rows are compared with a tile of items at once.
const anchorTile = 256

// compare finds the rho nearest labelled rows in force of each item and the distance to the nearest; with
// assess also the distance to the nearest of each class in z-space. An inner product in u-space is the
// product of the two by (z - centre) plus the signed product of what scaleAlong makes of their products with
// the metric's directions.
func (e *episode) compare(rho int, assess bool) {
	b, l, n, d := &e.beside, e.beside.prepared, e.n, e.d
	infinite := func(x []float32) {
		for i := range x {
			x[i] = float32(math.Inf(1))
		}
	}
	b.rho = rho
	b.ids, b.squares = vector.Resize(b.ids, n*rho), vector.Resize(b.squares, n*rho)
	b.nearest = vector.Resize(b.nearest, n)
	for i := range b.ids {
		b.ids[i] = -1
	}
	infinite(b.squares)
	infinite(b.nearest)
	if b.plain = b.plain[:0]; assess {
		b.plain = vector.Resize(b.plain, n*e.k)
		infinite(b.plain)
	}
	if len(l.label) == 0 {
		return
	}
	b.centre, b.delta = vector.Zeroed(b.centre, n), vector.Resize(b.delta, n*len(b.list))
	if l.metric != nil {
		for i := range n {
			b.centre[i] = kernel.Dot(l.metric.Centre, e.v[i*d:i*d+d])
		}
		directions, less := len(l.metric.Scales), shrinkingScales(l.metric.Scales)
		b.signed = append(b.signed[:0], e.along[:n*directions]...)
		for from := 0; from < len(b.signed); from += directions {
			kernel.Scale(-1, b.signed[from:from+less])
		}
		if directions > 0 && len(l.along) == 0 {
			b.twist(e)
		}
	}
	for s := range b.list {
		for i := range n {
			b.delta[s*n+i] = kernel.Dot(l.deltas[s*d:s*d+d], e.v[i*d:i*d+d])
		}
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

// compareItems compares a tile of items with all labelled rows.
func (e *episode) compareItems(w *worker, lo int) {
	l := e.beside.prepared
	count, first := min(tile, e.n-lo), 0
	w.products, w.moved = vector.Resize(w.products, tile*anchorTile), vector.Resize(w.moved, tile*anchorTile)
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
}

// compareTile compares items lo to lo+count-1 with rows from to from+rows-1 of set s. first is the number of
// the set's first row among the rows of all sets.
func (e *episode) compareTile(w *worker, s, lo, count, first, from, rows int) {
	b, l, d, k, rho := &e.beside, e.beside.prepared, e.d, e.k, e.beside.rho
	directions := 0
	if l.metric != nil {
		directions = len(l.metric.Scales)
	}
	at := first + from
	anchors := b.list[s].rows[from*d : (from+rows)*d]
	plain, moved := w.products[:count*rows], w.moved[:count*rows]
	kernel.Products(plain, e.v[lo*d:(lo+count)*d], anchors, count, rows, d)
	kept, twisted := directions > 0 && len(l.along) > 0, directions > 0 && len(l.along) == 0
	if kept {
		kernel.Products(moved, b.signed[lo*directions:(lo+count)*directions],
			l.along[at*directions:(at+rows)*directions], count, rows, directions)
	} else if twisted {
		kernel.Products(moved, b.twisted[lo*d:(lo+count)*d], anchors, count, rows, d)
	}
	inverse, square := l.inverse[at:at+rows], l.square[at:at+rows]
	by, label := l.by[at:at+rows], l.label[at:at+rows]
	for i := range count {
		p := lo + i
		if e.label[p] >= 0 {
			continue
		}
		own, delta, centre := e.own[p], b.delta[s*e.n+p], b.centre[p]
		twistedDelta, twistedCentre := float32(0), float32(0)
		if twisted {
			row := b.twisted[p*d : p*d+d]
			twistedDelta, twistedCentre = kernel.Dot(l.deltas[s*d:s*d+d], row), kernel.Dot(l.metric.Centre, row)
		}
		back := float32(0) // turns by (z - centre) into z - centre
		if e.by[p] > 0 {
			back = 1 / e.by[p]
		}
		ids, squares := b.ids[p*rho:p*rho+rho], b.squares[p*rho:p*rho+rho]
		nearest, worst := b.nearest[p], float32(math.Inf(-1))
		if rho > 0 {
			worst = squares[rho-1]
		}
		var classes []float32
		if len(b.plain) > 0 {
			classes = b.plain[p*k : p*k+k]
		}
		length := e.square[p]
		for j, product := range plain[i*rows : i*rows+rows] {
			product = (product-delta)*inverse[j] - centre
			dot, one := product*by[j], float32(1)
			switch {
			case by[j] == 0:
				one = 0
			case kept:
				dot += moved[i*rows+j]
			case twisted:
				dot = ((moved[i*rows+j]-twistedDelta)*inverse[j] - twistedCentre) * by[j]
			}
			squared := own + one - 2*dot
			if squared < 0 {
				squared = 0
			}
			if squared < nearest { // several times as fast as min
				nearest = squared
			}
			if squared < worst {
				insertNear(ids, squares, int32(at+j), squared)
				worst = squares[rho-1]
			}
			if classes != nil {
				class, apart := &classes[e.number[label[j]]], length+square[j]-2*product*back
				if apart < *class {
					*class = apart
				}
			}
		}
		b.nearest[p] = nearest
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
