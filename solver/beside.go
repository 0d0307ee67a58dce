package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// besides holds the labelled rows beside an episode, and how its items compare with them.
type besides struct {
	list     []Beside // the sets in use: of the problem, or one
	one      [1]Beside
	loose    Labelled // the problem's own Anchors
	names    []int32
	prepared *Prepared // the problem's, or own
	own      Prepared
	preparing

	nearest []float32 // n: squared distance to the nearest of them in u-space
	limits  []float32 // n: the last of an item's listed distances; -Inf for a labelled item
	plain   []float32 // n x K: squared distance to the nearest of each class in z-space
	moved   []float32 // n x K: the same in u-space
	lowered []float32 // n x K: the same, with labelled items
	toward  []float32 // n x K: sum of the products with the rows of each class in u-space
	signed  []float32 // n x directions: signed products with them, see compare
	centre  []float32 // n: product with the metric's centre
	delta   []float32 // sets x n: product with a set's delta
	back    []float32 // n: 2 / by; turns by (z - centre) into 2 (z - centre)
	lengths []float32 // n: squared lengths in u-space, the same bits in both engines

	near  *nearLists // where the nearest labelled rows of items are listed; nil: nowhere
	now   int        // first of the earlier items whose distances are remembered; n: none
	asked []int32    // items to compare
	next  remembered // by the next problem

	twists       bool      // Prepared.along is not kept
	twisted      []float32 // n x d: v with the metric applied twice
	turnedCentre []float32 // as centre and delta, in u-space
	turnedDelta  []float32

	added  []float32 // K x d: sums of the prepared rows of each class
	sums   []float32 // classes x d: of raised rows
	counts []float64
}

// takeBeside lists the problem's labelled sets, or turns its Anchors into one.
func (e *episode) takeBeside(p *Problem) {
	b := &e.beside
	b.list, b.prepared = p.Beside, p.Prepared
	if len(p.AnchorLabels) > 0 {
		b.loose.begin(p.AnchorLabels, p.K, p.D)
		for j := range p.AnchorLabels {
			Raise(b.loose.rows[j*p.D:(j+1)*p.D], p.raw(p.N+j), e.settings.Power)
		}
		b.names = vector.Resize(b.names, p.K)
		for c := range b.names {
			b.names[c] = int32(c)
		}
		b.one[0] = Beside{Labelled: &b.loose, Names: b.names}
		b.list, b.prepared = b.one[:], nil
	}
	if b.prepared == nil {
		b.prepared = &b.own
	}
	b.prepared.follow(b.list, p.K)
}

// findMean sets mu to the mean of the raised labelled rows, each class weighing the same. Rows of classes not
// in force count too, so that mu does not depend on which classes an episode leaves out.
func (e *episode) findMean(p *Problem) {
	b, d := &e.beside, e.d
	loose := len(p.AnchorLabels) > 0
	if !loose && len(b.list) == 1 && len(b.list[0].Without) == 0 && e.unlabelled == e.n {
		copy(e.mean, b.list[0].reference)
		return
	}
	classes := p.K
	for i := range b.list {
		classes += b.list[i].k
	}
	b.sums, b.counts = vector.Zeroed(b.sums, classes*d), vector.Zeroed(b.counts, classes)
	e.scratch = vector.Resize(e.scratch, d)
	for i := range e.n {
		if p.labelled(i) {
			c := int(p.Labels[i])
			Raise(e.scratch, p.raw(i), e.settings.Power)
			kernel.Axpy(1, e.scratch, b.sums[c*d:c*d+d])
			b.counts[c]++
		}
	}
	if loose {
		for j, c := range p.AnchorLabels {
			kernel.Axpy(1, b.loose.rows[j*d:j*d+d], b.sums[int(c)*d:int(c)*d+d])
			b.counts[c]++
		}
	} else {
		own := p.K
		for i := range b.list {
			b.list[i].addMean(b.sums, b.counts, own)
			own += b.list[i].k
		}
	}
	known := 0.
	for _, count := range b.counts {
		if count > 0 {
			known++
		}
	}
	clear(e.mean)
	for c, count := range b.counts {
		if count > 0 {
			kernel.Axpy(float32(1/(count*known)), b.sums[c*d:c*d+d], e.mean)
		}
	}
}

// addMean adds the set's raised rows to the sums of their classes, and their number to counts. Class c of the
// set, if it is not in force, has entry own + c.
func (b *Beside) addMean(sums []float32, counts []float64, own int) {
	d := b.d
	class := func(local int32) int {
		if c := b.Names[local]; c >= 0 {
			return int(c)
		}
		return own + int(local)
	}
	for local := range int32(b.k) {
		c := class(local)
		kernel.Axpy(1, b.sums[int(local)*d:int(local+1)*d], sums[c*d:c*d+d])
		kernel.Axpy(float32(b.counts[local]), b.reference, sums[c*d:c*d+d])
		counts[c] += b.counts[local]
	}
	for _, i := range b.Without {
		c := class(b.class[i])
		kernel.Axpy(-1, b.rows[int(i)*d:int(i+1)*d], sums[c*d:c*d+d])
		kernel.Axpy(-1, b.reference, sums[c*d:c*d+d])
		counts[c]--
	}
}

// assessDistances fills the distances of unlabelled rows to the nearest labelled rows, the episode's
// own among them.
func (e *episode) assessDistances(r *Result) {
	b, k := &e.beside, r.k
	r.Distance = vector.Zeroed(r.Distance, e.n)
	if len(b.plain) == 0 { // no labelled row is beside the episode
		b.plain = vector.Resize(b.plain, e.n*k)
		infinite(b.plain)
	}
	if r.plain = b.plain; len(e.likeness.labelled) > 0 {
		b.lowered = append(b.lowered[:0], b.plain...)
		r.plain = b.lowered
	}
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		nearest := max(0, b.nearest[p])
		for _, q := range e.likeness.labelled {
			nearest = min(nearest, e.space.squaredDistance(p, int(q)))
			at := p*k + int(e.class[e.label[q]])
			z, d := e.z, e.d
			r.plain[at] = min(r.plain[at], kernel.SquaredDistance(z[p*d:(p+1)*d], z[int(q)*d:(int(q)+1)*d]))
		}
		r.Distance[p] = float32(math.Sqrt(float64(nearest)))
	}
}

// Distances fills out with the z-space distance of each of the N rows to the nearest labelled row, without
// those of class except (-1: none): 0 for a labelled row, and 2, the largest possible distance, if there is
// no such row. Assess must be called before.
func (r *Result) Distances(out []float32, except int32) {
	for p := range out {
		if out[p] = 0; r.labelled[p] >= 0 {
			continue
		}
		nearest := float32(math.Inf(1))
		for c, square := range r.plain[p*r.k : (p+1)*r.k] {
			if int32(c) != except {
				nearest = min(nearest, square)
			}
		}
		out[p] = float32(math.Sqrt(float64(min(4, max(0, nearest)))))
	}
}

// Labelled returns the labelled rows beside the episode that were in force, in z-space, concatenated,
// and their classes.
func (r *Result) Labelled() (z []float32, classes []int32) {
	return r.beside.z(nil, false)
}
