package solver

import (
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Prior is what a stream has learned: class means m' in z-space and their weights pw (0: none).
type Prior struct {
	Means   []float32 // K x D
	Weights []float32 // K

	// Inverse adapts Means to the present mean mu: m' = Means - Inverse mu. Means are then means of raised
	// rows times Result.Inverse, before mu was subtracted, and Inverse is the mean of these factors. nil:
	// Means are m'.
	Inverse []float32 // K
}

// mean fills out with m' of a class for the mean mu.
func (p *Prior) mean(out, mu []float32, class int) {
	copy(out, p.Means[class*len(out):])
	if p.Inverse != nil {
		kernel.Axpy(-p.Inverse[class], mu, out)
	}
}

// Problem is one episode of raw rows, which the solver embeds. They are a matrix, or lie one by one and are given
// by List. A problem of rows that are embedded already is a Placed.
type Problem struct {
	Rows    []float32 // N x D; nil after List
	N, D, K int
	Labels  []int32 // N; the class of a labelled row, -1 to be solved; nil: all to be solved

	// Examples are labelled rows outside the episode. They count in prototypes and as graph neighbours, and
	// get no answer.
	Examples      []float32 // M x D
	ExampleLabels []int32

	// Sets are such rows, prepared once for many problems, instead of Examples and ExampleLabels. Cache keeps what
	// is computed of them between solves with the same sets; nil: it is computed for this problem alone.
	Sets  []ExampleSet
	Cache *ExampleCache

	Prior       *Prior
	Proportions []float64  // pi0: a count for each class; nil: uniform
	Embedding   *Embedding // nil: the zero value, without a metric

	// Affinity is the graph; nil: the solver builds it. It has N rows; column N+j is example j. It must be
	// symmetric between unlabelled rows; the row of a labelled item is not read.
	Affinity *index.Affinity

	// Lag is added, when the solver chooses neighbours, to the squared distance of two rows that are 1, 2, ...
	// positions apart, if the order of rows means something. Rows farther apart get the last value; examples get
	// none. It needs a graph built by the solver, of at most 2,048 rows. nil: nothing is added. The last Earlier
	// rows come before the first one, in their order.
	Lag     []float32
	Earlier int

	Edges    []Edge    // added to W in both directions; repeated pairs add up
	Evidence []float32 // N x K, added to b, the sum of the labels of a row's labelled neighbours; nil: none

	// Weights of the prototypes and of the likeness to labelled rows; nil: 1 and 0. See Weights.
	Weights *Weights

	// Start is the class that each row has at first with most of its weight: one with a labelled row or a
	// prior; in clustering, a cluster 0 to K-1. nil: rows start by their distance to prototypes; in clustering,
	// as Settings.Start says.
	Start []int32

	// Judge computes R before and after the descent. Settings.Check does too.
	Judge bool

	// Progress is called after each assignment sweep with the number of sweeps done and their maximum; nil: not
	// called. A cancelled context stops the solve before the next sweep.
	Progress func(sweeps, most int)

	listed [][]float32 // by List
	placed *Placed     // that the problem was made of; nil: rows are raw
}

// List gives the problem rows that lie one by one in memory, so that they need not be copied together. It sets N, and
// D by the first row, and replaces Rows.
func (p *Problem) List(rows [][]float32) {
	if p.Rows, p.listed, p.N = nil, rows, len(rows); p.N > 0 {
		p.D = len(rows[0])
	}
}

// Result is a solved episode. Its slices belong to the Solver and are valid until its next Solve or Embed.
type Result struct {
	Labels []int32
	S      []float32 // N x K; labelled rows are one-hot. Nil for a Placed above 4,096 rows and 64 classes: use Row
	Z      []float32 // N x D, rows in z-space, from which a stream learns; nil for a Placed
	Mean   []float32 // mu, subtracted from raised rows before they are scaled to length 1
	// Inverse is 1/|row - Mean| of each raised row; 0 if that is not finite.
	Inverse []float32

	// Affinity is the graph of the solve, N rows: (A+A')/2 between unlabelled rows, and from each unlabelled row
	// its labelled neighbours with their weight in A (1 without EdgeDecay), example j as column N+j. Rows of
	// labelled items are empty if the solver built it.
	Affinity *index.Affinity

	// Filled by Assess.
	Confidence []float32 // z_p: softmax(-tau d2(u, C)) at the label, smoothed over the graph; 1: labelled
	Agreement  []float32 // the same with the unit means of labelled items as prototypes
	Distance   []float32 // to the nearest labelled item, in u-space

	ObjectiveBefore, ObjectiveAfter float64 // R at the start and at the end, if judged
	Iterations                      int     // prototype steps
	Sweeps                          int     // assignment sweeps
	Trace                           []float64
	Rises                           int // half-steps in which R rose by more than rounding, with Settings.Check

	episode  *episode  // that was solved
	k        int       // classes of the problem
	nearestZ []float32 // n x K, by Assess: squared distances to the nearest labelled row in z-space
}

// Row writes row p of S, K values, to out, also if Result.S is nil.
func (r *Result) Row(p int, out []float32) {
	clear(out[:r.k])
	for c, v := range r.episode.s.all(p) {
		out[r.episode.classes.active[c]] = v
	}
}

// Prototypes returns the prototypes, K x D in u-space; a masked class has zeros.
func (r *Result) Prototypes() []float32 {
	e, d := r.episode, r.episode.rows.d
	out, active := make([]float32, r.k*d), make([]float32, e.classes.k*d)
	e.prototypes.space.prototypes(active)
	for c, class := range e.classes.active {
		copy(out[int(class)*d:int(class)*d+d], active[c*d:c*d+d])
	}
	return out
}

// clear empties a result and keeps the memory of its slices.
func (r *Result) clear() {
	*r = Result{
		Trace: r.Trace[:0], Labels: r.Labels, Confidence: r.Confidence,
		Agreement: r.Agreement, Distance: r.Distance,
	}
}

func (p *Problem) checkLabels() error {
	if p.Labels != nil && len(p.Labels) != p.N {
		return fmt.Errorf("problem: %d labels for %d rows", len(p.Labels), p.N)
	}
	for i, l := range p.Labels {
		if l < -1 || int(l) >= p.K {
			return rowError(i, "label %d is not -1 and not one of %d classes", l, p.K)
		}
	}
	return nil
}

// check reports the first fault of a problem: the row, the class or the setting that is wrong.
func (p *Problem) check() error {
	if p.N < 1 || p.D < 1 || p.K < 1 {
		return fmt.Errorf("problem: %d rows of dimension %d and %d classes: none may be below 1", p.N, p.D, p.K)
	}
	if err := p.checkSets(); err != nil {
		return err
	}
	if err := p.checkRows(); err != nil {
		return err
	}
	if err := p.checkLabels(); err != nil {
		return err
	}
	for i, l := range p.ExampleLabels {
		if l < 0 || int(l) >= p.K {
			return fmt.Errorf("example %d: label %d is not one of %d classes", i, l, p.K)
		}
	}
	if p.Prior != nil {
		if len(p.Prior.Means) != p.K*p.D || len(p.Prior.Weights) != p.K {
			return fmt.Errorf(
				"prior: %d values and %d weights, not %d classes of dimension %d",
				len(p.Prior.Means),
				len(p.Prior.Weights),
				p.K,
				p.D,
			)
		}
		if i := vector.NotFinite(p.Prior.Means); i >= 0 {
			c, at := i/p.D, i%p.D
			return classError(c, "prior: mean of class %d: value %g at %d is not finite", c, p.Prior.Means[i], at)
		}
		if l := p.Prior.Inverse; l != nil && (len(l) != p.K || vector.NotFinite(l) >= 0) {
			return fmt.Errorf("prior: inverse lengths %v: not one of each of %d classes", l, p.K)
		}
		for k, w := range p.Prior.Weights {
			if !(w >= 0 && w <= math.MaxFloat32) {
				return classError(k, "prior: weight %g of class %d is negative or not finite", w, k)
			}
		}
	}
	if p.Proportions != nil {
		if len(p.Proportions) != p.K {
			return fmt.Errorf("proportions: %d for %d classes", len(p.Proportions), p.K)
		}
		for k, c := range p.Proportions {
			if !(c >= 0 && c <= math.MaxFloat64/float64(p.K)) {
				return classError(k, "proportions: %g of class %d is negative or not finite", c, k)
			}
		}
	}
	if err := p.Embedding.check(p.D); err != nil {
		return err
	}
	if p.Start != nil && len(p.Start) != p.N {
		return fmt.Errorf("start: %d clusters for %d rows", len(p.Start), p.N)
	}
	for i, c := range p.Start {
		if c < 0 || int(c) >= p.K {
			return fmt.Errorf("start: cluster %d of row %d is not one of %d", c, i, p.K)
		}
	}
	return p.checkAffinity()
}

// exampleCount returns the number of examples.
func (p *Problem) exampleCount() int {
	n := len(p.ExampleLabels)
	for _, b := range p.Sets {
		n += b.Len()
	}
	return n
}

// inForce says whether q is a row of the episode or an example whose label counts. Sets are checked before.
func (p *Problem) inForce(q int32) bool {
	at := int(q) - p.N
	if at < 0 || len(p.Sets) == 0 {
		return true
	}
	for _, b := range p.Sets {
		if at < b.Len() {
			return b.Names[b.class[at]] >= 0 && !slices.Contains(b.Without, int32(at))
		}
		at -= b.Len()
	}
	return false
}

// checkRows reports the first fault of the rows' and the examples' number and dimension.
func (p *Problem) checkRows() error {
	if len(p.Examples) != len(p.ExampleLabels)*p.D {
		return fmt.Errorf("problem: %d example values are not %d examples of dimension %d",
			len(p.Examples), len(p.ExampleLabels), p.D)
	}
	switch {
	case p.placed != nil:
		return p.placed.Points.check()
	case p.listed == nil && len(p.Rows) != p.N*p.D:
		return fmt.Errorf("problem: %d values are not %d rows of dimension %d", len(p.Rows), p.N, p.D)
	case p.listed != nil && len(p.listed) != p.N:
		return fmt.Errorf("problem: %d rows listed, not %d", len(p.listed), p.N)
	}
	for i, row := range p.listed {
		if len(row) != p.D {
			return rowError(i, "dimension %d, not %d", len(row), p.D)
		}
	}
	return nil
}

// checkAffinity checks what R needs of a given graph: W symmetric between unlabelled rows, ascending columns,
// no self loops, finite weights.
func (p *Problem) checkAffinity() error {
	a := p.Affinity
	if a == nil {
		return nil
	}
	if a.N() != p.N {
		return fmt.Errorf("affinity: %d rows for %d rows of the problem", a.N(), p.N)
	}
	if a.Offsets[0] != 0 || int(a.Offsets[p.N]) != len(a.Columns) || len(a.Columns) != len(a.Weights) {
		return fmt.Errorf("affinity: offsets end at %d, with %d columns and %d weights", a.Offsets[p.N], len(a.Columns), len(a.Weights))
	}
	for i := range p.N {
		if a.Offsets[i] > a.Offsets[i+1] {
			return fmt.Errorf("affinity: row %d: offsets fall from %d to %d", i, a.Offsets[i], a.Offsets[i+1])
		}
	}
	all := p.N + p.exampleCount()
	// Each entry above the diagonal adds the hash of its pair and weight, each one below subtracts it: a
	// symmetric graph leaves 0, and its entries are read in the order of memory.
	var balance uint64
	for i := range p.N {
		columns, weights := a.Row(i)
		solved := !p.labelled(i)
		for j, q := range columns {
			switch {
			case int(q) >= p.N && int(q) < all && !p.inForce(q):
				return fmt.Errorf("affinity: row %d: column %d is an example that is not in force", i, q)
			case q < 0 || int(q) >= all:
				return fmt.Errorf("affinity: row %d: column %d is not one of %d rows and examples", i, q, all)
			case j > 0 && q <= columns[j-1]:
				return fmt.Errorf("affinity: row %d: columns %d and %d are not ascending", i, columns[j-1], q)
			case int(q) == i:
				return fmt.Errorf("affinity: row %d: a self loop", i)
			case weights[j]-weights[j] != 0:
				return fmt.Errorf("affinity: row %d: weight %g to %d is not finite", i, weights[j], q)
			}
			if solved && int(q) < p.N && !p.labelled(int(q)) {
				if int(q) > i {
					balance += pairHash(int32(i), q, weights[j])
				} else {
					balance -= pairHash(q, int32(i), weights[j])
				}
			}
		}
	}
	if balance == 0 {
		return nil
	}
	return p.asymmetry()
}

// pairHash hashes a pair and its weight to 64 bits with the finaliser of splitmix64.
func pairHash(p, q int32, weight float32) uint64 {
	h := uint64(p)<<32 | uint64(q)
	h ^= uint64(math.Float32bits(weight)) * 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// asymmetry names the first entry between unlabelled rows whose opposite entry is missing or different.
func (p *Problem) asymmetry() error {
	a := p.Affinity
	// Rows are visited in order, so a cursor in each later row, at its entry to i, only moves forward.
	cursor := make([]int64, p.N)
	copy(cursor, a.Offsets)
	for i := range p.N {
		columns, weights := a.Row(i)
		for j, q := range columns {
			if int(q) >= p.N || p.labelled(i) || p.labelled(int(q)) {
				continue
			}
			for cursor[q] < a.Offsets[q+1] && a.Columns[cursor[q]] < int32(i) {
				cursor[q]++
			}
			if cursor[q] == a.Offsets[q+1] || a.Columns[cursor[q]] != int32(i) || a.Weights[cursor[q]] != weights[j] {
				return fmt.Errorf("affinity: not symmetric: row %d has %d with weight %g, row %d has not the same", i, q, weights[j], q)
			}
		}
	}
	return nil
}

// raw returns row q of the rows, then the examples.
func (p *Problem) raw(q int) []float32 {
	if q < p.N {
		if p.listed != nil {
			return p.listed[q]
		}
		return p.Rows[q*p.D : q*p.D+p.D]
	}
	return p.Examples[(q-p.N)*p.D : (q-p.N)*p.D+p.D]
}

func (p *Problem) labelled(i int) bool { return p.Labels != nil && p.Labels[i] >= 0 }
