// Package index answers one question: which rows are nearest to each row? Rows go in as one flat float32 slice, a
// neighbour list or a symmetric sparse affinity comes out. It knows nothing of Kafka, files or clocks.
package index

import (
	"context"
	"fmt"
	"math"
	"sort"

	"slkstream/internal/kernel"
)

// Neighbours lists, for each of N rows, its Rho nearest other rows: sorted by distance, ties by id, self excluded.
// A row with fewer than Rho others is padded with id -1 and distance +Inf.
type Neighbours struct {
	N, Rho    int
	IDs       []int32
	Distances []float32
}

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

// Options say how neighbours are searched for.
type Options struct {
	Rho    int    // neighbours of each row
	Method string // auto, exact, hnsw, descent; "" is auto
	Cosine bool   // cosine distance in place of Euclidean
}

// Build finds the neighbours of n rows of dimension d.
func Build(ctx context.Context, rows []float32, n, d int, o Options) (*Neighbours, error) {
	if len(rows) != n*d {
		return nil, fmt.Errorf("rows: %d values are not %d rows of dimension %d", len(rows), n, d)
	}
	out := &Neighbours{N: n, Rho: o.Rho, IDs: make([]int32, n*o.Rho), Distances: make([]float32, n*o.Rho)}
	type candidate struct {
		id       int32
		distance float32
	}
	list := make([]candidate, 0, n)
	for p := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		list = list[:0]
		for q := range n {
			if q != p {
				list = append(list, candidate{int32(q), kernel.SquaredDistance(rows[p*d:p*d+d], rows[q*d:q*d+d])})
			}
		}
		sort.Slice(list, func(i, j int) bool {
			return list[i].distance < list[j].distance || list[i].distance == list[j].distance && list[i].id < list[j].id
		})
		for j := range o.Rho {
			out.IDs[p*o.Rho+j], out.Distances[p*o.Rho+j] = -1, float32(math.Inf(1))
			if j < len(list) {
				out.IDs[p*o.Rho+j], out.Distances[p*o.Rho+j] = list[j].id, float32(math.Sqrt(float64(list[j].distance)))
			}
		}
	}
	return out, nil
}

// Symmetric turns the lists into W = (A + A')/2, A the 0/1 matrix of the lists: a kNN matrix alone is not symmetric.
func (b *Neighbours) Symmetric() *Affinity {
	rows := make([]map[int32]float32, b.N)
	for p := range rows {
		rows[p] = map[int32]float32{}
	}
	for p := range b.N {
		for _, q := range b.IDs[p*b.Rho : (p+1)*b.Rho] {
			if q >= 0 {
				rows[p][q] += .5
				rows[q][int32(p)] += .5
			}
		}
	}
	a := &Affinity{Offsets: make([]int64, 1, b.N+1)}
	for _, row := range rows {
		from := len(a.Columns)
		for q := range row {
			a.Columns = append(a.Columns, q)
		}
		sort.Slice(a.Columns[from:], func(i, j int) bool { return a.Columns[from+i] < a.Columns[from+j] })
		for _, q := range a.Columns[from:] {
			a.Weights = append(a.Weights, row[q])
		}
		a.Offsets = append(a.Offsets, int64(len(a.Columns)))
	}
	return a
}
