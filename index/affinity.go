package index

import (
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
)

// Affinity is a sparse matrix in compressed rows: row p holds Columns[Offsets[p]:Offsets[p+1]], ascending, and their Weights.
type Affinity struct {
	Offsets []int64
	Columns []int32
	Weights []float32
}

// N is the number of rows.
func (a *Affinity) N() int { return len(a.Offsets) - 1 }

// Row returns the neighbours of row p and their weights.
func (a *Affinity) Row(p int) ([]int32, []float32) {
	lo, hi := a.Offsets[p], a.Offsets[p+1]
	return a.Columns[lo:hi], a.Weights[lo:hi]
}

// Symmetric turns the lists into W = (A + A')/2, A the 0/1 matrix of the lists: a kNN matrix alone is not symmetric.
func (b *Neighbours) Symmetric() *Affinity {
	a := new(Affinity)
	b.SymmetricInto(a)
	return a
}

// SymmetricInto is Symmetric into a, whose memory is used again where it is large enough.
func (b *Neighbours) SymmetricInto(a *Affinity) { b.LabelledInto(a, b.N, nil) }

// LabelledInto fills a with the graph of an episode of which some rows are labelled: between unlabelled rows (A + A')/2, as
// Symmetric has it, and from an unlabelled row to each labelled neighbour 1. label holds the class of every row of the lists, or
// a number below zero for an unlabelled one; nil is all unlabelled. a gets n rows, which may leave out labelled rows at the end
// of the lists; those of labelled rows are empty. The memory of a is used again where it is large enough.
func (b *Neighbours) LabelledInto(a *Affinity, n int, label []int32) {
	labelled := func(p int32) bool { return label != nil && label[p] >= 0 }
	// A pair of unlabelled rows is entered at both ends by each row that lists the other: sorted, a mutual pair stands twice.
	a.Offsets = vector.Zeroed(a.Offsets, n+1)
	b.entries(n, labelled, func(p, _ int32) { a.Offsets[p+1]++ })
	for p := range n {
		a.Offsets[p+1] += a.Offsets[p]
	}
	total := int(a.Offsets[n])
	a.Columns, a.Weights = vector.Resize(a.Columns, total), vector.Resize(a.Weights, total)
	// Until row p is written, Offsets[p] is where its next entry goes: it ends as the beginning of row p+1.
	b.entries(n, labelled, func(p, q int32) {
		a.Columns[a.Offsets[p]] = q
		a.Offsets[p]++
	})
	copy(a.Offsets[1:], a.Offsets[:n])
	a.Offsets[0] = 0
	var from, written int64
	for p := range n {
		row := a.Columns[from:a.Offsets[p+1]]
		from = a.Offsets[p+1]
		slices.Sort(row)
		a.Offsets[p] = written
		for i := 0; i < len(row); i++ {
			weight := float32(.5)
			if labelled(row[i]) {
				weight = 1
			} else if i+1 < len(row) && row[i+1] == row[i] {
				weight = 1
				i++
			}
			a.Columns[written], a.Weights[written] = row[i], weight
			written++
		}
	}
	a.Offsets[n] = written
	a.Columns, a.Weights = a.Columns[:written], a.Weights[:written]
}

// entries calls enter for every entry of the graph of n rows, twice for a pair of unlabelled rows that list each other.
func (b *Neighbours) entries(n int, labelled func(int32) bool, enter func(row, column int32)) {
	for p := range int32(n) {
		if labelled(p) {
			continue
		}
		ids, _ := b.Row(int(p))
		for _, q := range ids {
			if q < 0 {
				continue
			}
			enter(p, q)
			if !labelled(q) {
				enter(q, p)
			}
		}
	}
}
