package solver

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// objective returns R, summed in float64 from the formula. Tests and Settings.Check hold the descent to it.
//
//	R = sum_p s_p . (a_p - w n_p) - (lambda/2) sum_pq w_pq s_p . s_q - lambda sum_p s_p . b_p + sum_p s_p . log s_p
//	    + sum_labelled ws a + sum_k pw_k a(m'_k, C_k) - beta [ sum_p s_p . log pi + cpi sum_k pi0_k log pi_k ]
//
// A row of S is read as s / sum s, so that the float32 rounding of its sum does not count as a rise or a
// fall.
func (e *episode) objective() (sum float64) {
	k := e.k
	e.terms.states = vector.Resize(e.terms.states, e.n)
	e.pool.run((e.n+tile-1)/tile, func(_ *worker, block int) {
		for p := block * tile; p < min(e.n, (block+1)*tile); p++ {
			e.terms.states[p] = pointState{1 / e.s.sum(p), e.label[p]}
		}
	})
	e.terms.logPi, e.terms.pulled = vector.Resize(e.terms.logPi, k), vector.Resize(e.terms.pulled, k)
	length := e.length
	if e.settings.Check {
		e.terms.exact.own, e.terms.exact.dots, e.terms.exact.length = vector.Resize(
			e.terms.exact.own,
			e.rows,
		), vector.Zeroed(
			e.terms.exact.dots,
			e.rows*k,
		), vector.Zeroed(
			e.terms.exact.length,
			k,
		)
		e.space.precise(&e.terms.exact)
		length = e.terms.exact.length
	}
	for c := range k {
		e.terms.logPi[c], e.terms.pulled[c] = 0, psi(e.pull, length[c])
		if e.beta > 0 {
			e.terms.logPi[c] = e.beta * math.Log(e.pi[c])
		}
	}
	e.terms.unit = tile
	if e.block > 0 {
		e.terms.unit = e.block
	}
	blocks := (e.n + e.terms.unit - 1) / e.terms.unit
	e.terms.parts = vector.Resize(e.terms.parts, blocks)
	e.pool.run(blocks, e.objectiveBlock)
	for _, part := range e.terms.parts {
		sum += part
	}
	sum += e.heldObjective()
	if e.beta > 0 && e.cpi > 0 && e.block == 0 { // without, a proportion may be 0
		for c, v := range e.pi0 {
			if v > 0 {
				sum -= e.cpi * v * e.terms.logPi[c]
			}
		}
	}
	return sum
}

// terms is the workspace of objectives.
type terms struct {
	states        []pointState // n
	parts         []float64    // of each block
	logPi, pulled []float64    // k: beta log pi, psi(|C|)
	exact         exact
	unit          int // rows in a block
}

// pointState is the state of a point that its neighbours' objectives read, adjacent in memory.
type pointState struct {
	scale float64 // 1 / sum s
	label int32
}

// objectiveBlock computes a block of rows' part of R.
func (e *episode) objectiveBlock(w *worker, block int) {
	lo := block * e.terms.unit
	hi := min(e.n, lo+e.terms.unit)
	sum := 0.
	if e.block > 0 {
		w.own.share(e, lo, hi)
		for c, v := range e.pi {
			if e.cpi > 0 && v > 0 {
				sum -= e.cpi * v * w.own.logPi[c]
			}
		}
	}
	for ; lo < hi; lo += tile {
		sum += e.objectiveTile(w, lo, min(tile, hi-lo))
	}
	e.terms.parts[block] = sum
}

// objectiveTile returns the part of R of one tile's unlabelled points.
func (e *episode) objectiveTile(w *worker, lo, n int) (sum float64) {
	k, logPi := e.k, e.terms.logPi
	if e.block > 0 {
		logPi = w.own.logPi
	}
	var dots []float32
	if !e.s.sparse() {
		dots = e.space.dots(w, lo, n, nil)
	}
	for i := range n {
		p := lo + i
		if e.label[p] >= 0 {
			continue
		}
		scale := e.terms.states[p].scale
		row := w.scores[:k]
		e.s.expand(row, p, 1)
		for c, v := range e.s.all(p) {
			if s := float64(v) * scale; s > 0 {
				var product float32
				if dots != nil {
					product = dots[i*k+c]
				} else { // few are needed
					product = e.space.dot(p, c)
				}
				sum += s * (e.cost(p, c, product) + math.Log(s) - logPi[c])
			}
		}
		if i+ahead < n && e.n > serial { // small problems are in the cache already
			columns, _ := e.graph.Row(p + ahead)
			kernel.Prefetch(e.terms.states, 1, columns)
			later, _ := slices.BinarySearch(columns, int32(p+ahead))
			e.s.prefetch(columns[later:])
		}
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			w := e.lambda * float64(weights[j])
			if int(q) >= e.n || e.terms.states[q].label >= 0 {
				sum -= w * float64(row[e.label[q]]) * scale
			} else if int(q) > p { // W is symmetric: the pair counts twice
				sum -= w * e.s.product(int(q), row) * scale * e.terms.states[q].scale
			}
		}
		sum += e.evidenceTerm(p, row, scale) + e.likeness.term(p, row, scale)
	}
	return sum
}

// heldObjective returns the part of R of labelled rows and the prior.
func (e *episode) heldObjective() float64 {
	sum := e.tau * e.aroundMeans()
	if !e.modes && !e.settings.Check { // from sums over each class, without the products of every anchor
		for p, y := range e.fixed {
			if y >= 0 {
				sum += e.tau * float64(e.weight[p]) * float64(e.own[p])
			}
		}
		for c, held := range e.held {
			if held > 0 {
				sum += e.tau * (held*e.terms.pulled[c] - 2*e.space.heldDot(c))
			}
		}
		return sum
	}
	for p, y := range e.fixed {
		if y < 0 {
			continue
		}
		var product float32
		if !e.settings.Check { // else cost takes the exact one
			product = e.space.dot(p, int(y))
		}
		sum += float64(e.weight[p]) * e.cost(p, int(y), product)
	}
	return sum
}

// cost returns a_pc, given the product x.C.
func (e *episode) cost(p, c int, product float32) float64 {
	own, dot, length := float64(e.own[p]), float64(product), e.length[c]
	if e.settings.Check {
		own, dot, length = e.terms.exact.own[p], e.terms.exact.dots[p*e.k+c], e.terms.exact.length[c]
	}
	if e.modes {
		return -e.kappa * math.Exp(-max(0, own-2*dot+length)/(2*e.sigma2))
	}
	return e.tau * (own - 2*dot + e.terms.pulled[c])
}

// exact holds the products and squared lengths of R in float64, so that with Settings.Check a rise of R is
// not a rounding error of products.
type exact struct {
	own    []float64 // rows: |x|^2
	dots   []float64 // rows x k: x . C
	length []float64 // k: |C|^2
}

// Pull returns the factor |m|^-u that makes a prototype C of a mean m, given |m|^2, and psi_u(|C|), in which
// |C|^((2-u)/(1-u)) is |m|^(2-u).
func Pull(u, squared float64) (by, of float64) {
	by = math.Exp(-u / 2 * math.Log(squared)) // several times as fast as Pow
	return by, 2 * (1 - u) / (2 - u) * squared * by
}

// psi returns psi_u(|C|) for a squared length |C|^2: the term whose minimiser is C = m / |m|^u.
func psi(u, length float64) float64 {
	switch u {
	case 0:
		return length
	case 1:
		return 0
	case .75:
		squared := length * length
		return .4 * squared * math.Sqrt(length)
	}
	return 2 * (1 - u) / (2 - u) * math.Pow(length, (2-u)/(2-2*u))
}
