package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// mostGram bounds the rows of the Gram-space engine, whose matrix then takes 16 MB.
const mostGram = 2048

// gramSpace represents prototypes by weights of rows. Everything is in the span of the points, the anchors
// and the prior prototypes, so one Gram matrix gives the neighbours and every distance to every prototype for
// the whole solve. It is the engine for small episodes of high dimension.
type gramSpace struct {
	e       *episode
	g       []float32 // rows x rows: inner products in u-space
	signed  []float32 // directions x rows: along, negated where the metric shrinks
	fixed   []float32 // k x rows: products of the weighted sum of labelled rows and prior with every row
	product []float32 // k x rows: products of the prototypes with every row
	next    []float32 // k x rows
	weights []float32 // rows x k: weights of the prototypes, before factor
	pending []float32 // rows x k
	held    []float32 // rows x k
	factor  []float32 // k: the scale of a prototype
	metric  *metric.Map
}

// can says whether the Gram-space engine supports the problem.
func (g *gramSpace) can(e *episode, p *Problem) bool {
	given := e.points != nil || e.block > 0
	if e.rows > mostGram || given || e.settings.Paper.BiasCorrection || e.clustering {
		return false
	}
	if p.Embedding != nil && p.Embedding.Metric != nil {
		scales := p.Embedding.Metric.Scales
		for _, s := range scales[:shrinkingScales(scales)] {
			if s < 0 {
				return false
			}
		}
		for _, s := range scales[shrinkingScales(scales):] {
			if s <= 1 { // the Gram form needs the directions that grow to come last
				return false
			}
		}
	}
	return true
}

// gramEntry is the cost of one value of a mostly empty Gram matrix, in multiplications.
const gramEntry = 32

// cheaper says whether the whole solve, with its graph, takes no more multiplications than in
// the row-space engine.
func (g *gramSpace) cheaper(e *episode, p *Problem) bool {
	rows, n, d, k := float64(e.rows), float64(e.n), float64(e.d), float64(e.k)
	steps := float64(e.settings.Outer)
	gram := rows*rows*d/2 + steps*n*rows*k
	if g.scattered(e) {
		gram = n*rows*d + steps*n*rows*k + gramEntry*rows*rows
	}
	direct := steps * 2 * n * d * k
	if p.Affinity == nil {
		direct += n * n * d / 2
	}
	return gram <= direct
}

// scattered says whether most pairs of rows are labelled rows or priors of different classes, whose products
// nothing needs.
func (g *gramSpace) scattered(e *episode) bool { return e.rows > 2*e.n && !e.apart }

// fillScattered fills the Gram matrix of v without these pairs.
func (g *gramSpace) fillScattered(e *episode) {
	t, n, d := e.rows, e.n, e.d
	clear(g.g)
	kernel.Products(g.g, e.v[:n*d], e.v, n, t, d)
	for q := n; q < t; q++ {
		for p := range n {
			g.g[q*t+p] = g.g[p*t+q]
		}
		for p := n; p <= q; p++ {
			if e.fixed[p] == e.fixed[q] {
				v := kernel.Dot(e.v[p*d:p*d+d], e.v[q*d:q*d+d])
				g.g[p*t+q], g.g[q*t+p] = v, v
			}
		}
	}
}

// build fills the Gram matrix of u-space: G = v v' + along diag(sign(s^2 - 1)) along'.
func (g *gramSpace) build(e *episode) {
	t, m := e.rows, e.beside.metric
	g.e, g.metric = e, m
	g.g = vector.Resize(g.g, t*t)
	if g.scattered(e) {
		g.fillScattered(e)
	} else {
		kernel.Gram(g.g, e.v, t, e.d)
	}
	if m != nil && len(m.Scales) > 0 {
		g.signed = append(g.signed[:0], e.along...)
		kernel.Scale(-1, g.signed[:shrinkingScales(m.Scales)*t])
		kernel.Accumulate(g.g, g.signed, e.along, len(m.Scales), t, t)
	}
	for q := range t {
		e.own[q] = g.g[q*t+q]
	}
}

// shrinkingScales returns the number of scales before the first one that grows.
func shrinkingScales(scales []float32) int {
	for i, s := range scales {
		if s > 1 {
			return i
		}
	}
	return len(scales)
}

// enter prepares the space for the descent.
func (g *gramSpace) enter() {
	e, t, k := g.e, g.e.rows, g.e.k
	g.fixed, g.product, g.next = vector.Zeroed(g.fixed, k*t), vector.Zeroed(g.product, k*t), vector.Resize(g.next, k*t)
	g.weights, g.pending, g.held = vector.Zeroed(g.weights, t*k), vector.Zeroed(g.pending, t*k), vector.Zeroed(g.held, t*k)
	g.factor = vector.Zeroed(g.factor, k)
	for p, y := range e.fixed {
		if y >= 0 {
			g.held[p*k+int(y)] = e.weight[p]
			kernel.Axpy(e.weight[p], g.g[p*t:p*t+t], g.fixed[int(y)*t:int(y)*t+t])
		}
	}
}

func (g *gramSpace) dots(w *worker, lo, count int, _ []int32) []float32 {
	t, k := g.e.rows, g.e.k
	out := w.dots[:count*k]
	for c := range k {
		at := c
		for _, v := range g.product[c*t+lo : c*t+lo+count] {
			out[at] = v
			at += k
		}
	}
	return out
}

func (g *gramSpace) dot(p, c int) float32 { return g.product[c*g.e.rows+p] }

func (g *gramSpace) average(count int, base, density bool) {
	e, t, k := g.e, g.e.rows, g.e.k
	clear(e.soft)
	if base {
		copy(g.next, g.fixed)
		copy(g.pending, g.held)
	} else {
		clear(g.next)
		clear(g.pending)
	}
	w, first := e.pool.workers[0], 0
	for !density && first < count && e.label[first] >= 0 { // labelled rows weigh nothing, and often lead
		first++
	}
	for lo := first; lo < count; lo += tile {
		n := min(tile, count-lo)
		weights := e.weigh(w, lo, n, density)
		for i := 0; i < len(weights); i += k {
			for c, v := range weights[i : i+k] {
				e.soft[c] += float64(v)
			}
		}
		kernel.Axpy(1, weights, g.pending[lo*k:(lo+n)*k])
		kernel.Accumulate(g.next, weights, g.g[lo*t:(lo+n)*t], n, k, t)
	}
	empty := false
	for c := range k {
		mass := e.soft[c]
		if base {
			mass += e.held[c]
		}
		next, product := g.next[c*t:c*t+t], g.product[c*t:c*t+t]
		if mass < leastMass {
			empty = true
			copy(next, product) // unchanged
			continue
		}
		g.factor[c] = float32(1 / mass)
		kernel.Scale(g.factor[c], next)
		e.length[c] = max(0, weighted(g.pending[c:], next, k)/mass)
	}
	g.product, g.next = g.next, g.product
	if !empty {
		g.weights, g.pending = g.pending, g.weights
		return
	}
	for c := range k {
		if e.soft[c] >= leastMass || base && e.held[c] > 0 {
			for p := range t {
				g.weights[p*k+c] = g.pending[p*k+c]
			}
		}
	}
}

// weighted returns the sum of x weighted by every stride-th value of weights, in float64. Four independent
// sums hide the latency of the additions.
func weighted(weights, x []float32, stride int) float64 {
	var s0, s1, s2, s3 float64
	at, p := 0, 0
	for ; p+4 <= len(x); p += 4 {
		s0 += float64(weights[at]) * float64(x[p])
		s1 += float64(weights[at+stride]) * float64(x[p+1])
		s2 += float64(weights[at+2*stride]) * float64(x[p+2])
		s3 += float64(weights[at+3*stride]) * float64(x[p+3])
		at += 4 * stride
	}
	for ; p < len(x); p++ {
		s0 += float64(weights[at]) * float64(x[p])
		at += stride
	}
	return s0 + s1 + s2 + s3
}

func (g *gramSpace) scale(c int, by float64) {
	t := g.e.rows
	g.factor[c] *= float32(by)
	kernel.Scale(float32(by), g.product[c*t:c*t+t])
	g.e.length[c] *= by * by
}

func (g *gramSpace) heldDot(c int) float64 {
	t, k := g.e.rows, g.e.k
	var sum float64
	for p, y := range g.e.fixed {
		if int(y) == c {
			sum += float64(g.held[p*k+c]) * float64(g.product[c*t+p])
		}
	}
	return sum
}

func (g *gramSpace) squaredDistance(p, q int) float32 {
	t := g.e.rows
	return max(0, g.g[p*t+p]+g.g[q*t+q]-2*g.g[p*t+q])
}

// prototypes writes the prototypes as rows of u-space: metric(sum of weight * v), where only the linear part
// of the metric is needed.
func (g *gramSpace) prototypes(out []float32) {
	e, t, d, k := g.e, g.e.rows, g.e.d, g.e.k
	g.pending = vector.Resize(g.pending, t*k)
	for p := range t {
		for c := range k {
			g.pending[p*k+c] = g.weights[p*k+c] * g.factor[c]
		}
	}
	kernel.Accumulate(out, g.pending, e.v, t, k, d)
	if g.metric == nil {
		return
	}
	e.scratch = vector.Resize(e.scratch, k*len(g.metric.Scales))
	g.metric.Shrink(out, e.scratch)
}

// labelledDots fills out with products of the first n rows with the unit mean of each class's labelled items.
func (g *gramSpace) labelledDots(out []float32) {
	e, t, k := g.e, g.e.rows, g.e.k
	means := g.next
	clear(means)
	for p, y := range e.fixed {
		if y >= 0 {
			kernel.Axpy(e.count[p], g.g[p*t:p*t+t], means[int(y)*t:int(y)*t+t])
		}
	}
	clear(e.total)
	for p, y := range e.fixed {
		if y >= 0 {
			e.total[y] += float64(e.count[p]) * float64(means[int(y)*t+p])
		}
	}
	for c, length := range e.total[:k] {
		inverse := float32(0)
		if length > 1e-12 {
			inverse = float32(1 / math.Sqrt(length))
		}
		for p := range e.n {
			out[p*k+c] = means[c*t+p] * inverse
		}
	}
}

// precise takes the Gram matrix as exact, and sums in float64 from there.
func (g *gramSpace) precise(out *exact) {
	t, k := g.e.rows, g.e.k
	weight := func(q, c int) float64 { return float64(g.weights[q*k+c]) * float64(g.factor[c]) }
	// The weights of each row that are not 0: a labelled row has one.
	ends, classes, weights := make([]int, t), []int32(nil), []float64(nil)
	for q := range t {
		for c := range k {
			if w := weight(q, c); w != 0 {
				classes, weights = append(classes, int32(c)), append(weights, w)
			}
		}
		ends[q] = len(classes)
	}
	for p := range t {
		out.own[p] = float64(g.g[p*t+p])
		row, dots := g.g[p*t:p*t+t], out.dots[p*k:p*k+k]
		if y := g.e.fixed[p]; y >= 0 { // of a labelled row no other product is needed
			for q, v := range row {
				dots[y] += weight(q, int(y)) * float64(v)
			}
			out.length[y] += weight(p, int(y)) * dots[y]
			continue
		}
		from := 0
		for q, v := range row {
			for i, c := range classes[from:ends[q]] {
				dots[c] += weights[from+i] * float64(v)
			}
			from = ends[q]
		}
		for c := range k {
			out.length[c] += weight(p, c) * dots[c]
		}
	}
	for c := range k {
		out.length[c] = max(0, out.length[c])
	}
}
