package solver

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// exampleWork holds the examples, and how its items compare with them.
type exampleWork struct {
	list  []ExampleSet // the sets in use: of the problem, or one
	one   [1]ExampleSet
	loose Examples // the problem's examples that are not prepared
	names []int32
	cache *ExampleCache // the problem's, or own
	own   ExampleCache
	prepareWork

	nearest     []float32 // n: squared distance to the nearest of them in u-space
	limits      []float32 // n: the last of an item's listed distances; -Inf for a labelled item
	nearestZ    []float32 // n x K: squared distance to the nearest of each class in z-space
	nearestU    []float32 // n x K: the same in u-space
	nearestZAll []float32 // n x K: nearestZ, with the labelled rows of the episode
	productsU   []float32 // n x K: sum of the products with the rows of each class in u-space
	signed      []float32 // n x directions: signed products with them, see compare
	centre      []float32 // n: product with the metric's centre
	delta       []float32 // sets x n: product with a set's delta
	back        []float32 // n: 2 / by; turns by (z - centre) into 2 (z - centre)
	lengths     []float32 // n: squared lengths in u-space, the same bits in both engines

	near  *nearLists // where the nearest labelled rows of items are listed; nil: nowhere
	now   int        // first of the earlier items whose distances are remembered; n: none
	asked []int32    // items to compare
	next  remembered // by the next problem

	twists       bool      // ExampleCache.along is not kept
	twisted      []float32 // n x d: v with the metric applied twice
	turnedCentre []float32 // as centre and delta, in u-space
	turnedDelta  []float32

	added  []float32 // K x d: sums of the prepared rows of each class
	sums   []float32 // classes x d: of raised rows
	counts []float64
}

// takeSets lists the problem's labelled sets, or turns its examples into one.
func (e *episode) takeSets(p *Problem) {
	b, x, d := &e.examples, &p.Examples, p.Rows.D()
	b.list, b.cache = x.sets, x.cache
	if len(x.labels) > 0 {
		b.loose.begin(x.labels, p.K, d)
		for j := range x.labels {
			Raise(b.loose.rows[j*d:(j+1)*d], x.rows.row(j), e.settings.Power)
		}
		b.names = vector.Resize(b.names, p.K)
		for c := range b.names {
			b.names[c] = int32(c)
		}
		b.one[0] = ExampleSet{Examples: &b.loose, Names: b.names}
		b.list = b.one[:]
	}
	if b.cache == nil {
		b.cache = &b.own
	}
	b.cache.follow(b.list, p.K)
}

// findMean sets mu to the mean of the raised labelled rows, each class weighing the same. Rows of classes not
// in force count too, so that mu does not depend on which classes an episode leaves out.
func (e *episode) findMean(p *Problem) {
	b, d := &e.examples, e.rows.d
	loose := len(p.Examples.labels) > 0
	if !loose && len(b.list) == 1 && len(b.list[0].Without) == 0 && e.rows.unlabelled == e.rows.n {
		copy(e.rows.mean, b.list[0].reference)
		return
	}
	classes := p.K
	for i := range b.list {
		classes += b.list[i].k
	}
	b.sums, b.counts = vector.Zeroed(b.sums, classes*d), vector.Zeroed(b.counts, classes)
	e.scratch.values = vector.Resize(e.scratch.values, d)
	for i := range e.rows.n {
		if p.labelled(i) {
			c := int(p.Labels[i])
			Raise(e.scratch.values, p.raw(i), e.settings.Power)
			kernel.Axpy(1, e.scratch.values, b.sums[c*d:c*d+d])
			b.counts[c]++
		}
	}
	if loose {
		for j, c := range p.Examples.labels {
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
	clear(e.rows.mean)
	for c, count := range b.counts {
		if count > 0 {
			kernel.Axpy(float32(1/(count*known)), b.sums[c*d:c*d+d], e.rows.mean)
		}
	}
}

// addMean adds the set's raised rows to the sums of their classes, and their number to counts. Class c of the
// set, if it is not in force, has entry own + c.
func (b *ExampleSet) addMean(sums []float32, counts []float64, own int) {
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
	b, k := &e.examples, len(e.classes.number)
	r.Distance = vector.Zeroed(r.Distance, e.rows.n)
	if len(b.nearestZ) == 0 { // there is no example
		b.nearestZ = vector.Resize(b.nearestZ, e.rows.n*k)
		infinite(b.nearestZ)
	}
	if r.nearestZ = b.nearestZ; len(e.likeness.labelled) > 0 {
		b.nearestZAll = append(b.nearestZAll[:0], b.nearestZ...)
		r.nearestZ = b.nearestZAll
	}
	for p := range e.rows.n {
		if e.rows.label[p] >= 0 {
			continue
		}
		nearest := max(0, b.nearest[p])
		for _, q := range e.likeness.labelled {
			nearest = min(nearest, e.prototypes.space.squaredDistance(p, int(q)))
			at := p*k + int(e.classes.active[e.rows.label[q]])
			z, d := e.rows.z, e.rows.d
			r.nearestZ[at] = min(r.nearestZ[at], kernel.SquaredDistance(z[p*d:(p+1)*d], z[int(q)*d:(int(q)+1)*d]))
		}
		r.Distance[p] = float32(math.Sqrt(float64(nearest)))
	}
}

// Examples are a set of labelled rows outside of episodes, raised to the power and centred once for all
// problems that use them. They are immutable: any number of solvers may read them concurrently.
type Examples struct {
	id        uint64 // unique in this process
	d, k      int
	rows      []float32 // n x d: raised, less the reference
	reference []float32 // d: subtracted; the mean of the raised rows, each class weighing the same, or mu
	squares   []float32 // n: |row|^2
	class     []int32   // n
	counts    []float64 // k
	sums      []float32 // k x d, of rows
}

// NewExamples prepares rows of dimension d, each of one of the classes 0 to k-1, for solvers with this power.
func NewExamples(rows [][]float32, classes []int32, k, d int, power float64) (*Examples, error) {
	if k < 0 || d < 0 || len(classes) != len(rows) {
		return nil, fmt.Errorf("labelled rows: %d rows of dimension %d and %d labels of %d classes",
			len(rows), d, len(classes), k)
	}
	l := new(Examples)
	l.begin(classes, k, d)
	for i, row := range rows {
		if c := classes[i]; c < 0 || int(c) >= k {
			return nil, fmt.Errorf("labelled row %d: label %d is not one of %d classes", i, c, k)
		}
		if len(row) != d {
			return nil, fmt.Errorf("labelled row %d: dimension %d, not %d", i, len(row), d)
		}
		Raise(l.rows[i*d:i*d+d], row, power)
		if j := vector.NotFinite(l.rows[i*d : i*d+d]); j >= 0 {
			return nil, fmt.Errorf("labelled row %d: value %g at %d is not finite when raised to the power %g",
				i, row[j], j, power)
		}
	}
	classMean(l.reference, l.rows, l.class, vector.Zeroed(l.counts, k))
	l.centre(l.reference)
	return l, nil
}

var lastExamples atomic.Uint64

// Len returns the number of rows, Classes the class of each. The caller must not change them.
func (l *Examples) Len() int         { return len(l.class) }
func (l *Examples) Classes() []int32 { return l.class }

// begin makes room for rows. The caller fills in raised rows, then calls centre.
func (l *Examples) begin(classes []int32, k, d int) {
	l.id, l.d, l.k = lastExamples.Add(1), d, k
	l.class = append(l.class[:0], classes...)
	l.rows, l.reference = vector.Resize(l.rows, len(classes)*d), vector.Resize(l.reference, d)
	l.squares, l.counts = vector.Resize(l.squares, len(classes)), vector.Zeroed(l.counts, k)
	l.sums = vector.Zeroed(l.sums, k*d)
}

// centre subtracts reference from the raised rows and sums up the differences by class.
func (l *Examples) centre(reference []float32) {
	copy(l.reference, reference)
	clear(l.counts)
	clear(l.sums)
	for i, c := range l.class {
		row := l.rows[i*l.d : i*l.d+l.d]
		kernel.Axpy(-1, l.reference, row)
		l.squares[i] = kernel.Dot(row, row)
		if c >= 0 {
			l.counts[c]++
			kernel.Axpy(1, row, l.sums[int(c)*l.d:int(c)*l.d+l.d])
		}
	}
}

// ExampleSet is Examples as one problem uses them. Its rows are examples of the problem, in their order.
type ExampleSet struct {
	*Examples
	Names   []int32 // the problem's class of each class of the set; -1: its rows count in the mean only
	Without []int32 // rows that do not count at all, ascending
}

// rememberedFrom is the number of labelled rows from which it costs more to compare an earlier row with them
// again than to remember how far it is from them.
const rememberedFrom = 128

// remembered are the distances of earlier rows from the examples, for the next one.
type remembered struct {
	sums      []uint64  // of each earlier row in z-space: equal rows have equal sums
	nearestZ  []float32 // rows x K: squared distance to the nearest labelled row of each class in z-space
	nearestU  []float32 // rows x K: the same in u-space
	productsU []float32 // rows x K: sums of products with the labelled rows of each class
	lists     nearLists // the nearest labelled rows, counted from 0
}

func (m *remembered) reset(n, k, rho int) {
	m.nearestZ, m.productsU = vector.Resize(m.nearestZ, n*k), vector.Resize(m.productsU, n*k)
	m.sums, m.nearestU = vector.Resize(m.sums, n), vector.Resize(m.nearestU, n*k)
	m.lists.reset(n, rho)
}

// forget empties m.
func (m *remembered) forget() { m.sums = m.sums[:0] }

// bytes returns the memory that m holds.
func (m *remembered) bytes() int {
	return 8*cap(m.sums) + 4*(cap(m.nearestU)+cap(m.nearestZ)+cap(m.productsU)+cap(m.lists.IDs)+cap(m.lists.squares))
}

// copy makes m a copy of other.
func (m *remembered) copy(other *remembered) {
	n := len(other.sums)
	m.reset(n, len(other.productsU)/max(1, n), other.lists.Rho)
	copy(m.sums, other.sums)
	copy(m.nearestU, other.nearestU)
	copy(m.productsU, other.productsU)
	copy(m.nearestZ, other.nearestZ)
	copy(m.lists.IDs, other.lists.IDs)
	copy(m.lists.squares, other.lists.squares)
}

// remembers says whether the distances of the problem's earlier rows are remembered.
func (e *episode) remembers(p *Problem, lists *nearLists) bool {
	cache := p.Examples.cache
	return lists != nil && p.Earlier > 0 && cache != nil && len(cache.label) >= rememberedFrom &&
		!slices.ContainsFunc(e.rows.label[e.rows.n-p.Earlier:e.rows.n], func(y int32) bool { return y >= 0 })
}

// recall takes the distances of earlier items that were so in the problem before too, and asks to compare the
// others: of that problem's own items a stream may have dropped some bits since.
func (e *episode) recall() {
	b, d, k, rho := &e.examples, e.rows.d, e.examples.cache.k, e.examples.near.Rho
	before, next := &b.cache.remembered, &b.next
	if before.lists.Rho != rho {
		before.forget()
	}
	next.reset(e.rows.n-b.now, k, rho)
	expected := 0 // where the next row is at the earliest, as they keep their order
	for row := range next.sums {
		i := b.now + row
		next.sums[row] = vector.Sum(e.rows.z[i*d : i*d+d])
		at := slices.Index(before.sums[expected:], next.sums[row])
		if at < 0 {
			b.limits[i] = float32(math.Inf(1))
			b.asked = append(b.asked, int32(i))
			continue
		}
		at += expected
		expected = at + 1
		copy(b.nearestU[i*k:(i+1)*k], before.nearestU[at*k:])
		copy(b.nearestZ[i*k:(i+1)*k], before.nearestZ[at*k:])
		copy(b.productsU[i*k:(i+1)*k], before.productsU[at*k:])
		copy(next.lists.IDs[row*rho:(row+1)*rho], before.lists.IDs[at*rho:])
		copy(next.lists.squares[row*rho:(row+1)*rho], before.lists.squares[at*rho:])
	}
}

// remember keeps the distances of the earlier items, and adds their nearest labelled rows to their lists.
func (e *episode) remember() {
	b, k, next := &e.examples, e.examples.cache.k, &e.examples.next
	copy(next.nearestZ, b.nearestZ[b.now*k:])
	copy(next.nearestU, b.nearestU[b.now*k:])
	copy(next.productsU, b.productsU[b.now*k:])
	for row := range next.sums {
		i := b.now + row
		from, to := row*next.lists.Rho, (row+1)*next.lists.Rho
		for r, q := range next.lists.IDs[from:to] {
			if q >= 0 {
				b.near.insert(i, int32(e.rows.n)+q, next.lists.squares[from+r])
			}
		}
	}
	b.cache.remembered.copy(next)
}
