package solver

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// assessment is the memory of assess.
type assessment struct {
	near     []float32 // n x k: products with prototypes
	known    []bool    // k: classes with a labelled item
	supports []int32   // labelled rows
}

// assess fills confidence, agreement and the distances to labelled items.
func (e *episode) assess(r *Result) {
	k := e.k
	e.assessment.near = vector.Resize(e.assessment.near, e.n*k)
	w := e.pool.workers[0]
	for lo := 0; lo < e.n; lo += tile {
		n := min(tile, e.n-lo)
		copy(e.assessment.near[lo*k:], e.space.dots(w, lo, n, nil))
	}
	r.Confidence = e.smoothed(vector.Resize(r.Confidence, e.n), e.length, nil)
	e.assessment.known = vector.Zeroed(e.assessment.known, k)
	for _, y := range e.label[:e.n+e.anchors] {
		if y >= 0 {
			e.assessment.known[y] = true
		}
	}
	e.space.labelledDots(e.assessment.near)
	r.Agreement = e.smoothed(vector.Resize(r.Agreement, e.n), nil, e.assessment.known)
	e.distances(r)
}

// smoothed is z_p: rows A = softmax(-tau d2(u, C)), smoothed over unlabelled neighbours, (W A + A)/(deg + 1), at the
// answered label. e.assessment.near holds the products with C; lengths nil are 1. Classes that are not known are masked; a row whose
// answer is one of them gets 0.
func (e *episode) smoothed(out []float32, lengths []float64, known []bool) []float32 {
	k := e.k
	any := known == nil
	for _, v := range known {
		any = any || v
	}
	if !any {
		clear(out)
		return out
	}
	for p := range e.n {
		row := e.assessment.near[p*k : p*k+k]
		for c := range k {
			length := float32(1)
			if lengths != nil {
				length = float32(lengths[c])
			}
			row[c] = float32(e.tau) * (2*row[c] - length)
			if known != nil && !known[c] {
				row[c] = float32(math.Inf(-1))
			}
		}
	}
	kernel.SoftmaxRows(e.assessment.near, e.n, k)
	for p := range e.n {
		if e.label[p] >= 0 {
			out[p] = 1
			continue
		}
		own := e.s.answer(p)
		sum, degree := e.assessment.near[p*k+own], float32(1)
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			if e.label[q] < 0 && weights[j] > 0 { // a weight below 0 would not average
				sum += weights[j] * e.assessment.near[int(q)*k+own]
				degree += weights[j]
			}
		}
		out[p] = sum / degree
	}
	return out
}

// distances fills what says how far a row is from everything labelled.
func (e *episode) distances(r *Result) {
	e.assessment.supports = e.assessment.supports[:0]
	for p, y := range e.label[:e.n+e.anchors] {
		if y >= 0 {
			e.assessment.supports = append(e.assessment.supports, int32(p))
		}
	}
	far := float32(math.Inf(1))
	r.Distance = vector.Zeroed(r.Distance, e.n)
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		best := far
		for _, q := range e.assessment.supports {
			best = min(best, e.space.squaredDistance(p, int(q)))
		}
		r.Distance[p] = float32(math.Sqrt(float64(best)))
	}
}

// squaresOfRows fills out with the squared distance in z-space of each of its rows to the nearest listed one.
func (e *episode) squaresOfRows(out []float32, listed []int32) {
	d := e.d
	rows := make([]float32, 0, len(listed)*d)
	for _, q := range listed {
		rows = append(rows, e.z[int(q)*d:int(q)*d+d]...)
	}
	n, m := len(out), len(listed)
	products := make([]float32, min(n, tile)*m)
	for lo := 0; lo < n; lo += tile {
		count := min(tile, n-lo)
		kernel.Products(products[:count*m], e.z[lo*d:(lo+count)*d], rows, count, m, d)
		for i := range count {
			out[lo+i] = 2 - 2*slices.Max(products[i*m:i*m+m])
		}
	}
}

// squaresInZ goes by the products from before the metric, so that no row is multiplied again.
func (g *gramSpace) squaresInZ(out []float32, listed []int32) {
	t := g.e.rows
	if g.metric == nil { // u is z
		for p := range out {
			best, row := float32(math.Inf(-1)), g.g[p*t:p*t+t]
			for _, q := range listed {
				best = max(best, row[q])
			}
			out[p] = 2 - 2*best
		}
		return
	}
	// The products of v are those of z less its centre, times what brought each row to its length.
	inverse, squares := make([]float32, t), make([]float32, t)
	for q := range t {
		if by := g.length[q]; by > 0 {
			inverse[q] = 1 / by
			squares[q] = g.plain[q*t+q] * inverse[q] * inverse[q]
		}
	}
	for p := range out {
		best, row := float32(math.Inf(1)), g.plain[p*t:p*t+t]
		for _, q := range listed {
			best = min(best, squares[q]-2*row[q]*inverse[q]*inverse[p])
		}
		out[p] = squares[p] + best
	}
}
