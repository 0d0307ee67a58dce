package file

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
)

// similarity is a graph over which labels are spread, with the row at each of its positions.
type similarity struct {
	graph *index.Affinity
	order []int32
}

// similarities builds the graph of the width nearest of each row, weighted exp(-4 d2 / d2_k), d2_k the
// squared distance of the last of them, and makes it symmetric, (A + A')/2.
func similarities(lists *index.Neighbours, width int, order []int32) similarity {
	width = min(width, lists.Rho)
	position := make([]int32, len(order))
	for i, p := range order {
		position[p] = int32(i)
	}
	return similarity{order: order, graph: symmetric(lists.N, width, func(i, j int) (int32, float32) {
		ids, distances := lists.Row(int(order[i]))
		if ids[j] < 0 {
			return -1, 0
		}
		last := float64(distances[width-1])
		for i := width - 1; math.IsInf(last, 1) && i > 0; i-- {
			last = float64(distances[i-1])
		}
		if last == 0 {
			return position[ids[j]], 1
		}
		r := float64(distances[j]) / last
		return position[ids[j]], float32(math.Exp(-4 * r * r))
	})}
}

// in returns the values of the rows, each at its position.
func (s *similarity) in(values []int32) []int32 {
	out := make([]int32, len(values))
	for i, p := range s.order {
		out[i] = values[p]
	}
	return out
}

// symmetric returns (A + A')/2, where entry(p, j) is the j-th of width entries of row p of A: a column, -1
// for none, and its weight.
func symmetric(n, width int, entry func(p, j int) (int32, float32)) *index.Affinity {
	a := &index.Affinity{Offsets: make([]int64, n+1)}
	for p := range n {
		for j := range width {
			if q, _ := entry(p, j); q >= 0 {
				a.Offsets[p+1]++
				a.Offsets[q+1]++
			}
		}
	}
	for p := range n {
		a.Offsets[p+1] += a.Offsets[p]
	}
	a.Columns, a.Weights = make([]int32, a.Offsets[n]), make([]float32, a.Offsets[n])
	put := func(p, q int32, w float32) { // Offsets[p]: where the next entry of p goes
		a.Columns[a.Offsets[p]], a.Weights[a.Offsets[p]] = q, w/2
		a.Offsets[p]++
	}
	for p := range n {
		for j := range width {
			if q, w := entry(p, j); q >= 0 {
				put(int32(p), q, w)
				put(q, int32(p), w)
			}
		}
	}
	copy(a.Offsets[1:], a.Offsets[:n])
	a.Offsets[0] = 0
	type pair struct {
		column int32
		weight float32
	}
	var row []pair
	written, from := int64(0), int64(0)
	for p := range n {
		row = row[:0]
		for i := from; i < a.Offsets[p+1]; i++ {
			row = append(row, pair{a.Columns[i], a.Weights[i]})
		}
		from = a.Offsets[p+1]
		slices.SortStableFunc(row, func(x, y pair) int { return int(x.column) - int(y.column) })
		a.Offsets[p] = written
		for i := 0; i < len(row); i++ {
			a.Columns[written], a.Weights[written] = row[i].column, row[i].weight
			if i+1 < len(row) && row[i+1].column == row[i].column {
				i++
				a.Weights[written] += row[i].weight
			}
			written++
		}
	}
	a.Offsets[n] = written
	a.Columns, a.Weights = a.Columns[:written], a.Weights[:written]
	return a
}

// degrees returns the sums of the rows of a graph.
func degrees(a *index.Affinity) []float32 {
	d := make([]float32, a.N())
	for p := range d {
		_, weights := a.Row(p)
		for _, w := range weights {
			d[p] += w
		}
	}
	return d
}
