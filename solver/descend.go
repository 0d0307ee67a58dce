package solver

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// roundingOfS is the mean L1 change of S that is lost in the rounding of its float32 values.
const roundingOfS = 1. / (1 << 24)

// descend runs the block minimisations: C from labelled rows and prior, S = softmax(-a + beta log pi0), then
// sweeps of S and steps of C and pi until S converges or Settings.Outer steps are made. progress may be nil.
func (e *episode) descend(ctx context.Context, r *Descent, progress func(sweeps, most int)) error {
	outer, inner := e.settings.Outer, e.settings.Inner
	if e.model.fixed {
		outer, inner = 1, 20
	}
	if e.model.fixed && !e.model.graph { // no row reads another: the first sweep is the answer
		inner = 0
	}
	e.fitPrototypes()
	if !e.s.started {
		e.sweep(false)
		e.s.started = true
	}
	annealed := e.annealed()
	if annealed == 0 {
		e.begin(r)
	}
	for converged := false; r.Iterations < outer && !converged; {
		e.anneal(r.Iterations, annealed)
		r.Iterations++
		if e.settings.Paper.ResetAssignments {
			e.sweep(false)
			e.note(r)
		}
		for i := range inner {
			if err := ctx.Err(); err != nil {
				return err
			}
			change := e.sweep(true)
			r.Sweeps++
			if progress != nil {
				progress(r.Sweeps, outer*inner)
			}
			e.note(r)
			if change <= max(e.settings.Tolerance, roundingOfS) && r.Iterations > annealed {
				converged = i == 0
				break
			}
		}
		if e.model.fixed {
			break
		}
		e.fitPrototypes()
		e.note(r)
		if e.model.beta > 0 && e.rows.block == 0 { // proportions of blocks are drawn to pi, which stays fixed
			e.proportions()
			e.note(r)
		}
		if r.Iterations == annealed {
			e.anneal(annealed, annealed)
			e.begin(r)
		}
	}
	if e.model.judged {
		r.ObjectiveAfter = e.objective()
	}
	return nil
}

// annealed returns the number of prototype steps in the annealed start.
func (e *episode) annealed() int {
	if e.model.fixed || e.classes.clustering || e.rows.n > serial || e.settings.Anneal == 0 || e.settings.Anneal == 1 {
		return 0
	}
	return min(e.settings.AnnealSteps, e.settings.Outer)
}

// anneal sets lambda, tau and kappa for a prototype step, counted from 0. Steps before annealed belong to
// the annealed start.
func (e *episode) anneal(step, annealed int) {
	if step > annealed {
		return
	}
	scale := 1.
	if step < annealed {
		scale = e.settings.Anneal + (1-e.settings.Anneal)*float64(step)/float64(annealed)
	}
	e.model.lambda = scale * e.settings.Lambda
	e.model.tau, e.model.kappa = scale*e.model.sharpness*e.settings.Tau, scale*e.model.sharpness*e.settings.Kappa
}

// begin sets the final weights and records R. From here on R must not rise.
func (e *episode) begin(r *Descent) {
	e.anneal(0, 0)
	if !e.model.judged {
		return
	}
	r.ObjectiveBefore = e.objective()
	if e.settings.Check {
		r.Trace = append(r.Trace, r.ObjectiveBefore)
	}
}

// note appends R to the trace and counts it if it rose.
func (e *episode) note(r *Descent) {
	if !e.settings.Check || len(r.Trace) == 0 { // R is traced from the end of an annealed start
		return
	}
	now := e.objective()
	before := r.Trace[len(r.Trace)-1]
	if !(now <= before+e.rounding()) { // NaN counts as a rise
		r.Rises++
	}
	r.Trace = append(r.Trace, now)
}

// rounding bounds the rise of R in a half-step that float32 S and prototypes may cause: a few of the last
// bits of each row's terms.
func (e *episode) rounding() float64 {
	mass, scale := float64(e.rows.unlabelled), 1+e.model.lambda+e.likeness.weight
	for _, held := range e.mass.held {
		mass += held
	}
	if e.model.modes {
		scale += e.model.kappa
	} else {
		scale += e.model.tau
	}
	return mass * scale / (1 << 22)
}

// sweep updates each unlabelled point in place: s_p = softmax(-a_p + lambda (W S + b)_p + beta log pi).
// Without graph the lambda term is left out. A point's update is the exact minimiser of R in s_p with all
// else fixed (Gauss-Seidel), so R falls for every symmetric W. If all points were updated at once from the
// old S, R could rise when lambda times the lowest eigenvalue of W is below -2. sweep returns the mean L1
// change of S.
//
// The softmax is shifted by its largest score, so that a class more than 104 below underflows to zero; its s
// may grow again.
func (e *episode) sweep(graph bool) float64 {
	graph = graph && e.model.lambda > 0
	e.setBase()
	if e.rows.block > 0 {
		return e.sweepBlocks(graph) / float64(max(1, e.rows.unlabelled))
	}
	offsets := e.graph.order.offsets
	if !graph { // no row reads another: as they lie in memory
		offsets = []int{0, e.rows.n}
	}
	var change float64
	for colour, lo := range offsets[:len(offsets)-1] {
		part := swept{lo, offsets[colour+1], graph}
		blocks := (part.hi - lo + tile - 1) / tile
		e.scratch.changes = vector.Resize(e.scratch.changes, blocks)
		runWith(e, blocks, part, (*episode).updateBlock)
		for _, v := range e.scratch.changes[:blocks] {
			change += v
		}
	}
	return change / float64(max(1, e.rows.unlabelled))
}

// setBase sets the part of the scores that all points share.
func (e *episode) setBase() {
	k := e.classes.k
	e.scratch.base = vector.Resize(e.scratch.base, k)
	for c := range k {
		var base float64
		if !e.model.modes {
			base = -e.model.tau * e.prototypes.psi[c]
		}
		if e.model.beta > 0 && e.rows.block == 0 {
			base += e.model.beta * math.Log(e.classes.pi[c])
		}
		e.scratch.base[c] = float32(base)
	}
}

// swept are points that are updated side by side, from lo up to, not including, hi in the order.
type swept struct {
	lo, hi int
	graph  bool
}

// updateBlock updates the points of one tile of the order.
func (e *episode) updateBlock(w *worker, part swept, block int) {
	lo, graph := part.lo+block*tile, part.graph
	k, n := e.classes.k, min(tile, part.hi-lo)
	var listed []int32
	if graph && e.graph.order.points != nil {
		listed = e.graph.order.points[lo : lo+n]
	}
	if e.s.sparse() {
		e.scratch.changes[block] = e.updateSparse(w, lo, n, listed)
		return
	}
	scores := e.scores(w, lo, n, listed)
	var change float64
	for i := range n { // one after the other: without a list, neighbours may share the tile
		p := lo + i
		if listed != nil {
			p = int(listed[i])
			e.prefetch(listed[i:])
		}
		if e.rows.label[p] < 0 {
			change += e.relax(p, scores[i*k:i*k+k], graph)
		}
	}
	e.scratch.changes[block] = change
}

// prefetch requests what updates of some points, one after the other, read soon: the neighbours' rows of S of
// the point that comes ahead points later, and the list of neighbours of the one as far behind it.
func (e *episode) prefetch(points []int32) {
	if len(points) > 2*ahead {
		e.graph.Prefetch(int(points[2*ahead]))
	}
	if len(points) > ahead {
		columns, _ := e.graph.Row(int(points[ahead]))
		e.s.prefetch(columns)
	}
}

// scores returns -a + w n + beta log pi for a tile, without the terms that all classes of a row share.
func (e *episode) scores(w *worker, lo, n int, listed []int32) []float32 {
	k := e.classes.k
	dots := e.prototypes.space.dots(w, lo, n, listed)
	scores := w.scores[:n*k]
	for filled := copy(scores, e.scratch.base); filled < len(scores); filled *= 2 { // every row begins with base
		copy(scores[filled:], scores[:filled])
	}
	if e.model.modes {
		e.kernels(dots, dots, lo, n, listed)
		kernel.Axpy(float32(e.model.kappa), dots, scores)
	} else {
		kernel.Axpy(float32(2*e.model.tau), dots, scores)
	}
	e.likeness.add(scores, k, lo, n, listed)
	return scores
}

// kernels fills out with exp(-|x_p - C_k|^2 / (2 sigma^2)) for a tile.
func (e *episode) kernels(out, dots []float32, lo, n int, listed []int32) {
	k := e.classes.k
	width := float32(-1 / (2 * e.model.sigma2))
	for i := range n {
		p := lo + i
		if listed != nil {
			p = int(listed[i])
		}
		own := e.rows.squareU[p]
		for c := range k {
			out[i*k+c] = width * max(0, own-2*dots[i*k+c]+float32(e.prototypes.length[c]))
		}
	}
	kernel.Exp(out, out)
}

// relax replaces row p of a dense S by the softmax of scores, with graph plus lambda (W S + b)_p, and returns
// its L1 change. It overwrites scores.
func (e *episode) relax(p int, scores []float32, graph bool) float64 {
	var columns []int32
	var weights []float32
	if graph {
		columns, weights = e.addFixedNeighbours(p, scores)
	}
	return float64(kernel.Relax(e.s.row(p), scores, float32(e.model.lambda), e.s.values, columns, weights))
}

// addFixedNeighbours adds lambda b_p to a row of scores, which does not change in a descent, and returns the
// other neighbours. Labelled rows of the episode are among these: they are one-hot in S.
func (e *episode) addFixedNeighbours(p int, scores []float32) (columns []int32, weights []float32) {
	columns, weights = e.graph.Row(p)
	for last := len(columns) - 1; last >= 0 && int(columns[last]) >= e.rows.n; last-- { // examples: columns ascend
		scores[e.rows.label[columns[last]]] += float32(e.model.lambda) * weights[last]
		columns = columns[:last]
	}
	e.addEvidence(p, scores)
	return columns, weights
}

// fitPrototypes sets each C_k to its minimiser: exact for means, see shift for modes. A class with less than
// leastMass keeps its prototype, as R hardly depends on it.
func (e *episode) fitPrototypes() {
	count := e.rows.n
	if !e.s.started {
		count = 0
	} else if e.settings.Paper.HardStep {
		e.scratch.hard.size(e.rows.n, e.classes.k)
		for p := range e.rows.n {
			e.scratch.hard.clamp(p, int32(e.s.answer(p)))
		}
	}
	if e.model.modes && e.s.started {
		e.shift()
		return
	}
	e.prototypes.space.average(count, true, false)
	if e.model.modes { // from the mean of labelled rows and prior to its mode
		e.shift()
		return
	}
	e.prototypes.psi = vector.Zeroed(e.prototypes.psi, e.classes.k)
	for c, length := range e.prototypes.length {
		if length > 0 {
			var by float64
			if by, e.prototypes.psi[c] = Pull(e.model.pull, length); e.model.pull > 0 {
				e.prototypes.space.scale(c, by)
			}
		}
	}
}

// shift moves each prototype to a mode by mean shift from its present position, until no density rises by
// more than a millionth. Each shift raises the density, so that stopping early lowers R too. The mode depends
// on the start.
func (e *episode) shift() {
	k := e.classes.k
	e.scratch.density = vector.Resize(e.scratch.density, ((e.rows.all+tile-1)/tile+1)*k)
	clear(e.scratch.last)
	const most = 100
	for range most {
		clear(e.scratch.density)
		e.prototypes.space.average(e.rows.all, false, true)
		moving := false
		clear(e.scratch.total)
		for at := 0; at < len(e.scratch.density); at += k {
			for c := range k {
				e.scratch.total[c] += float64(e.scratch.density[at+c])
			}
		}
		for c := range k {
			moving = moving || e.scratch.total[c] > e.scratch.last[c]*(1+1e-6)
		}
		copy(e.scratch.last, e.scratch.total)
		if !moving { // density before this shift, which does not lower it
			break
		}
	}
	e.masses()
}

// masses sets soft to the sum of S over the unlabelled rows.
func (e *episode) masses() {
	clear(e.mass.soft)
	if !e.s.started {
		return
	}
	for p, y := range e.rows.label[:e.rows.n] {
		if y < 0 {
			for c, v := range e.s.all(p) {
				e.mass.soft[c] += float64(v)
			}
		}
	}
}

// proportions sets pi_k = (sum_p s_pk + cpi pi0_k) / (n + cpi).
func (e *episode) proportions() {
	if e.settings.Paper.HardStep {
		e.masses()
	}
	total := float64(e.rows.unlabelled) + e.model.cpi
	if total == 0 {
		return
	}
	for c := range e.classes.k {
		e.classes.pi[c] = (e.mass.soft[c] + e.model.cpi*e.classes.pi0[c]) / total
	}
}
