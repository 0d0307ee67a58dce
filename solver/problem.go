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
	// rows times Space.Inverse, before mu was subtracted, and Inverse is the mean of these factors. nil:
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

// Rows are N raw rows of dimension D: a Matrix or a List.
type Rows struct {
	d      int
	values []float32   // of a matrix
	list   [][]float32 // nil: it is a matrix
	points *Points     // of a Placed, instead of both
}

// Matrix returns rows of d values each, one after the other.
func Matrix(values []float32, d int) Rows { return Rows{d: d, values: values} }

// List returns rows that lie one by one in memory, so that they need not be copied together.
func List(rows [][]float32) Rows {
	r := Rows{list: rows}
	if len(rows) > 0 {
		r.d = len(rows[0])
	}
	return r
}

// N returns the number of rows, D their dimension.
func (r Rows) N() int {
	switch {
	case r.points != nil:
		return r.points.N
	case r.list != nil:
		return len(r.list)
	}
	return len(r.values) / max(1, r.d)
}
func (r Rows) D() int { return r.d }

// row returns a raw row.
func (r *Rows) row(i int) []float32 {
	if r.list != nil {
		return r.list[i]
	}
	return r.values[i*r.d : i*r.d+r.d]
}

// other returns the first row that is not of dimension d, and its dimension; -1: all are.
func (r *Rows) other(d int) (row, dimension int) {
	for i, row := range r.list {
		if len(row) != d {
			return i, len(row)
		}
	}
	if n := r.N(); n > 0 && r.d != d {
		return 0, r.d
	} else if r.list == nil && len(r.values) > n*r.d {
		return n, len(r.values) - n*r.d
	}
	return -1, d
}

// ExampleRows are labelled rows outside of an episode. The zero value: none.
type ExampleRows struct {
	rows   Rows
	labels []int32
	sets   []ExampleSet // prepared, instead of both
	cache  *ExampleCache
}

// Labelled are rows with a class each.
func Labelled(rows Rows, classes []int32) ExampleRows {
	return ExampleRows{rows: rows, labels: classes}
}

// Prepared are rows that were prepared once for many problems. cache keeps what is computed of them between solves
// with the same sets; nil: it is computed for this problem alone.
func Prepared(cache *ExampleCache, sets ...ExampleSet) ExampleRows {
	return ExampleRows{sets: sets, cache: cache}
}

// len returns the number of examples.
func (x *ExampleRows) len() int {
	n := len(x.labels)
	for _, b := range x.sets {
		n += b.Len()
	}
	return n
}

// inForce says whether the label of an example counts; below 0, it is a row of the episode.
func (x *ExampleRows) inForce(at int) bool {
	if at < 0 || len(x.sets) == 0 {
		return true
	}
	for _, b := range x.sets {
		if at < b.Len() {
			return b.Names[b.class[at]] >= 0 && !slices.Contains(b.Without, int32(at))
		}
		at -= b.Len()
	}
	return false
}

// Graph says where the graph comes from. The zero value: from the nearest rows.
type Graph struct {
	affinity *index.Affinity
	lag      []float32
}

// GraphOf is a graph of the caller's. It has a row for each row; column N+j is example j. It must be symmetric
// between unlabelled rows; the row of a labelled item is not read.
func GraphOf(a *index.Affinity) Graph { return Graph{affinity: a} }

// Lagged is a graph of the nearest rows by distance and order, if the order of rows means something: lag is added
// to the squared distance of two rows that are 1, 2, ... positions apart. Rows farther apart get the last value,
// examples none. A problem may have 2,048 rows then.
func Lagged(lag []float32) Graph { return Graph{lag: lag} }

// Problem is one episode of raw rows, which the solver embeds. A problem of rows that are embedded already is a
// Placed.
type Problem struct {
	Rows   Rows
	K      int     // classes
	Labels []int32 // N; the class of a labelled row, -1 to be solved; nil: all to be solved

	// Examples are labelled rows outside the episode. They count in prototypes and as graph neighbours, and
	// get no answer.
	Examples ExampleRows

	Prior       *Prior
	Proportions []float64  // pi0: a count for each class; nil: uniform
	Embedding   *Embedding // nil: the zero value, without a metric

	Graph    Graph
	Earlier  int       // the last rows come before the first one in time, in their order
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

	block int // of a Placed
}

func (p *Problem) checkLabels() error {
	if p.Labels != nil && len(p.Labels) != p.Rows.N() {
		return fmt.Errorf("problem: %d labels for %d rows", len(p.Labels), p.Rows.N())
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
	n, d := p.Rows.N(), p.Rows.D()
	if n < 1 || d < 1 || p.K < 1 {
		return fmt.Errorf("problem: %d rows of dimension %d and %d classes: none may be below 1", n, d, p.K)
	}
	if p.Rows.points != nil {
		if err := p.Rows.points.check(); err != nil {
			return err
		}
	} else if row, other := p.Rows.other(d); row >= 0 {
		return rowError(row, "dimension %d, not %d", other, d)
	}
	if err := p.Examples.check(d, p.K); err != nil {
		return err
	}
	if err := p.checkLabels(); err != nil {
		return err
	}
	if p.Prior != nil {
		if len(p.Prior.Means) != p.K*d || len(p.Prior.Weights) != p.K {
			return fmt.Errorf("prior: %d values and %d weights, not %d classes of dimension %d",
				len(p.Prior.Means), len(p.Prior.Weights), p.K, d)
		}
		if i := vector.NotFinite(p.Prior.Means); i >= 0 {
			c, at := i/d, i%d
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
	if err := p.Embedding.check(d); err != nil {
		return err
	}
	if p.Start != nil && len(p.Start) != n {
		return fmt.Errorf("start: %d clusters for %d rows", len(p.Start), n)
	}
	for i, c := range p.Start {
		if c < 0 || int(c) >= p.K {
			return fmt.Errorf("start: cluster %d of row %d is not one of %d", c, i, p.K)
		}
	}
	return p.checkAffinity()
}

// check reports the first fault of examples beside rows of dimension d and k classes.
func (x *ExampleRows) check(d, k int) error {
	if row, other := x.rows.other(d); row >= 0 {
		return fmt.Errorf("example %d: dimension %d, not %d", row, other, d)
	}
	if n := x.rows.N(); n != len(x.labels) {
		return fmt.Errorf("examples: %d labels for %d of them", len(x.labels), n)
	}
	for i, l := range x.labels {
		if l < 0 || int(l) >= k {
			return fmt.Errorf("example %d: label %d is not one of %d classes", i, l, k)
		}
	}
	for i, b := range x.sets {
		if b.Examples == nil {
			return fmt.Errorf("example set %d: no rows", i)
		}
		if b.d != d || len(b.Names) != b.k {
			return fmt.Errorf("example set %d: dimension %d and %d names, not %d and %d", i, b.d, len(b.Names), d, b.k)
		}
		for local, c := range b.Names {
			if c < -1 || int(c) >= k {
				return fmt.Errorf("example set %d: class %d is %d, not -1 and not one of %d classes", i, local, c, k)
			}
		}
		for j, row := range b.Without {
			if row < 0 || int(row) >= b.Len() || j > 0 && row <= b.Without[j-1] {
				return fmt.Errorf("example set %d: row %d to be left out is not one of %d, ascending", i, row, b.Len())
			}
		}
	}
	return nil
}

// inForce says whether q is a row of the episode or an example whose label counts.
func (p *Problem) inForce(q int32) bool { return p.Examples.inForce(int(q) - p.Rows.N()) }

// checkAffinity checks what R needs of a given graph: W symmetric between unlabelled rows, ascending columns,
// no self loops, finite weights.
func (p *Problem) checkAffinity() error {
	a, n := p.Graph.affinity, p.Rows.N()
	if a == nil {
		return nil
	}
	if a.N() != n {
		return fmt.Errorf("affinity: %d rows for %d rows of the problem", a.N(), n)
	}
	if a.Offsets[0] != 0 || int(a.Offsets[n]) != len(a.Columns) || len(a.Columns) != len(a.Weights) {
		return fmt.Errorf("affinity: offsets end at %d, with %d columns and %d weights", a.Offsets[n], len(a.Columns), len(a.Weights))
	}
	for i := range n {
		if a.Offsets[i] > a.Offsets[i+1] {
			return fmt.Errorf("affinity: row %d: offsets fall from %d to %d", i, a.Offsets[i], a.Offsets[i+1])
		}
	}
	all := n + p.Examples.len()
	// Each entry above the diagonal adds the hash of its pair and weight, each one below subtracts it: a
	// symmetric graph leaves 0, and its entries are read in the order of memory.
	var balance uint64
	for i := range n {
		columns, weights := a.Row(i)
		solved := !p.labelled(i)
		for j, q := range columns {
			switch {
			case int(q) >= n && int(q) < all && !p.inForce(q):
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
			if solved && int(q) < n && !p.labelled(int(q)) {
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
	a, n := p.Graph.affinity, p.Rows.N()
	// Rows are visited in order, so a cursor in each later row, at its entry to i, only moves forward.
	cursor := make([]int64, n)
	copy(cursor, a.Offsets)
	for i := range n {
		columns, weights := a.Row(i)
		for j, q := range columns {
			if int(q) >= n || p.labelled(i) || p.labelled(int(q)) {
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
	if n := p.Rows.N(); q >= n {
		return p.Examples.rows.row(q - n)
	}
	return p.Rows.row(q)
}

func (p *Problem) labelled(i int) bool { return p.Labels != nil && p.Labels[i] >= 0 }
