package solver

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/communities"
)

// Points are rows that are already embedded, as float32 or as codes of one byte a dimension. A coded value is
// Step times its code.
type Points struct {
	N, D   int
	Values []float32 // N x D; nil with codes
	Codes  []int8    // N x D; nil with values
	Step   float32
}

// PointsOf returns the rows of a matrix of d columns. They share its memory.
func PointsOf(values []float32, d int) *Points {
	return &Points{N: len(values) / d, D: d, Values: values}
}

// Rows returns rows [from, to): a part of Values, or codes decoded into scratch, which must hold (to-from)
// x D values.
func (x *Points) Rows(from, to int, scratch []float32) []float32 {
	if x.Codes == nil {
		return x.Values[from*x.D : to*x.D]
	}
	out := scratch[:(to-from)*x.D]
	for i, c := range x.Codes[from*x.D : to*x.D] {
		out[i] = float32(c) * x.Step
	}
	return out
}

// Each gives the rows one by one, to find communities with.
func (x *Points) Each() communities.Rows {
	scratch := x.Scratch(1)
	return communities.Rows{D: x.D, At: func(p int) []float32 { return x.Rows(p, p+1, scratch) }}
}

// Scratch allocates what Rows needs to decode up to n rows; nil without codes.
func (x *Points) Scratch(n int) []float32 {
	if x.Codes == nil {
		return nil
	}
	return make([]float32, n*x.D)
}

// Write stores row p; as codes it is rounded, and clipped to 127 steps.
func (x *Points) Write(p int, row []float32) {
	if x.Codes == nil {
		copy(x.Values[p*x.D:(p+1)*x.D], row)
		return
	}
	out := x.Codes[p*x.D : (p+1)*x.D]
	for i, v := range row {
		out[i] = int8(math.RoundToEven(float64(max(-127, min(127, v/x.Step)))))
	}
}

// dot returns the product of coded row p and a float32 row.
func (x *Points) dot(p int, row []float32) float32 {
	var sum float32
	for i, c := range x.Codes[p*x.D : (p+1)*x.D] {
		sum += float32(c) * row[i]
	}
	return sum * x.Step
}

// check reports the first fault of the points themselves.
func (x *Points) check() error {
	if max(len(x.Values), len(x.Codes)) != x.N*x.D {
		return fmt.Errorf("points: %d values and %d codes are not %d rows of dimension %d",
			len(x.Values), len(x.Codes), x.N, x.D)
	}
	if i := vector.NotFinite(x.Values); i >= 0 {
		return rowError(i/x.D, "value %g at %d is not finite", x.Values[i], i%x.D)
	}
	return nil
}

// Placed is a problem of rows that the caller has embedded, with their graph and a start: a whole file. Prototypes
// are means. Fields without a comment are as in Problem.
type Placed struct {
	Points      *Points
	K           int
	Affinity    *index.Affinity // see GraphOf
	Labels      []int32
	Start       []int32 // a class for each row
	Proportions []float64
	Evidence    []float32

	// Block divides the rows, in their order, into runs of as many with class proportions pi_b of their own, at
	// their minimiser whenever they are used. R then has log pi_b for log pi, and -beta cpi sum_b sum_k pi_k log
	// pi_bk for the prior counts; pi stays fixed. 0: none.
	Block int

	Judge    bool
	Progress func(sweeps, most int)
}

// SolvePlaced solves p as Solve does a Problem.
func (s *Solver) SolvePlaced(ctx context.Context, p *Placed) (*PlacedResult, error) {
	switch {
	case p.Points == nil || p.Affinity == nil || p.Start == nil:
		return nil, errors.New("placed: without points, their graph or a class for each to start from")
	case s.settings.rules().modes || s.settings.Paper != (PaperSettings{}):
		return nil, errors.New("placed: prototypes are means made of S: no modes, and none of the paper's steps")
	case p.Block < 0:
		return nil, errors.New("block: fewer rows than 0")
	}
	space, err := s.Embed(&Problem{
		Rows: Rows{d: p.Points.D, points: p.Points}, K: p.K, Labels: p.Labels, Start: p.Start, Proportions: p.Proportions,
		Graph: GraphOf(p.Affinity), Evidence: p.Evidence, Judge: p.Judge, Progress: p.Progress, block: p.Block,
	})
	if err != nil {
		return nil, err
	}
	r := &PlacedResult{episode: &s.episode}
	if err := space.descend(ctx, &r.Descent); err != nil {
		return nil, err
	}
	r.Labels = s.episode.answers(nil)
	return r, nil
}

// takePoints takes the problem's embedded rows and computes their squared lengths.
func (e *episode) takePoints() {
	e.rows.u, e.rows.squareU = e.rows.points.Values, vector.Resize(e.rows.squareU, e.rows.all)
	blocks := (e.rows.all + tile - 1) / tile
	e.pool.run(blocks, func(w *worker, block int) {
		for p := block * tile; p < min(e.rows.all, (block+1)*tile); p++ {
			row := e.at(p, p+1, &w.rows)
			e.rows.squareU[p] = kernel.Dot(row, row)
		}
	})
}

// coded says whether rows are codes.
func (e *episode) coded() bool { return e.rows.points != nil && e.rows.points.Codes != nil }

// at returns rows [from, to) of u-space; codes are decoded into scratch.
func (e *episode) at(from, to int, scratch *[]float32) []float32 {
	if !e.coded() {
		return e.rows.u[from*e.rows.d : to*e.rows.d]
	}
	*scratch = vector.Resize(*scratch, (to-from)*e.rows.d)
	return e.rows.points.Rows(from, to, *scratch)
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
	b.logPi, b.base = vector.Zeroed(b.logPi, e.classes.k), vector.Resize(b.base, e.classes.k)
	total := e.model.cpi
	for p := lo; p < hi; p++ {
		if e.rows.label[p] >= 0 {
			continue
		}
		for c, v := range e.s.row(p) {
			b.logPi[c] += float64(v)
			total += float64(v)
		}
	}
	for c, mass := range b.logPi {
		b.logPi[c] = 0
		if e.model.beta > 0 {
			b.logPi[c] = e.model.beta * math.Log((mass+e.model.cpi*e.classes.pi[c])/total)
		}
		b.base[c] = float32(b.logPi[c])
	}
}

// sweepBlocks updates S by blocks: proportions of a block, then its rows one after the other. It returns the
// sum of the L1 changes of S.
func (e *episode) sweepBlocks(graph bool) (change float64) {
	k, size := e.classes.k, e.rows.block
	e.scratch.batch = vector.Resize(e.scratch.batch, batched*size*k)
	for first := 0; first < e.rows.n; first += batched * size {
		last := min(e.rows.n, first+batched*size)
		e.pool.run((last-first+size-1)/size, func(w *worker, block int) {
			from := first + block*size
			to := min(last, from+size)
			w.own.share(e, from, to)
			for lo := from; lo < to; lo += tile {
				n := min(tile, to-lo)
				copy(e.scratch.batch[(lo-first)*k:], e.blockScores(w, lo, n))
			}
		})
		for p := first; p < last; p++ {
			if e.rows.label[p] >= 0 {
				continue
			}
			if p+ahead < last {
				columns, _ := e.graph.Row(p + ahead)
				e.s.prefetch(columns)
			}
			row := e.scratch.batch[(p-first)*k : (p-first+1)*k]
			change += e.relax(p, row, graph)
		}
	}
	return change
}

// blockScores returns scores of a tile in the block of w. Without blocks they are those of scores.
func (e *episode) blockScores(w *worker, lo, n int) []float32 {
	scores := e.scores(w, lo, n, nil)
	if e.rows.block > 0 {
		for at := 0; at < len(scores); at += e.classes.k {
			kernel.Axpy(1, w.own.base, scores[at:at+e.classes.k])
		}
	}
	return scores
}
