package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Result is a solved episode. Its slices belong to the Solver and are valid until its next Solve or Embed.
type Result struct {
	Labels []int32   // the class of each row; a labelled one keeps its own
	S      []float32 // N x K: how much each class has of each row; labelled rows are one-hot

	// Filled by Assess.
	Confidence []float32 // z_p: softmax(-tau d2(u, C)) at the label, smoothed over the graph; 1: labelled
	Agreement  []float32 // the same with the unit means of labelled items as prototypes
	Distance   []float32 // to the nearest labelled item, with the metric

	Descent

	episode  *episode  // that was solved
	nearestZ []float32 // n x K, by Assess: squared distances to the nearest labelled row in z-space
}

// Descent is how R fell.
type Descent struct {
	ObjectiveBefore, ObjectiveAfter float64   // R at the start and at the end, if judged
	Iterations                      int       // prototype steps
	Sweeps                          int       // assignment sweeps
	Trace                           []float64 // R after every half-step, with Settings.Check
	Rises                           int       // half-steps in which R rose by more than rounding, with Settings.Check
}

// PlacedResult is a solved Placed. Its slices are valid until the Solver's next solve.
type PlacedResult struct {
	Labels []int32
	Descent

	episode *episode
}

// answers fills out with the answered classes.
func (e *episode) answers(out []int32) []int32 {
	out = vector.Resize(out, e.rows.n)
	for i := range out {
		out[i] = e.classes.active[e.s.answer(i)]
	}
	return out
}

// soft returns S with the values of all K classes.
func (e *episode) soft() []float32 {
	n, k := e.rows.n, len(e.classes.number)
	if !e.s.sparse() && e.classes.k == k {
		return e.s.values // shared: a second N x K is made only to restore masked classes
	}
	e.scratch.wide = vector.Zeroed(e.scratch.wide, n*k)
	for i := range n {
		for c, v := range e.s.all(i) {
			e.scratch.wide[i*k+int(e.classes.active[c])] = v
		}
	}
	return e.scratch.wide
}

// Distances fills out with the distance of each of the N rows to the nearest labelled row, without the metric and
// without those of class except (-1: none): 0 for a labelled row, and 2, the largest possible distance, if there is
// no such row. Assess must be called before.
func (r *Result) Distances(out []float32, except int32) {
	k := len(r.episode.classes.number)
	for p := range out {
		if out[p] = 0; r.episode.rows.label[p] >= 0 {
			continue
		}
		nearest := float32(math.Inf(1))
		for c, square := range r.nearestZ[p*k : (p+1)*k] {
			if int32(c) != except {
				nearest = min(nearest, square)
			}
		}
		out[p] = float32(math.Sqrt(float64(min(4, max(0, nearest)))))
	}
}

// assessment is the workspace of Result.Assess.
type assessment struct {
	near  []float32 // n x k: products with prototypes
	known []bool    // k: classes with a labelled item
}

// Assess fills Confidence, Agreement and the distances to labelled items: the last step of a solve, for those
// who ask. It must come before the next solve. It returns r.
func (r *Result) Assess() *Result {
	e, k := r.episode, r.episode.classes.k
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
	return r
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
	return e.smoothed(out, &assignments{k: k, values: e.scratch.assessment.near}, answers)
}

// Doubt returns the confidence of each answer, 1 for labelled rows, and the second-best class of each row,
// which is its label if there is only one class. To save memory in large problems it overwrites S with A =
// (1-x) softmax(-a + beta log pi) + x S, where x = part[p], 0 with a nil part. Without the proportions, of
// which a block has its own, rows that stand in order would look as doubtful as rows that stand alone. The
// confidence of a label is its share in (W A + A) / (degree + 1), over unlabelled neighbours.
func (r *PlacedResult) Doubt(part []float32) (confidence []float32, second []int32) {
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
func nextTo(values []float32, except int32) int32 {
	best := except
	for c, v := range values {
		if int32(c) != except && (best == except || v > values[best]) {
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
