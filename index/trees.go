package index

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// forest holds trees as orders of the rows: a tree's leaves are ranges of its order, and near rows tend to
// share one. A node with many rows draws leaders among them, and each row joins the nearest: the borders
// between leaders follow the rows, where a plane through the middle of all would separate near ones. Within
// the leaves of an order that a pass follows, planes order the rows.
type forest struct {
	orders [][]int32
	leaves [][]span // of each tree, left to right
}

// span is a range of an order.
type span struct{ from, to int }

const (
	mostLeaders = block // of a node
	company     = 80    // mean rows of a leader, at least: few then have more than a leaf holds
	lopsided    = .75   // share of a node's rows above which one leader's rows are split by a plane instead
)

// planes is the number of levels of a tree that are drawn at once, so that a row is read once for
// all of them.
const planes = 3

// splitting is a worker's memory for splits.
type splitting struct {
	directions []float32   // planes x d
	projected  []projected // of each row
	part       []uint8     // of each row
	sorted     []int32
	leaders    leaders
}

// leaders are the rows by which a node is divided.
type leaders struct {
	rows, norms []float32
	part        []uint8 // of each row of the node: its leader
}

// projected is a row of a node, by its position there, with its product with each direction.
type projected struct {
	along    [planes]float32
	position int32
}

// grow grows trees, numbered from first on, until every leaf holds at most block rows. All random numbers depend
// only on the seed, the number of the tree and the position in it, so that goroutines may take parts in any order.
func (f *forest) grow(ctx context.Context, w *Workspace, p *points, first, trees int, o Options) error {
	f.orders, f.leaves = vector.Resize(f.orders, trees), vector.Resize(f.leaves, trees)
	var l leaders
	sorted := make([]int32, p.n)
	for t := range trees {
		order := vector.Resize(f.orders[t], p.n)
		f.orders[t] = order
		for i := range order {
			order[i] = int32(i)
		}
		l.draw(p, order, drawFor(o.Seed, first+t, span{0, p.n}))
		if err := eachSpan(ctx, o, "trees", p.n, block, func(number int, at span) {
			w.workers[number].nearest(p.rows[at.from*p.d:at.to*p.d], &l, l.part[at.from:at.to])
		}); err != nil {
			return err
		}
		parts := l.sort(order, sorted)
		leaves := make([][]span, len(parts))
		if err := inParallel(ctx, o, "trees", len(parts), func(number, item int) {
			at, worker := parts[item], w.workers[number]
			random := drawFor(o.Seed, first+t, at)
			leaves[item] = worker.carve(p, order, at, len(parts) == 1, random, nil)
		}); err != nil {
			return err
		}
		f.leaves[t] = slices.Concat(leaves...)
	}
	return nil
}

// order orders the rows within the leaves of tree t, which has this number.
func (f *forest) order(ctx context.Context, w *Workspace, p *points, t, number int, o Options) error {
	return inParallel(ctx, o, "trees", len(f.leaves[t]), func(worker, item int) {
		leaf := f.leaves[t][item]
		w.workers[worker].finish(p, f.orders[t][leaf.from:leaf.to], drawFor(^o.Seed, number, leaf))
	})
}

// draw draws leaders of a node.
func (l *leaders) draw(p *points, ids []int32, random *rand.Rand) {
	count := max(2, min(mostLeaders, len(ids)/company))
	l.rows, l.norms = vector.Resize(l.rows, count*p.d), vector.Resize(l.norms, count)
	for c := range count {
		id := int(ids[random.IntN(len(ids))])
		copy(l.rows[c*p.d:c*p.d+p.d], p.row(id))
		l.norms[c] = p.norms[id]
	}
	l.part = vector.Resize(l.part, len(ids))
}

// follow finds the nearest leader of each row that ids names.
func (w *worker) follow(p *points, ids []int32, l *leaders, part []uint8) {
	for from := 0; from < len(ids); from += block {
		some := ids[from:min(from+block, len(ids))]
		w.gather(p, some)
		w.nearest(w.rows, l, part[from:from+len(some)])
	}
}

// nearest finds the nearest leader of each of at most block rows, the first of equals.
func (w *worker) nearest(rows []float32, l *leaders, part []uint8) {
	count := len(l.norms)
	kernel.Products(w.products, rows, l.rows, len(part), count, len(l.rows)/count)
	for i := range part {
		products := w.products[i*count : (i+1)*count]
		minima := (*[kernel.Groups]float32)(w.minima)
		for g := range minima {
			minima[g] = infinity
		}
		kernel.GroupMinima(minima, l.norms, products)
		least := minima[0]
		for _, v := range minima[1:] { // none is NaN
			if v < least {
				least = v
			}
		}
		kernel.Below(w.positions, l.norms, products, least)
		part[i] = uint8(w.positions[0])
	}
}

// sort groups the rows of a node by leader, keeping their order, and returns the span of each leader
// that has any.
func (l *leaders) sort(ids, sorted []int32) (parts []span) {
	var next [mostLeaders]int
	for _, c := range l.part {
		next[c]++
	}
	at := 0
	for c, count := range next {
		next[c] = at
		if count > 0 {
			parts = append(parts, span{at, at + count})
		}
		at += count
	}
	for i, id := range ids {
		c := l.part[i]
		sorted[next[c]] = id
		next[c]++
	}
	copy(ids, sorted)
	return parts
}

// carve divides a span of an order until its parts are leaves, which it appends. halved: leaders did not
// divide it well, for example because rows are equal, and a plane halves it.
func (w *worker) carve(p *points, order []int32, at span, halved bool, random *rand.Rand, leaves []span) []span {
	ids := order[at.from:at.to]
	if len(ids) <= block {
		return append(leaves, at)
	}
	if halved {
		w.split(p, ids, 1, random)
		lower, upper := at.halves()
		leaves = w.carve(p, order, lower, false, random, leaves)
		return w.carve(p, order, upper, false, random, leaves)
	}
	l := &w.splitting.leaders
	l.draw(p, ids, random)
	w.follow(p, ids, l, l.part)
	w.splitting.sorted = vector.Resize(w.splitting.sorted, len(ids))
	for _, part := range l.sort(ids, w.splitting.sorted) {
		most := float64(part.to-part.from) > lopsided*float64(len(ids))
		part.from, part.to = part.from+at.from, part.to+at.from
		leaves = w.carve(p, order, part, most, random, leaves)
	}
	return leaves
}

// halves returns the spans of the two halves of a span.
func (s span) halves() (lower, upper span) {
	middle := (s.from + s.to) / 2
	return span{s.from, middle}, span{middle, s.to}
}

// finish splits leaves further, so that adjacent rows are near each other, down to at most groupSize rows,
// which a pass compares at once: halves are of equal size, or the upper is larger by one.
func (w *worker) finish(p *points, ids []int32, random *rand.Rand) {
	if len(ids) <= groupSize {
		return
	}
	levels := levelsTo(groupSize, len(ids))
	w.split(p, ids, levels, random)
	w.finishParts(p, ids, levels, random)
}

// finishParts finishes the parts of ids that a split has made.
func (w *worker) finishParts(p *points, ids []int32, levels int, random *rand.Rand) {
	if levels == 0 {
		w.finish(p, ids, random)
		return
	}
	w.finishParts(p, ids[:len(ids)/2], levels-1, random)
	w.finishParts(p, ids[len(ids)/2:], levels-1, random)
}

// levelsTo returns the number of levels that a node of rows is split by at once, on the way to parts of
// at most least.
func levelsTo(least, rows int) int {
	levels := 1
	for levels < planes && rows>>levels > least {
		levels++
	}
	return levels
}

// drawFor returns the source of randomness of a node: a span of a tree.
func drawFor(seed uint64, tree int, at span) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(tree)<<56^uint64(at.from)<<28^uint64(at.to)))
}

// split orders ids so that halves, halves of halves and so on for some levels are on either side of planes,
// each between two rows drawn from ids. Rows keep their order within each part: ascending ids are read in the
// order of memory.
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
				break // otherwise the two are equal: draw again
			}
		}
	}
	s.projected = vector.Resize(s.projected, len(ids))
	for i, id := range ids {
		p.ahead(ids, i)
		at := projected{position: int32(i)}
		for level := range levels {
			at.along[level] = kernel.Dot(s.directions[level*p.d:level*p.d+p.d], p.row(int(id)))
		}
		s.projected[i] = at
	}
	s.part, s.sorted = vector.Resize(s.part, len(ids)), vector.Resize(s.sorted, len(ids))
	var next [1 << planes]int // index of the next row of each part
	s.halves(span{0, len(ids)}, 0, levels, 0, &next)
	for i, id := range ids {
		part := s.part[i]
		s.sorted[next[part]] = id
		next[part]++
	}
	copy(ids, s.sorted)
}

// halves divides a span of the projected rows for the remaining levels, and records where each part begins.
func (s *splitting) halves(at span, level, levels, part int, begin *[1 << planes]int) {
	if level == levels {
		begin[part] = at.from
		for _, row := range s.projected[at.from:at.to] {
			s.part[row.position] = uint8(part)
		}
		return
	}
	lower, upper := at.halves()
	halve(s.projected[at.from:at.to], lower.to-at.from, level)
	s.halves(lower, level+1, levels, 2*part, begin)
	s.halves(upper, level+1, levels, 2*part+1, begin)
}

// before is a total order, so that equal projections are split in one way only.
func (a *projected) before(b *projected, level int) bool {
	return a.along[level] < b.along[level] || a.along[level] == b.along[level] && a.position < b.position
}

// halve moves the count lowest values along a direction before the others.
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
