package solver

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// mostGram bounds the rows of the Gram-space engine, whose matrix then takes 16 MB.
const mostGram = 2048

// gramSpace represents prototypes by weights of rows. Everything is in the span of the points, the examples
// and the prior prototypes, so their inner products give the neighbours and every distance to every prototype
// for the whole solve. It is the engine for small episodes of high dimension.
//
// The first m rows have weights of their own: the items, and all rows where labelled ones are apart. Of the
// other rows, which a prototype always counts alike, it needs their products with these and the length of each
// class's sum. Products with a mean of labelled rows are the sum of those with the rows, which compare makes.
type gramSpace struct {
	e          *episode
	m          int
	inner      []float32 // m x m: inner products in u-space
	others     []float32 // other rows x m: their inner products
	signed     []float32 // directions x m: along, negated where the metric shrinks
	along      []float32 // directions x rows of the part that is multiplied
	held       []heldRows
	fixed      []float32 // k x m: products of the weighted sum of labelled rows and prior with the m rows
	product    []float32 // k x m: products of the prototypes with the m rows
	next       []float32 // k x m
	weights    []float32 // m x k: weights of the prototypes, before factor, of rows that are not fixed
	pending    []float32 // m x k
	holds      []float32 // k: 1 if labelled rows and prior count in a prototype, else 0
	factor     []float32 // k: the scale of a prototype
	heldLength []float64 // k: squared length of the weighted sum of labelled rows and prior
	nothing    []float32 // m zeros
	metric     *metric.Map
}

// heldRows are the other rows of a class: the mean of its examples, and its prior.
// -1: none.
type heldRows struct {
	mean, prior int32
	product     float32 // of the two
}

// can says whether the Gram-space engine supports the problem.
func (g *gramSpace) can(e *episode, p *Problem) bool {
	given := e.rows.points != nil || e.rows.block > 0
	if e.rows.all > mostGram || given || e.settings.Paper.BiasCorrection || e.classes.clustering {
		return false
	}
	if p.Embedding != nil && p.Embedding.Metric != nil {
		scales := p.Embedding.Metric.Scales
		for _, s := range scales[:metric.Shrinking(scales)] {
			if s < 0 {
				return false
			}
		}
		for _, s := range scales[metric.Shrinking(scales):] {
			if s <= 1 { // the Gram form needs the directions that grow to come last
				return false
			}
		}
	}
	return true
}

// columns returns the number of rows that have weights of their own.
func (g *gramSpace) columns(e *episode) int {
	if e.rows.examplesAreRows {
		return e.rows.all
	}
	return e.rows.n
}

// cheaper says whether the whole solve, with its graph, takes no more multiplications than in
// the row-space engine.
func (g *gramSpace) cheaper(e *episode, p *Problem) bool {
	rows, n, m, d, k := float64(e.rows.firstMean), float64(e.rows.n), float64(g.columns(e)), float64(e.rows.d), float64(e.classes.k)
	steps := float64(e.settings.Outer)
	gram := (m/2+rows-m)*m*d + steps*n*m*k
	direct := steps * 2 * n * d * k
	if p.Graph.affinity == nil {
		direct += n * n * d / 2
	}
	return gram <= direct
}

// build fills the inner products in u-space: of v, plus those of along with the sign of s^2 - 1.
func (g *gramSpace) build(e *episode) {
	t, m, d := e.rows.firstMean, g.columns(e), e.rows.d
	g.e, g.m, g.metric = e, m, e.examples.metric
	g.inner, g.others = vector.Resize(g.inner, m*m), vector.Resize(g.others, (e.rows.all-m)*m)
	kernel.Gram(g.inner, e.rows.v[:m*d], m, d)
	kernel.Products(g.others[:(t-m)*m], e.rows.v[m*d:t*d], e.rows.v[:m*d], t-m, m, d)
	if g.metric != nil && len(g.metric.Scales) > 0 {
		directions, less := len(g.metric.Scales), metric.Shrinking(g.metric.Scales)
		g.alongOf(0, m)
		g.signed = append(g.signed[:0], g.along...)
		kernel.Scale(-1, g.signed[:less*m])
		kernel.Accumulate(g.inner, g.signed, g.along, directions, m, m)
		g.alongOf(m, t)
		kernel.Accumulate(g.others[:(t-m)*m], g.along, g.signed, directions, t-m, m)
	}
	for q := range m {
		e.rows.squareU[q] = g.inner[q*m+q]
	}
	g.findHeld()
}

// alongOf fills along for rows from to to-1.
func (g *gramSpace) alongOf(from, to int) {
	g.along = g.along[:0]
	for at := 0; at < len(g.e.rows.along); at += g.e.rows.firstMean {
		g.along = append(g.along, g.e.rows.along[at+from:at+to]...)
	}
}

// takeMeans fills the products of the means with the items, when these are compared with all labelled rows.
func (g *gramSpace) takeMeans() {
	e, m := g.e, g.m
	for q := e.rows.firstMean; q < e.rows.all; q++ {
		row, share, c := g.others[(q-m)*m:(q-m+1)*m], 1/e.rows.count[q], int(e.classes.active[e.rows.countsFor[q]])
		for p := range row {
			row[p] = share * e.examples.productsU[p*e.examples.cache.k+c]
		}
	}
}

// findHeld fills held.
func (g *gramSpace) findHeld() {
	e := g.e
	g.held = vector.Resize(g.held, e.classes.k)
	for c := range g.held {
		g.held[c] = heldRows{-1, -1, 0}
	}
	for q := g.m; q < e.rows.all; q++ {
		if h := &g.held[e.rows.countsFor[q]]; e.rows.count[q] > 0 {
			h.mean = int32(q)
		} else {
			h.prior = int32(q)
		}
	}
	for c := range g.held {
		if h := &g.held[c]; h.mean >= 0 && h.prior >= 0 {
			h.product = g.heldProduct(int(h.mean), int(h.prior))
		}
	}
}

// heldProduct computes the product of a mean and a prior in u-space.
func (g *gramSpace) heldProduct(mean, prior int) float32 {
	e, d := g.e, g.e.rows.d
	row, share := e.meanRow(mean)
	sum := share * kernel.Dot(row, e.rows.v[prior*d:prior*d+d])
	if g.metric == nil {
		return sum
	}
	directions := len(g.metric.Scales)
	drawn := e.examples.cache.drawn[int(e.classes.active[e.rows.countsFor[mean]])*directions:]
	for r, s := range g.metric.Scales {
		part := share * drawn[r] * e.rows.along[r*e.rows.firstMean+prior]
		if s <= 1 {
			part = -part
		}
		sum += part
	}
	return sum
}

// enter prepares the space for the descent.
func (g *gramSpace) enter() {
	e, m, k := g.e, g.m, g.e.classes.k
	g.fixed, g.product = vector.Zeroed(g.fixed, k*m), vector.Zeroed(g.product, k*m)
	g.next = vector.Resize(g.next, k*m)
	g.weights, g.pending = vector.Zeroed(g.weights, m*k), vector.Resize(g.pending, m*k)
	g.factor, g.holds = vector.Zeroed(g.factor, k), vector.Zeroed(g.holds, k)
	g.heldLength, g.nothing = vector.Zeroed(g.heldLength, k), vector.Zeroed(g.nothing, m)
	g.sumHeld(g.fixed, g.heldLength, e.rows.weight)
}

// sumHeld adds up the labelled rows and prior of each class by these weights: to sums, k x m, the products of
// its sum with the m rows, and to lengths its squared length.
func (g *gramSpace) sumHeld(sums []float32, lengths []float64, weights []float32) {
	e, m := g.e, g.m
	for p, y := range e.rows.countsFor {
		if y >= 0 && weights[p] != 0 {
			kernel.Axpy(weights[p], g.row(p), sums[int(y)*m:int(y)*m+m])
		}
	}
	for p, y := range e.rows.countsFor[:m] { // sums hold the others too; each pair of one here and one there counts twice
		if y >= 0 {
			weight, h := float64(weights[p]), g.held[y]
			lengths[y] += weight * float64(sums[int(y)*m+p])
			for _, q := range [...]int32{h.mean, h.prior} {
				if q >= 0 {
					lengths[y] += weight * float64(weights[q]) * float64(g.row(int(q))[p])
				}
			}
		}
	}
	for q := m; q < e.rows.all; q++ {
		weight := float64(weights[q])
		lengths[e.rows.countsFor[q]] += weight * weight * float64(e.rows.squareU[q])
	}
	for c, h := range g.held {
		if h.mean >= 0 && h.prior >= 0 {
			lengths[c] += 2 * float64(weights[h.mean]) * float64(weights[h.prior]) * float64(h.product)
		}
	}
}

// row returns the products of a row with the m rows.
func (g *gramSpace) row(p int) []float32 {
	if p < g.m {
		return g.inner[p*g.m : (p+1)*g.m]
	}
	return g.others[(p-g.m)*g.m : (p-g.m+1)*g.m]
}

func (g *gramSpace) dots(w *worker, lo, count int, _ []int32) []float32 {
	m, k := g.m, g.e.classes.k
	out := w.dots[:count*k]
	for c := range k {
		at := c
		for _, v := range g.product[c*m+lo : c*m+lo+count] {
			out[at] = v
			at += k
		}
	}
	return out
}

func (g *gramSpace) dot(p, c int) float32 { return g.product[c*g.m+p] }

func (g *gramSpace) average(count int, base, density bool) {
	e, m, k := g.e, g.m, g.e.classes.k
	clear(g.pending)
	if base {
		copy(g.next, g.fixed)
	} else {
		clear(g.next)
	}
	w, first := e.pool.workers[0], 0
	for !density && first < count && e.rows.label[first] >= 0 { // labelled rows weigh nothing, and often lead
		first++
	}
	for lo := first; lo < count; lo += tile {
		n := min(tile, count-lo)
		weights := e.weigh(w, lo, n, density)
		copy(g.pending[lo*k:], weights)
		kernel.Accumulate(g.next, weights, g.inner[lo*m:(lo+n)*m], n, k, m)
	}
	empty := false
	for c := range k {
		// With y the weighted sum of labelled rows and prior and x that of rows, |x + y|^2 is x (x + 2 y) + y^2.
		next, held := g.next[c*m:c*m+m], g.nothing
		if base {
			held = g.fixed[c*m : c*m+m]
		}
		soft, squared := weighted(g.pending[c:], next, held, k)
		e.mass.soft[c] = soft
		mass, holds := soft, float32(0)
		if base {
			mass, holds = mass+e.mass.held[c], 1
			squared += g.heldLength[c]
		}
		if mass < leastMass {
			empty = true
			copy(next, g.product[c*m:c*m+m]) // unchanged
			continue
		}
		g.factor[c], g.holds[c] = float32(1/mass), holds
		kernel.Scale(g.factor[c], next)
		e.prototypes.length[c] = max(0, squared/(mass*mass))
	}
	g.product, g.next = g.next, g.product
	if !empty {
		g.weights, g.pending = g.pending, g.weights
		return
	}
	for c := range k {
		if e.mass.soft[c] >= leastMass || base && e.mass.held[c] > 0 {
			for p := range m {
				g.weights[p*k+c] = g.pending[p*k+c]
			}
		}
	}
}

// weighted returns the sum of every stride-th value of weights, and that of x + y weighted by these, in
// float64. Independent sums hide the latency of the additions.
func weighted(weights, x, y []float32, stride int) (all, sum float64) {
	var a0, a1, s0, s1, s2, s3 float64
	at, p := 0, 0
	for y = y[:len(x)]; p+4 <= len(x); p += 4 {
		w0, w1 := float64(weights[at]), float64(weights[at+stride])
		w2, w3 := float64(weights[at+2*stride]), float64(weights[at+3*stride])
		a0 += w0 + w1
		a1 += w2 + w3
		s0 += w0 * float64(x[p]+y[p])
		s1 += w1 * float64(x[p+1]+y[p+1])
		s2 += w2 * float64(x[p+2]+y[p+2])
		s3 += w3 * float64(x[p+3]+y[p+3])
		at += 4 * stride
	}
	for ; p < len(x); p++ {
		w := float64(weights[at])
		a0 += w
		s0 += w * float64(x[p]+y[p])
		at += stride
	}
	return a0 + a1, s0 + s1 + s2 + s3
}

func (g *gramSpace) scale(c int, by float64) {
	g.factor[c] *= float32(by)
	kernel.Scale(float32(by), g.product[c*g.m:(c+1)*g.m])
	g.e.prototypes.length[c] *= by * by
}
