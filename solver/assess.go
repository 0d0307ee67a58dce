package solver

import (
	"errors"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// assessment is the workspace of Result.Assess.
type assessment struct {
	near  []float32 // n x k: products with prototypes
	known []bool    // k: classes with a labelled item
}

// Assess fills Confidence, Agreement and the distances to labelled items: the last step of a solve, for those
// who ask. It must come before the next solve. Points cannot be assessed.
func (r *Result) Assess() error {
	e, k := r.episode, r.episode.k
	if e.points != nil {
		return errors.New("points are not embedded, and so not assessed")
	}
	e.assessment.near = vector.Resize(e.assessment.near, e.n*k)
	w := e.pool.workers[0]
	for lo := 0; lo < e.n; lo += tile {
		n := min(tile, e.n-lo)
		copy(e.assessment.near[lo*k:], e.space.dots(w, lo, n, nil))
	}
	r.Confidence = e.sure(vector.Resize(r.Confidence, e.n), r.Labels, e.length, nil)
	e.assessment.known = vector.Zeroed(e.assessment.known, k)
	for _, y := range e.label {
		if y >= 0 {
			e.assessment.known[y] = true
		}
	}
	e.space.labelledDots(e.assessment.near)
	r.Agreement = e.sure(vector.Resize(r.Agreement, e.n), r.Labels, nil, e.assessment.known)
	e.listLabelled()
	e.assessDistances(r)
	return nil
}

// sure fills out with z_p: row p of A = softmax(-tau d2(u, C) + w n), smoothed over neighbours, at the answered
// label. e.assessment.near holds the products with C and is overwritten. lengths are |C|^2; nil: 1. Classes
// not in known are masked (nil: none is), and a row whose answer is masked gets 0.
func (e *episode) sure(out []float32, answers []int32, lengths []float64, known []bool) []float32 {
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
	if known == nil { // the confidence; agreement is with labelled prototypes alone
		e.likeness.add(e.assessment.near, k, 0, e.n, nil)
	}
	kernel.SoftmaxRows(e.assessment.near, e.n, k)
	return e.smoothed(out, &assignments{n: e.n, k: k, values: e.assessment.near}, answers)
}
