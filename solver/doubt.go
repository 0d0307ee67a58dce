package solver

import "github.com/slkstream/slkstream/internal/kernel"

// Doubt returns the confidence of each answer, 1 for labelled rows, and the second-best class of each row,
// which is its label if there is only one class. To save memory in large problems it overwrites S with A =
// (1-x) softmax(-a + beta log pi) + x S, where x = part[p], 0 with a nil part. Without the proportions, of
// which a block has its own, rows that stand in order would look as doubtful as rows that stand alone. The
// confidence of a label is its share in (W A + A) / (degree + 1), over unlabelled neighbours.
func (r *Result) Doubt(part []float32) (confidence []float32, second []int32) {
	e := r.episode
	second = make([]int32, e.n)
	unit := tile
	if e.block > 0 {
		unit = e.block
	}
	e.setBase()
	e.pool.run((e.n+unit-1)/unit, func(w *worker, block int) {
		lo := block * unit
		hi := min(e.n, lo+unit)
		if e.block > 0 {
			w.own.share(e, lo, hi)
		}
		for ; lo < hi; lo += tile {
			n := min(tile, hi-lo)
			scores := e.blockScores(w, lo, n)
			kernel.SoftmaxRows(scores, n, e.k)
			for i := range n {
				e.mix(w, lo+i, scores[i*e.k:(i+1)*e.k], part)
				second[lo+i] = nextTo(scores[i*e.k:(i+1)*e.k], e.number[r.Labels[lo+i]])
			}
		}
	})
	for p, c := range second {
		second[p] = e.class[c]
	}
	return e.smoothed(make([]float32, e.n), &e.s, r.Labels), second
}

// mix replaces unlabelled row p of S by A. row holds softmax(-a + beta log pi) and becomes A.
func (e *episode) mix(w *worker, p int, row, part []float32) {
	if e.label[p] >= 0 {
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
	for p := range e.n {
		if e.label[p] >= 0 {
			out[p] = 1
			continue
		}
		own := int(e.number[answers[p]])
		sum, degree := a.value(p, own), float32(1)
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			if e.label[q] < 0 && weights[j] > 0 { // negative weights do not give an average
				sum += weights[j] * a.value(int(q), own)
				degree += weights[j]
			}
		}
		out[p] = sum / degree
	}
	return out
}
