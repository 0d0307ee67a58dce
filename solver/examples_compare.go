package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// exampleTile is how many labelled rows are compared with a tile of items at once.
const exampleTile = 256

// compare compares the items with all labelled rows in force. It finds the nearest one, the nearest of each
// class in z-space and in u-space, and the sum of the products with each class in u-space, and adds those that are nearer
// than the last of an item's list to that list; lists may be nil. An inner product in u-space is the inner
// product by (z - centre), plus the signed product of both rows' products with the metric's directions after
// scaleAlong.
func (e *episode) compare(p *Problem, lists *nearLists) {
	b, l, n, d := &e.examples, e.examples.cache, e.rows.n, e.rows.d
	b.nearest, b.nearestZ, b.nearestU = vector.Resize(b.nearest, n), b.nearestZ[:0], b.nearestU[:0]
	infinite(b.nearest)
	if len(l.label) == 0 {
		return
	}
	b.nearestZ, b.productsU = vector.Resize(b.nearestZ, n*p.K), vector.Zeroed(b.productsU, n*p.K)
	b.nearestU = vector.Resize(b.nearestU, n*p.K)
	infinite(b.nearestZ)
	infinite(b.nearestU)
	b.limits = vector.Resize(b.limits, n)
	for i, y := range e.rows.label[:n] {
		if b.limits[i] = float32(math.Inf(-1)); y < 0 && lists != nil {
			b.limits[i] = lists.last(i)
		}
	}
	b.centre, b.back = vector.Zeroed(b.centre, n), vector.Zeroed(b.back, n)
	b.lengths = append(b.lengths[:0], e.rows.squareCentred[:n]...)
	for i, by := range e.rows.factor[:n] {
		if by == 0 {
			b.lengths[i] = 0
			continue
		}
		if b.back[i] = 2 / by; b.metric != nil {
			b.lengths[i] = 1
		}
	}
	if b.metric != nil {
		kernel.Products(b.centre, b.metric.Centre, e.rows.v, 1, n, d)
		directions, less := len(b.metric.Scales), metric.Shrinking(b.metric.Scales)
		b.signed = vector.Resize(b.signed, n*directions)
		for i := range n {
			row := b.signed[i*directions : i*directions+directions]
			for r := range row {
				row[r] = e.rows.along[r*e.rows.firstMean+i]
			}
			kernel.Scale(-1, row[:less])
		}
	}
	b.delta = vector.Resize(b.delta, n*len(b.list))
	for s := range b.list {
		kernel.Products(b.delta[s*n:s*n+n], b.deltas[s*d:s*d+d], e.rows.v, 1, n, d)
	}
	b.turn(e)
	b.near, b.asked = lists, b.asked[:0]
	if b.now = n; e.remembers(p, lists) {
		b.now -= p.Earlier
	}
	for i := range b.now {
		b.asked = append(b.asked, int32(i))
	}
	if b.now < n {
		e.recall()
	}
	runWith(e, (len(b.asked)+tile-1)/tile, b, func(e *episode, w *worker, b *exampleWork, block int) {
		e.compareItems(w, b.asked[block*tile:min((block+1)*tile, len(b.asked))])
	})
	for i := range b.nearest {
		for _, v := range b.nearestU[i*p.K : (i+1)*p.K] {
			lower(&b.nearest[i], v)
		}
	}
	if b.now < n {
		e.remember()
	}
	if e.prototypes.usesGram {
		e.prototypes.gram.takeMeans()
	}
}

func infinite(x []float32) {
	for i := range x {
		x[i] = float32(math.Inf(1))
	}
}

// compareItems compares some items, at most a tile, with all labelled rows.
func (e *episode) compareItems(w *worker, items []int32) {
	b, l, first := &e.examples, e.examples.cache, 0
	w.products, w.moved = vector.Resize(w.products, tile*exampleTile), vector.Resize(w.moved, tile*exampleTile)
	w.examples, w.ones = vector.Resize(w.examples, exampleTile), vector.Resize(w.ones, exampleTile)
	w.near = vector.Resize(w.near, exampleTile)
	var turned []float32 // their products with labelled rows, or with along of these, are the metric's part
	if b.twists {
		turned = gathered(&w.gathered[1], b.twisted, e.rows.d, items)
	} else if len(l.along) > 0 {
		turned = gathered(&w.gathered[1], b.signed, len(b.metric.Scales), items)
	}
	v := gathered(&w.gathered[0], e.rows.v, e.rows.d, items)
	for s, set := range b.list {
		label := l.label[first : first+set.Len()]
		for from := 0; from < len(label); {
			if label[from] < 0 { // in large sets the rows of a class are adjacent
				from++
				continue
			}
			to := from + 1
			for to < min(from+exampleTile, len(label)) && label[to] >= 0 {
				to++
			}
			e.compareTile(w, items, v, turned, s, first, from, to-from)
			from = to
		}
		first += set.Len()
	}
}

// gathered returns the listed rows one after the other, in memory of its own if need be.
func gathered(memory *[]float32, rows []float32, d int, listed []int32) []float32 {
	first, n := int(listed[0]), len(listed)
	if int(listed[n-1])-first == n-1 {
		return rows[first*d : (first+n)*d]
	}
	*memory = (*memory)[:0]
	for _, i := range listed {
		*memory = append(*memory, rows[int(i)*d:int(i+1)*d]...)
	}
	return *memory
}

// turn fills what the items' products with labelled rows in u-space need. Where these rows have no along,
// products of plain rows with twisted are products in u-space: v + V' sign(s^2-1) sqrt|1-s^2| along.
func (b *exampleWork) turn(e *episode) {
	l, n, d, sets, r := b.cache, e.rows.n, e.rows.d, len(b.list), 0
	if b.metric != nil {
		r = len(b.metric.Scales)
	}
	if b.twists = r > 0 && len(l.along) == 0; b.twists {
		scaleAlong(b.signed, b.metric.Scales)
		b.twisted = append(b.twisted[:0], e.rows.v[:n*d]...)
		for i := range n {
			for j, by := range b.signed[i*r : i*r+r] {
				kernel.Axpy(by, b.metric.Vectors[j*d:j*d+d], b.twisted[i*d:i*d+d])
			}
		}
	}
	b.turnedCentre = append(b.turnedCentre[:0], b.centre...)
	b.turnedDelta = append(b.turnedDelta[:0], b.delta...)
	if b.twists {
		kernel.Products(b.turnedCentre, b.metric.Centre, b.twisted, 1, n, d)
		for s := range sets {
			kernel.Products(b.turnedDelta[s*n:s*n+n], b.deltas[s*d:s*d+d], b.twisted, 1, n, d)
		}
	} else if r > 0 {
		e.scratch.values = vector.Resize(e.scratch.values, (sets+1)*n)
		kernel.Products(e.scratch.values, l.shifts, b.signed, sets+1, n, r)
		kernel.Axpy(1, e.scratch.values[:sets*n], b.turnedDelta)
		kernel.Axpy(1, e.scratch.values[sets*n:], b.turnedCentre)
	}
}

// exampleRow is a labelled row that items are compared with. See ExampleCache.
type exampleRow struct {
	inverse, by, square float32
	class               int32
}

// compareTile compares items, whose v and whose rows for the products in u-space are given, with rows from to
// from+count-1 of set s. first is the number of the set's first row among the rows of all sets.
func (e *episode) compareTile(w *worker, items []int32, v, turned []float32, s, first, from, count int) {
	b, l, d, n := &e.examples, e.examples.cache, e.rows.d, e.rows.n
	at := first + from
	rows := b.list[s].rows[from*d : (from+count)*d]
	products, moved := w.products[:len(items)*count], w.moved[:len(items)*count]
	kernel.Products(products, v, rows, len(items), count, d)
	switch {
	case b.twists:
		kernel.Products(moved, turned, rows, len(items), count, d)
	case len(l.along) > 0:
		r := len(b.metric.Scales)
		kernel.Products(moved, turned, l.along[s].rows[from*r:(from+count)*r], len(items), count, r)
		kernel.Axpy(1, products, moved)
	default:
		copy(moved, products)
	}
	examples, ones := w.examples[:count], w.ones[:count]
	for j := range examples {
		examples[j] = exampleRow{l.inverse[at+j], l.by[at+j], l.square[at+j], l.label[at+j]}
		if ones[j] = 1; l.by[at+j] == 0 {
			ones[j] = 0
		}
	}
	for i, item := range items {
		plain, dots := products[i*count:(i+1)*count], moved[i*count:(i+1)*count]
		centre, delta, back, square := b.centre[item], b.delta[s*n+int(item)], b.back[item], e.rows.squareCentred[item]
		turnedCentre, turnedDelta := b.turnedCentre[item], b.turnedDelta[s*n+int(item)]
		row := int(item) * l.k
		nearestZ, nearestU, productsU := b.nearestZ[row:row+l.k], b.nearestU[row:row+l.k], b.productsU[row:row+l.k]
		own := b.lengths[item]
		for j := range examples {
			a := &examples[j]
			lower(&nearestZ[a.class], square+a.square-back*((plain[j]-delta)*a.inverse-centre))
			dots[j] = ((dots[j]-turnedDelta)*a.inverse - turnedCentre) * a.by
			productsU[a.class] += dots[j]
			lower(&nearestU[a.class], own+ones[j]-2*dots[j])
		}
		if b.near == nil {
			continue
		}
		list, row, number := b.near, int(item), n
		if row >= b.now {
			list, row, number = &b.next.lists, row-b.now, 0
		}
		near := kernel.Below(w.near, ones, dots, b.limits[item])
		for _, j := range w.near[:near] {
			b.limits[item] = list.insert(row, int32(number+at)+j, ones[j]-2*dots[j])
		}
	}
}

// lower lowers a squared distance to another without a branch: non-negative numbers compare like their bits.
// What rounding makes negative counts as zero in the end, whichever of it is kept.
func lower(least *float32, v float32) {
	a, b := int32(math.Float32bits(*least)), int32(math.Float32bits(v))
	*least = math.Float32frombits(uint32(min(a, b)))
}
