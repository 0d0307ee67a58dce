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
// who ask. It must come before the next solve. A Placed cannot be assessed.
func (r *Result) Assess() error {
	e, k := r.episode, r.episode.classes.k
	if e.rows.points != nil {
		return errors.New("points are not embedded, and so not assessed")
	}
	e.scratch.assessment.near = vector.Resize(e.scratch.assessment.near, e.rows.n*k)
	w := e.pool.workers[0]
	for lo := 0; lo < e.rows.n; lo += tile {
		n := min(tile, e.rows.n-lo)
		copy(e.scratch.assessment.near[lo*k:], e.prototypes.space.dots(w, lo, n, nil))
	}
	r.Confidence = e.sure(vector.Resize(r.Confidence, e.rows.n), r.Labels, e.prototypes.length, nil)
	e.scratch.assessment.known = vector.Zeroed(e.scratch.assessment.known, k)
	for _, y := range e.rows.label {
		if y >= 0 {
			e.scratch.assessment.known[y] = true
		}
	}
	e.prototypes.space.labelledDots(e.scratch.assessment.near)
	r.Agreement = e.sure(vector.Resize(r.Agreement, e.rows.n), r.Labels, nil, e.scratch.assessment.known)
	e.listLabelled(e.rows.label[:e.rows.n], nil)
	e.assessDistances(r)
	return nil
}

// sure fills out with z_p: row p of A = softmax(-tau d2(u, C) + w n), smoothed over neighbours, at the answered
// label. e.scratch.assessment.near holds the products with C and is overwritten. lengths are |C|^2; nil: 1. Classes
// not in known are masked (nil: none is), and a row whose answer is masked gets 0.
func (e *episode) sure(out []float32, answers []int32, lengths []float64, known []bool) []float32 {
	k := e.classes.k
	any := known == nil
	for _, v := range known {
		any = any || v
	}
	if !any {
		clear(out)
		return out
	}
	for p := range e.rows.n {
		row := e.scratch.assessment.near[p*k : p*k+k]
		for c := range k {
			length := float32(1)
			if lengths != nil {
				length = float32(lengths[c])
			}
			row[c] = float32(e.model.tau) * (2*row[c] - length)
			if known != nil && !known[c] {
				row[c] = float32(math.Inf(-1))
			}
		}
	}
	if known == nil { // the confidence; agreement is with labelled prototypes alone
		e.likeness.add(e.scratch.assessment.near, k, 0, e.rows.n, nil)
	}
	kernel.SoftmaxRows(e.scratch.assessment.near, e.rows.n, k)
	return e.smoothed(out, &assignments{n: e.rows.n, k: k, values: e.scratch.assessment.near}, answers)
}

// Doubt returns the confidence of each answer, 1 for labelled rows, and the second-best class of each row,
// which is its label if there is only one class. To save memory in large problems it overwrites S with A =
// (1-x) softmax(-a + beta log pi) + x S, where x = part[p], 0 with a nil part. Without the proportions, of
// which a block has its own, rows that stand in order would look as doubtful as rows that stand alone. The
// confidence of a label is its share in (W A + A) / (degree + 1), over unlabelled neighbours.
func (r *Result) Doubt(part []float32) (confidence []float32, second []int32) {
	e := r.episode
	second = make([]int32, e.rows.n)
	unit := tile
	if e.rows.block > 0 {
		unit = e.rows.block
	}
	e.setBase()
	e.pool.run((e.rows.n+unit-1)/unit, func(w *worker, block int) {
		lo := block * unit
		hi := min(e.rows.n, lo+unit)
		if e.rows.block > 0 {
			w.own.share(e, lo, hi)
		}
		for ; lo < hi; lo += tile {
			n := min(tile, hi-lo)
			scores := e.blockScores(w, lo, n)
			kernel.SoftmaxRows(scores, n, e.classes.k)
			for i := range n {
				e.mix(w, lo+i, scores[i*e.classes.k:(i+1)*e.classes.k], part)
				second[lo+i] = nextTo(scores[i*e.classes.k:(i+1)*e.classes.k], e.classes.number[r.Labels[lo+i]])
			}
		}
	})
	for p, c := range second {
		second[p] = e.classes.active[c]
	}
	return e.smoothed(make([]float32, e.rows.n), &e.s, r.Labels), second
}

// mix replaces unlabelled row p of S by A. row holds softmax(-a + beta log pi) and becomes A.
func (e *episode) mix(w *worker, p int, row, part []float32) {
	if e.rows.label[p] >= 0 {
		return
	}
	x := float32(0)
	if part != nil {
		x = part[p]
	}
	kernel.Scale(1-x, row)
	if !e.s.sparse() {
		own := e.s.row(p)
		kernel.Axpy(x, own, row)
		copy(own, row)
		return
	}
	for _, v := range e.s.elements(p) {
		row[v.class] += x * v.value
	}
	least, kept := sparseWidthLargest(row), w.choice.kept[:0]
	for c, v := range row {
		if v >= least && v > 0 && len(kept) < sparseWidth {
			kept = append(kept, element{int32(c), v})
		}
	}
	e.s.write(p, kept)
}

// nextTo returns the class with the largest value other than beside, and beside if there is no other.
func nextTo(values []float32, beside int32) int32 {
	best := beside
	for c, v := range values {
		if int32(c) != beside && (best == beside || v > values[best]) {
			best = int32(c)
		}
	}
	return best
}

// smoothed fills out with the share of each row's answer in (W A + A) / (degree + 1) over unlabelled
// neighbours, and 1 for labelled rows.
func (e *episode) smoothed(out []float32, a *assignments, answers []int32) []float32 {
	for p := range e.rows.n {
		if e.rows.label[p] >= 0 {
			out[p] = 1
			continue
		}
		own := int(e.classes.number[answers[p]])
		sum, degree := a.value(p, own), float32(1)
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			if e.rows.label[q] < 0 && weights[j] > 0 { // negative weights do not give an average
				sum += weights[j] * a.value(int(q), own)
				degree += weights[j]
			}
		}
		out[p] = sum / degree
	}
	return out
}
