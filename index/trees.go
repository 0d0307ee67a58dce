package index

import (
	"context"
	"math/rand/v2"

	"slkstream/internal/kernel"
)

// forest holds random-projection trees as orders of the rows: a tree's leaves are ranges of its order, and rows that are
// near each other tend to share one.
type forest struct {
	orders [][]int32
	leaves [][]span // of each tree, left to right
}

// span is a range of an order.
type span struct{ from, to int }

// node is a span of a tree that is to be split.
type node struct {
	tree int
	span
}

// projected is a row and where it lies along the direction of a split.
type projected struct {
	value float32
	id    int32
}

// nearby is how many floats of rows stay in the second-level cache while a worker splits on within them.
const nearby = 64 << 10

// plant grows trees, numbered from first on, until every leaf holds at most block rows. Every split is drawn from the seed,
// the number of the tree and the place in it alone, so that goroutines may take them in any order. The first splits pass over
// all rows; what has become small enough for the cache, one goroutine splits to its end.
func (f *forest) plant(ctx context.Context, w *Workspace, first, trees int, o Options) error {
	p := &w.points
	f.orders, f.leaves = grown(f.orders, trees), make([][]span, trees)
	var level []node
	for t := range trees {
		f.orders[t] = grown(f.orders[t], p.n)
		for i := range f.orders[t] {
			f.orders[t][i] = int32(i)
		}
		f.leaves[t] = leavesOf(nil, span{0, p.n})
		level = append(level, node{t, span{0, p.n}})
	}
	for small := max(block, nearby/p.d); level[0].to-level[0].from > small; {
		if err := parallel(ctx, o, "trees", int64(len(level)), func(number int, item int64) {
			at := level[item]
			w.workers[number].split(p, f.orders[at.tree][at.from:at.to], drawFor(o, first, at))
		}); err != nil {
			return err
		}
		var next []node
		for _, at := range level {
			lower, upper := at.halves()
			next = append(next, node{at.tree, lower}, node{at.tree, upper})
		}
		level = next
	}
	return parallel(ctx, o, "trees", int64(len(level)), func(number int, item int64) {
		at := level[item]
		w.workers[number].finish(p, f.orders[at.tree], at, func(at node) *rand.Rand { return drawFor(o, first, at) })
	})
}

// halves are where the rows of a span are when it is split.
func (s span) halves() (lower, upper span) {
	middle := (s.from + s.to) / 2
	return span{s.from, middle}, span{middle, s.to}
}

// leavesOf appends the leaves of a span: where rows are split depends on nothing but their number.
func leavesOf(leaves []span, s span) []span {
	if s.to-s.from <= block {
		return append(leaves, s)
	}
	lower, upper := s.halves()
	return leavesOf(leavesOf(leaves, lower), upper)
}

// finish splits a node down to its leaves, and puts these in order.
func (w *worker) finish(p *points, order []int32, at node, draw func(node) *rand.Rand) {
	ids := order[at.from:at.to]
	if len(ids) <= block {
		w.sort(p, ids, draw(at))
		return
	}
	w.split(p, ids, draw(at))
	lower, upper := at.halves()
	w.finish(p, order, node{at.tree, lower}, draw)
	w.finish(p, order, node{at.tree, upper}, draw)
}

// drawFor is the source of randomness of a node.
func drawFor(o Options, first int, at node) *rand.Rand {
	return rand.New(rand.NewPCG(o.Seed, uint64(first+at.tree)<<56^uint64(at.from)<<28^uint64(at.to)))
}

// split orders ids so that the lower half lies to one side of a plane between two rows drawn from them. Within each half
// they keep their order: ids that ascend are met in the order of the memory.
func (w *worker) split(p *points, ids []int32, random *rand.Rand) {
	w.direction = grown(w.direction, p.d)
	for range 4 {
		a, b := ids[random.IntN(len(ids))], ids[random.IntN(len(ids))]
		copy(w.direction, p.row(int(a)))
		kernel.Axpy(-1, p.row(int(b)), w.direction)
		if kernel.Dot(w.direction, w.direction) > 0 {
			break // else the two are equal: draw again
		}
	}
	w.projected = grown(w.projected, len(ids))
	for i, id := range ids {
		w.projected[i] = projected{kernel.Dot(w.direction, p.row(int(id))), id}
	}
	middle := len(ids) / 2
	halve(w.projected, middle)
	w.marked = grown(w.marked, (p.n+63)/64) // nothing is marked between two calls
	for _, at := range w.projected[:middle] {
		w.marked[at.id>>6] |= 1 << (at.id & 63)
	}
	lower, upper := 0, w.projected[:0]
	for _, id := range ids {
		if w.marked[id>>6]>>(id&63)&1 != 0 {
			ids[lower] = id
			lower++
		} else {
			upper = append(upper, projected{id: id})
		}
	}
	for k, at := range upper {
		ids[lower+k] = at.id
	}
	for _, id := range ids[:lower] {
		w.marked[id>>6] = 0
	}
}

// before is a total order, so that equal projections have one way to be split.
func (a projected) before(b projected) bool {
	return a.value < b.value || a.value == b.value && a.id < b.id
}

// halve puts the lower count of values before the others.
func halve(values []projected, count int) {
	for len(values) > 1 {
		pivot := middle(values[0], values[len(values)/2], values[len(values)-1])
		i, j := 0, len(values)-1
		for i <= j {
			for values[i].before(pivot) {
				i++
			}
			for pivot.before(values[j]) {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		switch {
		case count <= j:
			values = values[:j+1]
		case count >= i:
			values, count = values[i:], count-i
		default:
			return
		}
	}
}

func middle(a, b, c projected) projected {
	if b.before(a) {
		a, b = b, a
	}
	if c.before(b) {
		b = c
		if b.before(a) {
			b = a
		}
	}
	return b
}

// sort splits on within a leaf, so that rows side by side are near each other down to as many as a pass takes together.
func (w *worker) sort(p *points, ids []int32, random *rand.Rand) {
	if len(ids) <= together {
		return
	}
	w.split(p, ids, random)
	w.sort(p, ids[:len(ids)/2], random)
	w.sort(p, ids[len(ids)/2:], random)
}
