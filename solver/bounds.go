package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// bounds avoid the products of most rows of a sparse S with most prototypes, as Hamerly's bounds do for
// k-means. For a row that was compared with all prototypes they keep an upper bound of the scores, without
// the neighbours' part, of the classes that it does not keep. While that is too low for any of these classes
// to be kept, only the classes that the row or a neighbour keeps are scored, mostly one. Prototypes that
// moved far since the last sweep, the movers, are scored for every row; drift bounds how far the others can
// have changed a score.
//
// Skipping a class cannot raise R, even if a bound is wrong: the classes that are scored include those that
// the row kept, and the softmax over them is the minimiser of R on them.
type bounds struct {
	outside []float32 // n: that bound less drift at the time; +Inf: the row must be compared with all
	drift   float64   // bound of how far scores of classes that were not movers moved in this descent
	base    []float32 // k: episode.base of the last sweep
	longest float64   // the length of the longest row
	on, off bool      // off: never on, for tests
	near    bool      // whether any row may be updated from few classes in this sweep

	// A row is skipped if its neighbours keep their s, its own classes keep their scores, and outside is
	// below its floor.
	floor   []float32 // n: score, without neighbours, above which a further class is kept
	since   []float32 // n: sum of travelled over the kept classes when the row was last scored
	changed []uint8   // n: last sweep, modulo 256, that changed the row's s
	sweep   uint8

	movers     []int32   // classes that moved farther than farMove since the last sweep
	position   []int32   // k: index in movers, -1: not a mover
	travelled  []float64 // k: bound of how far the scores of each class moved in this descent
	prototypes []float32 // movers x d
	shared     []float32 // movers: their base
}

const (
	farMove  = 1. / 16 // in score; a few sweeps of such moves do not change which classes are kept
	farShare = .5      // with more movers than this share of the classes, rows are compared with all
)

// enter prepares the bounds for a descent. They are off with evidence, which scores every class; with
// negative weights, under which a class can score higher once a neighbour drops it; and if S is recomputed at
// each prototype step.
func (b *bounds) enter(e *episode) {
	forgets := e.settings.Paper.ResetAssignments
	b.on = e.s.sparse() && e.lambda > 0 && e.blocks.Rows == 0 && e.graph.evidence == nil && !forgets && !b.off
	if !b.on {
		return
	}
	for _, w := range e.graph.Weights {
		if w < 0 {
			b.on = false
			return
		}
	}
	b.outside, b.base, b.drift, b.longest = vector.Resize(b.outside, e.n), vector.Zeroed(b.base, e.k), 0, 0
	b.position, b.travelled = vector.Resize(b.position, e.k), vector.Zeroed(b.travelled, e.k)
	b.floor, b.since = vector.Resize(b.floor, e.n), vector.Resize(b.since, e.n)
	b.changed, b.sweep = vector.Zeroed(b.changed, e.n), 0
	for p := range b.outside {
		b.outside[p], b.floor[p] = float32(math.Inf(1)), float32(math.Inf(-1))
	}
	for _, v := range e.own {
		b.longest = max(b.longest, math.Sqrt(float64(v)))
	}
}

// follow records how far the prototypes and the shared part of the scores have moved since the last sweep.
func (b *bounds) follow(e *episode) {
	if !b.on {
		return
	}
	slope := 2 * e.tau * b.longest
	if e.modes { // the steepest slope of a kernel
		slope = e.kappa * math.Exp(-.5) / math.Sqrt(e.sigma2)
	}
	b.movers, b.prototypes, b.shared = b.movers[:0], b.prototypes[:0], b.shared[:0]
	var farthest float64
	for c := range e.k {
		b.position[c] = -1
		moved := slope*e.direct.moved(c) + math.Abs(float64(e.base[c]-b.base[c]))
		b.travelled[c] += moved
		if moved > farMove && !e.modes {
			b.position[c] = int32(len(b.movers))
			b.movers = append(b.movers, int32(c))
			b.prototypes = append(b.prototypes, e.direct.c[c*e.d:(c+1)*e.d]...)
			b.shared = append(b.shared, e.base[c])
			continue
		}
		farthest = max(farthest, moved)
	}
	copy(b.base, e.base)
	b.drift += farthest
	b.sweep++
	b.near = float64(len(b.movers)) <= farShare*float64(e.k)
}

// scores returns the listed rows' scores for the movers, without neighbours.
func (b *bounds) scores(e *episode, w *worker, listed []int32) []float32 {
	m := len(b.movers)
	if m == 0 {
		return nil
	}
	out := w.scores[:len(listed)*m]
	kernel.Products(out, e.direct.listed(w, listed), b.prototypes, len(listed), m, e.d)
	kernel.Scale(float32(2*e.tau), out)
	for at := 0; at < len(out); at += m {
		kernel.Axpy(1, b.shared, out[at:at+m])
	}
	return out
}

// mostNear bounds the classes that updateNear scores. To compare a row with more of them one by one costs as
// much as to compare a tile with all.
const mostNear = 12

// fewShare is the least share at which a neighbour's class is scored. The effect of smaller shares on other
// classes is bounded by their sum.
const fewShare = 1. / 32

// nearby is the workspace of updateNear.
type nearby struct {
	position []uint8 // k: index in classes plus 1; 0 outside a call
	count    int
	classes  [mostNear]int32
	sums     [mostNear]float32 // lambda (W S)_p, then scores
	rest     float32           // the sum of lambda (W S)_p over all other classes
}

func (b *nearby) size(k int) {
	b.position, b.count = vector.Zeroed(b.position, k), 0
}

// addClass adds a class to classes and says whether there was room.
func (b *nearby) addClass(class int32) bool {
	if b.position[class] > 0 {
		return true
	}
	if b.count == mostNear {
		return false
	}
	b.classes[b.count], b.sums[b.count] = class, 0
	b.count++
	b.position[class] = uint8(b.count)
	return true
}

// add adds v to the sum of a class, or to rest if the class is not in classes.
func (b *nearby) add(class int32, v float32) {
	if at := b.position[class]; at > 0 {
		b.sums[at-1] += v
	} else {
		b.rest += v
	}
}

// gather sums lambda (W S)_p over the classes that row p or a neighbour keeps, ascending. It returns false if
// there are more than mostNear.
func (b *nearby) gather(e *episode, p int) bool {
	b.count, b.rest = 0, 0
	room := b.find(e, p)
	if room {
		b.sum(e, p)
	}
	for _, class := range b.classes[:b.count] {
		b.position[class] = 0
	}
	for i := 1; i < b.count; i++ {
		class, sum := b.classes[i], b.sums[i]
		at := i
		for ; at > 0 && b.classes[at-1] > class; at-- {
			b.classes[at], b.sums[at] = b.classes[at-1], b.sums[at-1]
		}
		b.classes[at], b.sums[at] = class, sum
	}
	return room
}

// find collects the classes. It returns false if there are more than mostNear.
func (b *nearby) find(e *episode, p int) bool {
	for _, v := range e.s.elements(p) {
		if !b.addClass(v.class) {
			return false
		}
	}
	columns, _ := e.graph.Row(p)
	for _, q := range columns {
		if int(q) >= e.n {
			if !b.addClass(e.label[q]) {
				return false
			}
			continue
		}
		for _, v := range e.s.elements(int(q)) {
			if v.value >= fewShare && !b.addClass(v.class) {
				return false
			}
		}
	}
	return true
}

// sum adds up lambda (W S)_p for the classes.
func (b *nearby) sum(e *episode, p int) {
	columns, weights := e.graph.Row(p)
	lambda := float32(e.lambda)
	for j, q := range columns {
		w := lambda * weights[j]
		if int(q) >= e.n {
			b.add(e.label[q], w)
			continue
		}
		for _, v := range e.s.elements(int(q)) {
			b.add(v.class, w*v.value)
		}
	}
}

// updateNear updates row p from the classes that it or a neighbour keeps and returns the L1 change of its s.
// movers holds the row's scores for the movers and is overwritten. done is false if another class may have
// to be kept.
func (e *episode) updateNear(w *worker, p int, movers []float32) (change float64, done bool) {
	bound, drift, near := &e.bounds, float32(e.bounds.drift), &w.nearby
	outside := bound.outside[p] + drift
	if outside > math.MaxFloat32 || !near.gather(e, p) {
		return 0, false
	}
	classes, scores := near.classes[:near.count], near.sums[:near.count]
	for i, c := range classes {
		scores[i] += e.score(p, int(c))
	}
	before := e.s.elements(p)
	kept := w.choice.keep(classes, scores, before)
	outside = max(outside, bound.farthest(movers, kept, &w.choice))
	if outside > w.choice.threshold(len(kept))-near.rest {
		return 0, false
	}
	kept, change = w.choice.settle(kept, before)
	bound.outside[p] = max(outside, w.choice.left) - drift
	change = e.replaceSparse(p, kept, change)
	bound.record(p, kept, w.choice.threshold(len(kept))-near.rest)
	return change, true
}

// farthest returns the largest score of a mover that is not kept, -Inf if there is none. It overwrites the
// scores of those kept.
func (b *bounds) farthest(movers []float32, kept []element, c *choice) float32 {
	if len(movers) == 0 {
		return float32(math.Inf(-1))
	}
	for _, v := range kept {
		if at := b.position[v.class]; at >= 0 {
			movers[at] = float32(math.Inf(-1))
		}
	}
	return c.groups(movers) / -2
}

// record records the floor of row p and how far its classes have travelled.
func (b *bounds) record(p int, kept []element, floor float32) {
	b.floor[p], b.since[p] = floor, b.sum(kept)
}

// sum returns the sum of travelled over the classes of a row.
func (b *bounds) sum(kept []element) float32 {
	var sum float64
	for _, v := range kept {
		sum += b.travelled[v.class]
	}
	return float32(sum)
}

// stands says whether row p, given its scores for the movers, would keep its s if it were updated: nothing it
// depends on has changed so much that its s would move by more than still.
func (e *episode) stands(p int, movers []float32, c *choice) bool {
	b, kept := &e.bounds, e.s.elements(p)
	moved := b.sum(kept) - b.since[p]
	if len(kept) > 1 && moved > c.still {
		return false
	}
	outside, drift := b.outside[p], float32(b.drift)
	if outside+drift > b.floor[p]-moved {
		return false
	}
	columns, _ := e.graph.Row(p)
	for _, q := range columns {
		if int(q) < e.n && b.sweep-b.changed[q] <= 1 { // changed in this sweep, or in the last one, perhaps after p
			return false
		}
	}
	if far := b.farthest(movers, kept, c); far > outside+drift {
		if far > b.floor[p]-moved {
			return false
		}
		b.outside[p] = far - drift
	}
	return true
}

// score returns the score of a row for a class, without neighbours.
func (e *episode) score(p, c int) float32 {
	dot := e.space.dot(p, c)
	if !e.modes {
		return float32(2*e.tau)*dot + e.base[c]
	}
	near := math.Exp(float64(max(0, e.own[p]-2*dot+float32(e.length[c]))) / (-2 * e.sigma2))
	return float32(e.kappa*near) + e.base[c]
}

// bound records, from the scores of row p for all classes, the largest score of the classes that it does not
// keep. It overwrites the scores of those kept.
func (b *bounds) bound(p int, scores []float32, kept []element, c *choice) {
	for _, v := range kept {
		scores[v.class] = float32(math.Inf(-1))
	}
	b.outside[p] = c.groups(scores)/-2 - float32(b.drift)
	b.record(p, kept, c.threshold(len(kept)))
}
