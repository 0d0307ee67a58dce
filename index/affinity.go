package index

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Affinity is a sparse matrix in compressed rows: row p has Columns[Offsets[p]:Offsets[p+1]], ascending,
// and their Weights.
type Affinity struct {
	Offsets []int64
	Columns []int32
	Weights []float32
}

// N returns the number of rows.
func (a *Affinity) N() int { return len(a.Offsets) - 1 }

// Row returns the neighbours of row p and their weights.
func (a *Affinity) Row(p int) ([]int32, []float32) {
	lo, hi := a.Offsets[p], a.Offsets[p+1]
	return a.Columns[lo:hi], a.Weights[lo:hi]
}

// Prefetch requests row p, which is read soon, from memory. It changes nothing.
func (a *Affinity) Prefetch(p int) {
	columns, weights := a.Row(p)
	kernel.Prefetch(columns, len(columns), first)
	kernel.Prefetch(weights, len(weights), first)
}

// first names the first of some rows.
var first = []int32{0}

// Symmetric returns W = (A + A')/2, with A the 0/1 matrix of the lists: a kNN matrix alone is not symmetric.
func (b *Neighbours) Symmetric() *Affinity {
	a := new(Affinity)
	b.SymmetricInto(a)
	return a
}

// SymmetricInto is Symmetric into a, whose memory is reused if it is large enough.
func (b *Neighbours) SymmetricInto(a *Affinity) { b.LabelledInto(a, b.N, nil, nil) }

// LabelledInto fills a with the graph of an episode in which some rows are labelled: between unlabelled rows
// (A + A')/2, as in Symmetric, and from an unlabelled row to each labelled neighbour its weight in A. label
// has the class of every row of the lists, or a number below zero for an unlabelled one; nil: all are
// unlabelled. weights has the weights in A: of the first, second and further neighbour of any row, or of those
// of each row, one row after the other; nil: all are 1. a gets n rows, which may leave out labelled rows at the
// end of the lists; those of labelled rows are empty. The memory of a is reused if it is large enough.
func (b *Neighbours) LabelledInto(a *Affinity, n int, label []int32, weights []float32) {
	labelled := func(p int32) bool { return label != nil && label[p] >= 0 }
	// A pair of unlabelled rows is entered at both ends by each row that lists the other: in sorted rows, a
	// mutual pair appears twice.
	a.Offsets = vector.Zeroed(a.Offsets, n+1)
	for p := range int32(n) {
		if labelled(p) {
			continue
		}
		for _, q := range b.IDs[int(p)*b.Rho : int(p+1)*b.Rho] {
			if q < 0 {
				continue
			}
			a.Offsets[p+1]++
			if !labelled(q) {
				a.Offsets[q+1]++
			}
		}
	}
	for p := range n {
		a.Offsets[p+1] += a.Offsets[p]
	}
	total := int(a.Offsets[n])
	a.Columns, a.Weights = vector.Resize(a.Columns, total), vector.Resize(a.Weights, total)
	// Until row p is complete, Offsets[p] is the index of its next entry: it ends as the beginning of row p+1.
	enter := func(p, q int32, weight float32) {
		at := a.Offsets[p]
		a.Columns[at], a.Weights[at] = q, weight
		a.Offsets[p]++
	}
	own := weights // of a row
	for p := range int32(n) {
		if labelled(p) {
			continue
		}
		if len(weights) > b.Rho {
			own = weights[int(p)*b.Rho:]
		}
		for r, q := range b.IDs[int(p)*b.Rho : int(p+1)*b.Rho] {
			weight := float32(1)
			if own != nil {
				weight = own[r]
			}
			switch {
			case q < 0:
			case labelled(q):
				enter(p, q, weight)
			default:
				enter(p, q, weight/2)
				enter(q, p, weight/2)
			}
		}
	}
	copy(a.Offsets[1:], a.Offsets[:n])
	a.Offsets[0] = 0
	var from, written int64
	for p := range n {
		columns, weights := a.Columns[from:a.Offsets[p+1]], a.Weights[from:a.Offsets[p+1]]
		from = a.Offsets[p+1]
		a.Offsets[p] = written
		written += sortRow(columns, weights, a.Columns[written:], a.Weights[written:])
	}
	a.Offsets[n] = written
	a.Columns, a.Weights = a.Columns[:written], a.Weights[:written]
}

// sortRow sorts the entries of a row by column, adds up those of one column, moves them to the row's place in
// toColumns and toWeights, and returns how many are left. Entries made by other rows are in order already:
// only the row's own few are not.
func sortRow(columns []int32, weights []float32, toColumns []int32, toWeights []float32) int64 {
	for i := 1; i < len(columns); i++ {
		column, weight := columns[i], weights[i]
		at := i
		for ; at > 0 && columns[at-1] > column; at-- {
			columns[at], weights[at] = columns[at-1], weights[at-1]
		}
		columns[at], weights[at] = column, weight
	}
	written := 0
	for i, column := range columns {
		if written > 0 && toColumns[written-1] == column {
			toWeights[written-1] += weights[i]
			continue
		}
		toColumns[written], toWeights[written] = column, weights[i]
		written++
	}
	return int64(written)
}
