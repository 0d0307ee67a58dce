package solver

import (
	"errors"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Blocks divides the rows, in their order, into blocks with their own prototypes C_b and proportions pi_b.
// With c = Distance and g = Proportions, R has
//
//	c a(x_p, C_b(p)) + (1-c) a(x_p, C)           for a(x_p, C); of labelled rows the first term for each block
//	g log pi_b(p) + (1-g) log pi                 for log pi
//	- beta drawn sum_b sum_k pi_k log pi_bk      for the prior counts; pi stays fixed
//
// so that a row is compared partly with the rows next to it, as far as the order of the rows means something,
// and partly with all rows. C_b and pi_b are at their minimisers whenever they are used.
type Blocks struct {
	Rows                  int // rows of a block
	Distance, Proportions float64
	Drawn                 float64 // number of rows that pi counts for in the proportions of a block
}

func (b *Blocks) check(s *Settings) error {
	switch {
	case b == nil:
	case b.Rows < 1 || !(min(b.Distance, b.Proportions, b.Drawn) >= 0) || max(b.Distance, b.Proportions) > 1:
		return errors.New("blocks: rows below 1, or weights that are not between 0 and 1")
	case s.modes() || s.Paper != (PaperSettings{}):
		return errors.New("blocks: need means as prototypes, made of S")
	}
	return nil
}

// batched is how many blocks are scored in parallel before their rows are updated one after the other.
const batched = 16

// blockPrototypes are the prototypes and proportions of the block that a worker is working on.
type blockPrototypes struct {
	rows       []float32 // k x d
	mass       []float64 // k, of the unlabelled rows
	psi, logPi []float64 // k
	base       []float32 // k: part of the scores that the block's rows share
	products   []float32 // tile x k
	exact      []float64 // tile x k
}

// average computes the prototypes and proportions of the block of rows [lo, hi).
func (b *blockPrototypes) average(e *episode, w *worker, lo, hi int) {
	k, d := e.k, e.d
	b.rows, b.mass = vector.Zeroed(b.rows, k*d), vector.Zeroed(b.mass, k)
	b.psi, b.logPi = vector.Zeroed(b.psi, k), vector.Zeroed(b.logPi, k)
	b.base, b.products = vector.Resize(b.base, k), vector.Resize(b.products, tile*k)
	e.direct.sum(w, b.rows, b.mass, lo, hi, false)
	total := 0.
	for _, v := range b.mass {
		total += v
	}
	c, g, drawn := e.blocks.Distance, e.blocks.Proportions, e.blocks.Drawn
	for class, mass := range b.mass {
		row := b.rows[class*d : class*d+d]
		kernel.Axpy(1, e.direct.fixed[class*d:class*d+d], row)
		if by := mass + e.held[class]; by >= leastMass {
			kernel.Scale(float32(1/by), row)
		}
		if length := squaredLength(row); length > 0 {
			by, psi := Pull(e.pull, length)
			kernel.Scale(float32(by), row)
			b.psi[class] = psi
		}
		if e.beta > 0 {
			b.logPi[class] = e.beta * math.Log((g*mass+drawn*e.pi[class])/(g*total+drawn))
		}
		b.base[class] = float32(g*b.logPi[class] - c*e.tau*b.psi[class])
	}
}

// sweepBlocks updates S by blocks: prototypes and proportions of a block, then its rows one after the other.
// It returns the sum of the L1 changes of S.
func (e *episode) sweepBlocks(graph bool) (change float64) {
	k, size := e.k, e.blocks.Rows
	e.batch = vector.Resize(e.batch, batched*size*k)
	for first := 0; first < e.n; first += batched * size {
		last := min(e.n, first+batched*size)
		e.pool.run((last-first+size-1)/size, func(w *worker, block int) {
			from := first + block*size
			to := min(last, from+size)
			w.own.average(e, w, from, to)
			for lo := from; lo < to; lo += tile {
				n := min(tile, to-lo)
				copy(e.batch[(lo-first)*k:], e.blockScores(w, lo, n))
			}
		})
		for p := first; p < last; p++ {
			if e.label[p] >= 0 {
				continue
			}
			if p+ahead < last {
				columns, _ := e.graph.Row(p + ahead)
				e.s.prefetch(columns)
			}
			row := e.batch[(p-first)*k : (p-first+1)*k]
			change += e.relax(p, row, graph)
		}
	}
	return change
}

// blockScores returns scores of a tile in the block of w. Without blocks they are those of scores.
func (e *episode) blockScores(w *worker, lo, n int) []float32 {
	k := e.k
	scores := e.scores(w, lo, n, nil)
	if e.blocks.Rows == 0 {
		return scores
	}
	products := w.own.products[:n*k]
	kernel.Products(products, e.at(lo, lo+n, &w.rows), w.own.rows, n, k, e.d)
	kernel.Axpy(float32(2*e.tau*e.blocks.Distance), products, scores)
	for at := 0; at < len(scores); at += k {
		kernel.Axpy(1, w.own.base, scores[at:at+k])
	}
	return scores
}

// compare fills exact with the products of a tile's rows and the block's prototypes, in
// float64 with Settings.Check.
func (b *blockPrototypes) compare(e *episode, w *worker, lo, n int) {
	k, d, rows := e.k, e.d, e.at(lo, lo+n, &w.rows)
	b.exact = vector.Resize(b.exact, tile*k)
	if e.settings.Check {
		for i := range n {
			preciseDots(b.exact[i*k:(i+1)*k], rows[i*d:(i+1)*d], b.rows)
		}
		return
	}
	kernel.Products(b.products[:n*k], rows, b.rows, n, k, d)
	for i, v := range b.products[:n*k] {
		b.exact[i] = float64(v)
	}
}

// costOf returns a(x_p, C) and beta log pi of row p, the i-th of its tile, for a class. dot is the product of
// the row and the prototype of all rows.
func (e *episode) costOf(w *worker, p, i, class int, dot float32) (cost, logPi float64) {
	cost, logPi = e.cost(p, class, dot), e.terms.logPi[class]
	if e.blocks.Rows == 0 {
		return cost, logPi
	}
	b, c, g := &w.own, e.blocks.Distance, e.blocks.Proportions
	if c > 0 {
		square := float64(e.own[p])
		if e.settings.Check {
			square = e.terms.exact.own[p]
		}
		cost += c * (e.tau*(square-2*b.exact[i*e.k+class]+b.psi[class]) - cost)
	}
	return cost, logPi + g*(b.logPi[class]-logPi)
}

// held returns the terms of R of the labelled rows, the prior and pi of one block. squares is the weighted
// sum of the squared lengths of the labelled rows and the prior.
func (b *blockPrototypes) held(e *episode, squares float64) float64 {
	d, c, sum := e.d, e.blocks.Distance, e.blocks.Distance*e.tau*squares
	for class, held := range e.held {
		fixed := e.direct.fixed[class*d : class*d+d]
		sum += c * e.tau * (held*b.psi[class] - 2*product(fixed, b.rows[class*d:class*d+d]))
		if e.pi[class] > 0 {
			sum -= e.blocks.Drawn * e.pi[class] * b.logPi[class]
		}
	}
	return sum
}
