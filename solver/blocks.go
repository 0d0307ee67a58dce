package solver

import (
	"errors"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// checkBlock reports whether blocks of rows may have proportions of their own.
func (p *Problem) checkBlock(s *Settings) error {
	switch {
	case p.Block < 0:
		return errors.New("block: fewer rows than 0")
	case p.Block > 0 && (s.rules().modes || s.Paper != (PaperSettings{})):
		return errors.New("block: needs means as prototypes, made of S")
	}
	return nil
}

// batched is how many blocks are scored in parallel before their rows are updated one after the other.
const batched = 16

// blockProportions are those of the block that a worker is working on.
type blockProportions struct {
	logPi []float64 // k: beta log pi_b
	base  []float32 // k: the same
}

// share computes the proportions of the block of rows [lo, hi).
func (b *blockProportions) share(e *episode, lo, hi int) {
	b.logPi, b.base = vector.Zeroed(b.logPi, e.k), vector.Resize(b.base, e.k)
	total := e.cpi
	for p := lo; p < hi; p++ {
		if e.label[p] >= 0 {
			continue
		}
		for c, v := range e.s.row(p) {
			b.logPi[c] += float64(v)
			total += float64(v)
		}
	}
	for c, mass := range b.logPi {
		b.logPi[c] = 0
		if e.beta > 0 {
			b.logPi[c] = e.beta * math.Log((mass+e.cpi*e.pi[c])/total)
		}
		b.base[c] = float32(b.logPi[c])
	}
}

// sweepBlocks updates S by blocks: proportions of a block, then its rows one after the other. It returns the
// sum of the L1 changes of S.
func (e *episode) sweepBlocks(graph bool) (change float64) {
	k, size := e.k, e.block
	e.batch = vector.Resize(e.batch, batched*size*k)
	for first := 0; first < e.n; first += batched * size {
		last := min(e.n, first+batched*size)
		e.pool.run((last-first+size-1)/size, func(w *worker, block int) {
			from := first + block*size
			to := min(last, from+size)
			w.own.share(e, from, to)
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
	scores := e.scores(w, lo, n, nil)
	if e.block > 0 {
		for at := 0; at < len(scores); at += e.k {
			kernel.Axpy(1, w.own.base, scores[at:at+e.k])
		}
	}
	return scores
}
