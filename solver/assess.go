package solver

import (
	"math"

	"slkstream/internal/kernel"
)

// assess fills confidence, agreement and the distances to labelled items.
func (e *episode) assess(r *Result) {
	r.Confidence = e.confidence(e.space.c, nil)
	means, known := e.labelledMeans()
	r.Agreement = e.confidence(means, known)
	e.distances(r)
}

// confidence is z_p: rows A = softmax(-tau d2(u, C)), smoothed over unlabelled neighbours, (W A + A)/(deg + 1), at the
// answered label. Classes that are not known are masked.
func (e *episode) confidence(prototypes []float32, known []bool) []float32 {
	k, d := e.k, e.d
	a := make([]float32, e.n*k)
	length := make([]float32, k)
	for c := range k {
		length[c] = kernel.Dot(prototypes[c*d:c*d+d], prototypes[c*d:c*d+d])
	}
	out := make([]float32, e.n)
	if e.all(known, false) {
		return out
	}
	for p := range e.n {
		row := a[p*k : p*k+k]
		kernel.Products(row, e.u[p*d:p*d+d], prototypes, 1, k, d)
		for c := range k {
			row[c] = float32(e.tau) * (2*row[c] - length[c])
			if known != nil && !known[c] {
				row[c] = float32(math.Inf(-1))
			}
		}
		kernel.Softmax(row)
	}
	for p := range e.n {
		if e.label[p] >= 0 {
			out[p] = 1
			continue
		}
		own := e.answer(p)
		sum, degree := a[p*k+own], float32(1)
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			if e.label[q] < 0 {
				sum += weights[j] * a[int(q)*k+own]
				degree += weights[j]
			}
		}
		out[p] = sum / degree
	}
	return out
}

func (e *episode) all(known []bool, value bool) bool {
	for _, v := range known {
		if v != value {
			return false
		}
	}
	return known != nil
}

// labelledMeans is the unit mean of each class's labelled items, and which classes have any.
func (e *episode) labelledMeans() ([]float32, []bool) {
	k, d := e.k, e.d
	means, known := make([]float32, k*d), make([]bool, k)
	for p, y := range e.label[:e.n+e.anchors] {
		if y >= 0 {
			known[y] = true
			kernel.Axpy(1, e.u[p*d:p*d+d], means[int(y)*d:int(y)*d+d])
		}
	}
	for c := range k {
		unit(means[c*d : c*d+d])
	}
	return means, known
}

// distances fills what says how far a row is from everything labelled.
func (e *episode) distances(r *Result) {
	d := e.d
	var labelled []int
	for p, y := range e.label[:e.n+e.anchors] {
		if y >= 0 {
			labelled = append(labelled, p)
		}
	}
	far := float32(math.Inf(1))
	r.Distance, r.Unknown = make([]float32, e.n), make([]float32, e.n)
	nearest := func(p int, admit func(q int) bool) float32 {
		best := far
		for _, q := range labelled {
			if q != p && admit(q) {
				best = min(best, kernel.SquaredDistance(e.u[p*d:p*d+d], e.u[q*d:q*d+d]))
			}
		}
		return float32(math.Sqrt(float64(best)))
	}
	for p := range e.n {
		if e.label[p] < 0 {
			r.Distance[p] = nearest(p, func(int) bool { return true })
		}
	}
	for p := range e.n {
		if e.label[p] >= 0 {
			continue
		}
		sum, degree := r.Distance[p], float32(1)
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			if e.label[q] < 0 {
				sum += weights[j] * r.Distance[q]
				degree += weights[j]
			}
		}
		r.Unknown[p] = sum / degree
	}
	r.LabelledSame, r.LabelledOther = make([]float32, len(labelled)), make([]float32, len(labelled))
	for i, p := range labelled {
		r.LabelledSame[i] = nearest(p, func(q int) bool { return e.label[q] == e.label[p] })
		r.LabelledOther[i] = nearest(p, func(q int) bool { return e.label[q] != e.label[p] })
	}
}
