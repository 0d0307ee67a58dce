package index

import (
	"context"
	"math/rand/v2"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// forest holds random-projection trees as orders of the rows: a tree's leaves are ranges of its order, and rows that are
// near each other tend to share one.
type forest struct {
	orders [][]int32
	leaves []span // of every tree, left to right: where rows are split depends on nothing but their number
}

// span is a range of an order.
type span struct{ from, to int }

// node is a span of a tree that is to be split.
type node struct {
	tree int
	span
}

// planes is how many levels of a tree are drawn at once, so that a row is read once for all of them.
const planes = 3

// splitting is what a worker splits in.
type splitting struct {
	directions []float32   // planes x d
	projected  []projected // of each row
	part       []uint8     // that each row goes to
	sorted     []int32
}

// projected is a row of a node, by its place there, and where it lies along each direction.
type projected struct {
	along [planes]float32
	place int32
}

// nearby is how many floats of rows stay in the second-level cache while a worker splits on within them.
const nearby = 64 << 10

// grow grows trees, numbered from first on, until every leaf holds at most block rows. Every split is drawn from the seed,
// the number of the tree and the place in it alone, so that goroutines may take them in any order. The first splits pass over
// all rows; what has become small enough for the cache, one goroutine splits to its end.
func (f *forest) grow(ctx context.Context, w *Workspace, p *points, first, trees int, o Options) error {
	f.orders, f.leaves = vector.Resize(f.orders, trees), leavesOf(f.leaves[:0], span{0, p.n})
	var level []node
	for t := range trees {
		f.orders[t] = vector.Resize(f.orders[t], p.n)
		for i := range f.orders[t] {
			f.orders[t][i] = int32(i)
		}
		level = append(level, node{t, span{0, p.n}})
	}
	for small := max(block, nearby/p.d); level[0].to-level[0].from > small; {
		levels := levelsTo(small, level[0].to-level[0].from)
		if err := parallel(ctx, o, "trees", int64(len(level)), func(number int, item int64) {
			at := level[item]
			w.workers[number].split(p, f.orders[at.tree][at.from:at.to], levels, drawFor(o, first, at))
		}); err != nil {
			return err
		}
		for range levels {
			var next []node
			for _, at := range level {
				lower, upper := at.halves()
				next = append(next, node{at.tree, lower}, node{at.tree, upper})
			}
			level = next
		}
	}
	return parallel(ctx, o, "trees", int64(len(level)), func(number int, item int64) {
		at := level[item]
		w.workers[number].finish(p, f.orders[at.tree][at.from:at.to], drawFor(o, first, at))
	})
}

// halves are where the rows of a span are when it is split.
func (s span) halves() (lower, upper span) {
	middle := (s.from + s.to) / 2
	return span{s.from, middle}, span{middle, s.to}
}

// leavesOf appends the leaves of a span.
func leavesOf(leaves []span, s span) []span {
	if s.to-s.from <= block {
		return append(leaves, s)
	}
	lower, upper := s.halves()
	return leavesOf(leavesOf(leaves, lower), upper)
}

// finish splits on, through the leaves, so that rows side by side are near each other down to as many as a pass takes
// groupSize. Parts end where the halves of the whole tree do: these are of equal size, or the upper is larger by one.
func (w *worker) finish(p *points, ids []int32, random *rand.Rand) {
	if len(ids) <= groupSize {
		return
	}
	levels := levelsTo(groupSize, len(ids))
	w.split(p, ids, levels, random)
	w.finishParts(p, ids, levels, random)
}

// finishParts finishes what a split has made of ids.
func (w *worker) finishParts(p *points, ids []int32, levels int, random *rand.Rand) {
	if levels == 0 {
		w.finish(p, ids, random)
		return
	}
	w.finishParts(p, ids[:len(ids)/2], levels-1, random)
	w.finishParts(p, ids[len(ids)/2:], levels-1, random)
}

// levelsTo is how many levels of a node of so many rows are drawn at once on the way to parts of at most least.
func levelsTo(least, rows int) int {
	levels := 1
	for levels < planes && rows>>levels > least {
		levels++
	}
	return levels
}

// drawFor is the source of randomness of a node.
func drawFor(o Options, first int, at node) *rand.Rand {
	return rand.New(rand.NewPCG(o.Seed, uint64(first+at.tree)<<56^uint64(at.from)<<28^uint64(at.to)))
}

// split orders ids so that halves, halves of halves and so on for some levels lie to either side of planes, each between two
// rows drawn from ids. Within each part they keep their order: ids that ascend are met in the order of the memory.
func (w *worker) split(p *points, ids []int32, levels int, random *rand.Rand) {
	s := &w.splitting
	s.directions = vector.Resize(s.directions, planes*p.d)
	for level := range levels {
		direction := s.directions[level*p.d : level*p.d+p.d]
		for range 4 {
			a, b := ids[random.IntN(len(ids))], ids[random.IntN(len(ids))]
			copy(direction, p.row(int(a)))
			kernel.Axpy(-1, p.row(int(b)), direction)
			if kernel.Dot(direction, direction) > 0 {
				break // else the two are equal: draw again
			}
		}
	}
	s.projected = vector.Resize(s.projected, len(ids))
	for i, id := range ids {
		p.ahead(ids, i)
		at := projected{place: int32(i)}
		for level := range levels {
			at.along[level] = kernel.Dot(s.directions[level*p.d:level*p.d+p.d], p.row(int(id)))
		}
		s.projected[i] = at
	}
	s.part, s.sorted = vector.Resize(s.part, len(ids)), vector.Resize(s.sorted, len(ids))
	var next [1 << planes]int // where the rows of each part go
	s.halves(span{0, len(ids)}, 0, levels, 0, &next)
	for i, id := range ids {
		part := s.part[i]
		s.sorted[next[part]] = id
		next[part]++
	}
	copy(ids, s.sorted)
}

// halves parts a span of the projected rows for the levels that are left, and notes where each part begins.
func (s *splitting) halves(at span, level, levels, part int, begin *[1 << planes]int) {
	if level == levels {
		begin[part] = at.from
		for _, row := range s.projected[at.from:at.to] {
			s.part[row.place] = uint8(part)
		}
		return
	}
	lower, upper := at.halves()
	halve(s.projected[at.from:at.to], lower.to-at.from, level)
	s.halves(lower, level+1, levels, 2*part, begin)
	s.halves(upper, level+1, levels, 2*part+1, begin)
}

// before is a total order, so that equal projections have one way to be split.
func (a *projected) before(b *projected, level int) bool {
	return a.along[level] < b.along[level] || a.along[level] == b.along[level] && a.place < b.place
}

// halve puts the lower count of values along a direction before the others.
func halve(values []projected, count, level int) {
	for len(values) > 1 {
		pivot := middle(values[0], values[len(values)/2], values[len(values)-1], level)
		i, j := 0, len(values)-1
		for i <= j {
			for values[i].before(&pivot, level) {
				i++
			}
			for pivot.before(&values[j], level) {
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

func middle(a, b, c projected, level int) projected {
	if b.before(&a, level) {
		a, b = b, a
	}
	if c.before(&b, level) {
		b = c
		if b.before(&a, level) {
			b = a
		}
	}
	return b
}
