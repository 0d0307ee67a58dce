package index

import "slices"

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
func (b *Neighbours) SymmetricInto(a *Affinity) {
	// Row p gets both the rows that it lists and those that list it; sorted, a pair that is both stands there twice.
	a.Offsets = grown(a.Offsets, b.N+1)
	clear(a.Offsets)
	for p := range b.N {
		for _, q := range b.IDs[p*b.Rho : (p+1)*b.Rho] {
			if q >= 0 {
				a.Offsets[p+1]++
				a.Offsets[q+1]++
			}
		}
	}
	for p := range b.N {
		a.Offsets[p+1] += a.Offsets[p]
	}
	total := int(a.Offsets[b.N])
	a.Columns, a.Weights = grown(a.Columns, total), grown(a.Weights, total)
	// Until row p is written, Offsets[p] is where its next entry goes: it ends as the beginning of row p+1.
	for p := range b.N {
		for _, q := range b.IDs[p*b.Rho : (p+1)*b.Rho] {
			if q >= 0 {
				a.Columns[a.Offsets[p]], a.Columns[a.Offsets[q]] = q, int32(p)
				a.Offsets[p]++
				a.Offsets[q]++
			}
		}
	}
	copy(a.Offsets[1:], a.Offsets[:b.N])
	a.Offsets[0] = 0
	written, from := int64(0), int64(0)
	for p := range b.N {
		row := a.Columns[from:a.Offsets[p+1]]
		from = a.Offsets[p+1]
		slices.Sort(row)
		a.Offsets[p] = written
		for i := 0; i < len(row); i++ {
			weight := float32(.5)
			if i+1 < len(row) && row[i+1] == row[i] {
				weight = 1
				i++
			}
			a.Columns[written], a.Weights[written] = row[i], weight
			written++
		}
	}
	a.Offsets[b.N] = written
	a.Columns, a.Weights = a.Columns[:written], a.Weights[:written]
}
