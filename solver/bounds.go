package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// bounds spare the products of most rows of a sparse S with most prototypes, as Hamerly's do for k-means. A
// row that was compared with all of them remembers the largest score, its neighbours apart, of the classes
// that it does not keep. While that is too low for any of these to be kept, only the classes that the row or
// a neighbour of it keeps are looked at: mostly one. Prototypes that have moved far since the sweep before
// are looked at by every row; what the others may have moved a score adds to the drift of all.
//
// What is left out by a bound cannot raise R, even where the bound is wrong: the classes that are looked at
// hold those that the row had, and the softmax over them is the minimiser of R on them.
type bounds struct {
	outside []float32 // n: the score less drift as it was then; +Inf: the row must be compared with all
	drift   float64   // how far, at most, scores of classes that were no movers have moved in this descent
	base    []float32 // k: of the sweep before
	longest float64   // the length of the longest row
	on, off bool      // off: never on, for tests to compare
	near    bool      // whether any row may be updated from few classes in this sweep

	// A row whose neighbours keep their s, and whose own classes keep their scores, is not looked at at all
	// while outside is below its floor.
	floor   []float32 // n: what a class must score, its neighbours apart, to be kept too
	since   []float32 // n: the sum of travelled over the classes kept, when the row was looked at last
	changed []uint8   // n: the last sweep, modulo 256, that changed the s of a row
	sweep   uint8

	movers     []int32   // classes that have moved farther than farMove
	position   []int32   // k: where among movers, -1: no mover
	travelled  []float64 // k: how far, at most, the scores of each class have moved in this descent
	prototypes []float32 // movers x d
	shared     []float32 // movers: their base
}

const (
	farMove  = 1. / 16 // in score; a few sweeps of such moves do not change what counts
	farShare = .5      // with more movers than this share of the classes, every row is compared with all
)

// enter readies the bounds for a descent. There are none with evidence, which speaks of every class, with
// weights below zero, which hide how near a class is that no neighbour keeps any more, and where S is
// forgotten on the way.
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

// follow notes what the prototypes and the shared part of the scores have moved since the sweep before.
func (b *bounds) follow(e *episode) {
	if !b.on {
		return
	}
	slope := 2 * e.tau * b.longest
	if e.modes { // the steepest that a kernel gets
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

// scores are those of the listed rows for the movers, their neighbours apart.
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

// mostNear is how many classes updateNear looks at. Comparing a row with more one by one costs what comparing
// a tile with all costs.
const mostNear = 12

// fewShare is what a neighbour's share must be for its class to be looked at. What smaller shares say of
// other classes is bounded by their sum.
const fewShare = 1. / 32

// nearby is what updateNear works in.
type nearby struct {
	position []uint8 // k: where in classes, plus 1; 0 outside a call
	count    int
	classes  [mostNear]int32
	sums     [mostNear]float32 // lambda (W S)_p, then scores
	rest     float32           // the sum of lambda (W S)_p over all other classes
}

func (b *nearby) size(k int) {
	b.position, b.count = vector.Zeroed(b.position, k), 0
}

// look makes a class one that is looked at and says whether there was room.
func (b *nearby) look(class int32) bool {
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

// add adds to the sum of a class.
func (b *nearby) add(class int32, v float32) {
	if at := b.position[class]; at > 0 {
		b.sums[at-1] += v
	} else {
		b.rest += v
	}
}

// gather sums what the neighbours of row p say of the classes that it or one of them keeps, ascending. It is
// false where these are too many.
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

// find looks for the classes.
func (b *nearby) find(e *episode, p int) bool {
	for _, v := range e.s.elements(p) {
		if !b.look(v.class) {
			return false
		}
	}
	columns, _ := e.graph.Row(p)
	for _, q := range columns {
		if int(q) >= e.n {
			if !b.look(e.label[q]) {
				return false
			}
			continue
		}
		for _, v := range e.s.elements(int(q)) {
			if v.value >= fewShare && !b.look(v.class) {
				return false
			}
		}
	}
	return true
}

// sum adds up what is said of them.
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

// updateNear updates row p from the classes that it or a neighbour keeps, given its scores for the movers,
// which it spoils, and returns the L1 change of its s. It is false where others may count.
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
	change = e.replaceSparse(p, before, kept, change)
	bound.look(p, kept, w.choice.threshold(len(kept))-near.rest)
	return change, true
}

// farthest is the largest score of a mover that is not kept. It spoils those of the kept.
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

// look notes what was seen of row p when it was looked at.
func (b *bounds) look(p int, kept []element, floor float32) {
	b.floor[p], b.since[p] = floor, b.sum(kept)
}

// sum is how far the classes of a row have travelled together.
func (b *bounds) sum(kept []element) float32 {
	var sum float64
	for _, v := range kept {
		sum += b.travelled[v.class]
	}
	return float32(sum)
}

// stands says that row p, given its scores for the movers, would keep its s if it were looked at: nothing
// that it depends on has changed since that would move its s by more than still.
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
		if int(q) < e.n && b.sweep-b.changed[q] <= 1 { // in this sweep, or in the last, maybe after p
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

// score is what a row scores for a class, its neighbours apart.
func (e *episode) score(p, c int) float32 {
	dot := e.space.dot(p, c)
	if !e.modes {
		return float32(2*e.tau)*dot + e.base[c]
	}
	near := math.Exp(float64(max(0, e.own[p]-2*dot+float32(e.length[c]))) / (-2 * e.sigma2))
	return float32(e.kappa*near) + e.base[c]
}

// bound notes what no class outside the kept ones of row p scores more than, from the scores of all, of which
// it spoils those of the kept.
func (b *bounds) bound(p int, scores []float32, kept []element, c *choice) {
	for _, v := range kept {
		scores[v.class] = float32(math.Inf(-1))
	}
	b.outside[p] = c.groups(scores)/-2 - float32(b.drift)
	b.look(p, kept, c.threshold(len(kept)))
}
