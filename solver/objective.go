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
	k := e.classes.k
	e.scratch.terms.states = vector.Resize(e.scratch.terms.states, e.rows.n)
	e.pool.run((e.rows.n+tile-1)/tile, func(_ *worker, block int) {
		for p := block * tile; p < min(e.rows.n, (block+1)*tile); p++ {
			e.scratch.terms.states[p] = pointState{1 / e.s.sum(p), e.rows.label[p]}
		}
	})
	e.scratch.terms.logPi, e.scratch.terms.pulled = vector.Resize(e.scratch.terms.logPi, k), vector.Resize(e.scratch.terms.pulled, k)
	length := e.prototypes.length
	if e.settings.Check {
		e.scratch.terms.exact.own, e.scratch.terms.exact.dots, e.scratch.terms.exact.length = vector.Resize(
			e.scratch.terms.exact.own,
			e.rows.all,
		), vector.Zeroed(
			e.scratch.terms.exact.dots,
			e.rows.all*k,
		), vector.Zeroed(
			e.scratch.terms.exact.length,
			k,
		)
		e.prototypes.space.precise(&e.scratch.terms.exact)
		length = e.scratch.terms.exact.length
	}
	for c := range k {
		e.scratch.terms.logPi[c], e.scratch.terms.pulled[c] = 0, psi(e.model.pull, length[c])
		if e.model.beta > 0 {
			e.scratch.terms.logPi[c] = e.model.beta * math.Log(e.classes.pi[c])
		}
	}
	e.scratch.terms.unit = tile
	if e.rows.block > 0 {
		e.scratch.terms.unit = e.rows.block
	}
	blocks := (e.rows.n + e.scratch.terms.unit - 1) / e.scratch.terms.unit
	e.scratch.terms.parts = vector.Resize(e.scratch.terms.parts, blocks)
	e.pool.run(blocks, e.objectiveBlock)
	for _, part := range e.scratch.terms.parts {
		sum += part
	}
	sum += e.heldObjective()
	if e.model.beta > 0 && e.model.cpi > 0 && e.rows.block == 0 { // without, a proportion may be 0
		for c, v := range e.classes.pi0 {
			if v > 0 {
				sum -= e.model.cpi * v * e.scratch.terms.logPi[c]
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
	lo := block * e.scratch.terms.unit
	hi := min(e.rows.n, lo+e.scratch.terms.unit)
	sum := 0.
	if e.rows.block > 0 {
		w.own.share(e, lo, hi)
		for c, v := range e.classes.pi {
			if e.model.cpi > 0 && v > 0 {
				sum -= e.model.cpi * v * w.own.logPi[c]
			}
		}
	}
	for ; lo < hi; lo += tile {
		sum += e.objectiveTile(w, lo, min(tile, hi-lo))
	}
	e.scratch.terms.parts[block] = sum
}

// objectiveTile returns the part of R of one tile's unlabelled points.
func (e *episode) objectiveTile(w *worker, lo, n int) (sum float64) {
	k, logPi := e.classes.k, e.scratch.terms.logPi
	if e.rows.block > 0 {
		logPi = w.own.logPi
	}
	var dots []float32
	if !e.s.sparse() {
		dots = e.prototypes.space.dots(w, lo, n, nil)
	}
	for i := range n {
		p := lo + i
		if e.rows.label[p] >= 0 {
			continue
		}
		scale := e.scratch.terms.states[p].scale
		row := w.scores[:k]
		e.s.expand(row, p, 1)
		for c, v := range e.s.all(p) {
			if s := float64(v) * scale; s > 0 {
				var product float32
				if dots != nil {
					product = dots[i*k+c]
				} else { // few are needed
					product = e.prototypes.space.dot(p, c)
				}
				sum += s * (e.cost(p, c, product) + math.Log(s) - logPi[c])
			}
		}
		if i+ahead < n && e.rows.n > serial { // small problems are in the cache already
			columns, _ := e.graph.Row(p + ahead)
			kernel.Prefetch(e.scratch.terms.states, 1, columns)
			later, _ := slices.BinarySearch(columns, int32(p+ahead))
			e.s.prefetch(columns[later:])
		}
		columns, weights := e.graph.Row(p)
		for j, q := range columns {
			w := e.model.lambda * float64(weights[j])
			if int(q) >= e.rows.n || e.scratch.terms.states[q].label >= 0 {
				sum -= w * float64(row[e.rows.label[q]]) * scale
			} else if int(q) > p { // W is symmetric: the pair counts twice
				sum -= w * e.s.product(int(q), row) * scale * e.scratch.terms.states[q].scale
			}
		}
		sum += e.evidenceTerm(p, row, scale) + e.likeness.term(p, row, scale)
	}
	return sum
}

// heldObjective returns the part of R of labelled rows and the prior.
func (e *episode) heldObjective() float64 {
	sum := e.model.tau * e.aroundMeans()
	if !e.model.modes && !e.settings.Check { // from sums over each class, without the products of every example
		for p, y := range e.rows.countsFor {
			if y >= 0 {
				sum += e.model.tau * float64(e.rows.weight[p]) * float64(e.rows.squareU[p])
			}
		}
		for c, held := range e.mass.held {
			if held > 0 {
				sum += e.model.tau * (held*e.scratch.terms.pulled[c] - 2*e.prototypes.space.heldDot(c))
			}
		}
		return sum
	}
	for p, y := range e.rows.countsFor {
		if y < 0 {
			continue
		}
		var product float32
		if !e.settings.Check { // else cost takes the exact one
			product = e.prototypes.space.dot(p, int(y))
		}
		sum += float64(e.rows.weight[p]) * e.cost(p, int(y), product)
	}
	return sum
}

// cost returns a_pc, given the product x.C.
func (e *episode) cost(p, c int, product float32) float64 {
	own, dot, length := float64(e.rows.squareU[p]), float64(product), e.prototypes.length[c]
	if e.settings.Check {
		own, dot, length = e.scratch.terms.exact.own[p], e.scratch.terms.exact.dots[p*e.classes.k+c], e.scratch.terms.exact.length[c]
	}
	if e.model.modes {
		return -e.model.kappa * math.Exp(-max(0, own-2*dot+length)/(2*e.model.sigma2))
	}
	return e.model.tau * (own - 2*dot + e.scratch.terms.pulled[c])
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
