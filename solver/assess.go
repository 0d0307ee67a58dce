package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// assess fills confidence, agreement and the distances to labelled items.
func (e *episode) assess(r *Result) {
	k := e.k
	e.near = vector.Resize(e.near, e.n*k)
	w := e.crew.workers[0]
	for lo := 0; lo < e.n; lo += tile {
		n := min(tile, e.n-lo)
		copy(e.near[lo*k:], e.space.dots(w, lo, n, nil))
	}
	r.Confidence = e.smoothed(vector.Resize(r.Confidence, e.n), e.length, nil)
	e.known = vector.Zeroed(e.known, k)
	for _, y := range e.label[:e.n+e.anchors] {
		if y >= 0 {
			e.known[y] = true
		}
	}
	e.space.labelledDots(e.near)
	r.Agreement = e.smoothed(vector.Resize(r.Agreement, e.n), nil, e.known)
	e.distances(r)
}

// smoothed is z_p: rows A = softmax(-tau d2(u, C)), smoothed over unlabelled neighbours, (W A + A)/(deg + 1), at the
// answered label. e.near holds the products with C; lengths nil are 1. Classes that are not known are masked; a row whose
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
		row := e.near[p*k : p*k+k]
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
	kernel.SoftmaxRows(e.near, e.n, k)
	for p := range e.n {
		if e.label[p] >= 0 {
			out[p] = 1
			continue
		}
		own := e.s.answer(p)
		sum, degree := e.near[p*k+own], float32(1)
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			if e.label[q] < 0 && weights[j] > 0 { // a weight below 0 would not average
				sum += weights[j] * e.near[int(q)*k+own]
				degree += weights[j]
			}
		}
		out[p] = sum / degree
	}
	return out
}

// distances fills what says how far a row is from everything labelled.
func (e *episode) distances(r *Result) {
	e.supports = e.supports[:0]
	for p, y := range e.label[:e.n+e.anchors] {
		if y >= 0 {
			e.supports = append(e.supports, int32(p))
		}
	}
	far := float32(math.Inf(1))
	r.Distance = vector.Zeroed(r.Distance, e.n)
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		best := far
		for _, q := range e.supports {
			best = min(best, e.space.squaredDistance(p, int(q)))
		}
		r.Distance[p] = float32(math.Sqrt(float64(best)))
	}
}
