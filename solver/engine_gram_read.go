package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/metric"
)

// plain fills out with the inner products of rows from to to-1 by z - centre: without the metric, and without
// the length that it gave them.
func (g *gramSpace) plain(out []float32, from, to int) {
	n, by := to-from, g.e.rows.factor[from:to]
	for p := range n {
		copy(out[p*n:(p+1)*n], g.row(from + p)[from:to])
	}
	if g.metric == nil {
		return
	}
	g.alongOf(from, to)
	g.signed = append(g.signed[:0], g.along...)
	kernel.Scale(-1, g.signed[metric.Shrinking(g.metric.Scales)*n:])
	kernel.Accumulate(out, g.signed, g.along, len(g.metric.Scales), n, n)
	lengths := append(g.e.scratch.values[:0], by...) // that v lost
	for p, v := range by {
		if v > 0 {
			lengths[p] = 1 / v
		}
	}
	for p, length := range lengths {
		row := out[p*n : p*n+n]
		for q, other := range lengths {
			row[q] *= length * other
		}
	}
	g.e.scratch.values = lengths
}

func (g *gramSpace) heldDot(c int) float64 {
	_, sum := weighted(g.weights[c:], g.fixed[c*g.m:(c+1)*g.m], g.nothing, g.e.classes.k)
	return float64(g.factor[c]) * (sum + float64(g.holds[c])*g.heldLength[c])
}

func (g *gramSpace) squaredDistance(p, q int) float32 {
	m := g.m
	return max(0, g.inner[p*m+p]+g.inner[q*m+q]-2*g.inner[p*m+q])
}

// labelledDots fills out with products of the first n rows with the unit mean of each class's labelled items.
func (g *gramSpace) labelledDots(out []float32) {
	e, m, k := g.e, g.m, g.e.classes.k
	means := g.next
	clear(means)
	clear(e.scratch.total)
	g.sumHeld(means, e.scratch.total, e.rows.count)
	for c, length := range e.scratch.total[:k] {
		inverse := float32(0)
		if length > 1e-12 {
			inverse = float32(1 / math.Sqrt(length))
		}
		for p := range e.rows.n {
			out[p*k+c] = means[c*m+p] * inverse
		}
	}
}

// precise takes the inner products as exact, and sums in float64 from there.
func (g *gramSpace) precise(out *exact) {
	e, m, k := g.e, g.m, g.e.classes.k
	for p, own := range e.rows.squareU {
		out.own[p] = float64(own)
	}
	weights := make([]float64, m*k)
	for i, v := range g.weights {
		weights[i] = float64(v)
	}
	for p := range m {
		dots := out.dots[p*k : p*k+k]
		for q, v := range g.row(p) {
			v := float64(v)
			for c, weight := range weights[q*k : q*k+k] {
				dots[c] += weight * v
			}
		}
	}
	for q, y := range e.rows.countsFor { // of a row that is not among the m, only the product with its own class is needed
		if y < 0 {
			continue
		}
		c, weight := int(y), float64(g.holds[y])*float64(e.rows.weight[q])
		for p, v := range g.row(q) {
			v := float64(v)
			out.dots[p*k+c] += weight * v
			if q >= m {
				out.dots[q*k+c] += weights[p*k+c] * v
				if int(e.rows.countsFor[p]) == c {
					out.dots[q*k+c] += float64(g.holds[c]) * float64(e.rows.weight[p]) * v
				}
			}
		}
		if h := g.held[c]; q >= m {
			out.dots[q*k+c] += weight * out.own[q]
			if other := h.mean + h.prior - int32(q); h.mean >= 0 && h.prior >= 0 {
				out.dots[q*k+c] += float64(g.holds[c]) * float64(e.rows.weight[other]) * float64(h.product)
			}
		}
	}
	for p, y := range e.rows.countsFor {
		for c, factor := range g.factor {
			dot, weight := &out.dots[p*k+c], 0.
			*dot *= float64(factor)
			if p < m {
				weight = weights[p*k+c]
			}
			if int(y) == c {
				weight += float64(g.holds[c]) * float64(e.rows.weight[p])
			}
			out.length[c] += float64(factor) * weight * *dot
		}
	}
	for c := range out.length {
		out.length[c] = max(0, out.length[c])
	}
}
