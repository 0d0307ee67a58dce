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
func (e *episode) descend(ctx context.Context, r *Result, progress func(sweeps, most int)) error {
	outer, inner := e.settings.Outer, e.settings.Inner
	if e.still {
		outer, inner = 1, 20
	}
	if e.settings.Method == Nearest {
		inner = 0
	}
	e.prototypes()
	if !e.started {
		e.sweep(false)
		e.started = true
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
		if e.still {
			break
		}
		e.prototypes()
		e.note(r)
		if e.beta > 0 && e.block == 0 { // proportions of blocks are drawn to pi, which stays fixed
			e.proportions()
			e.note(r)
		}
		if r.Iterations == annealed {
			e.anneal(annealed, annealed)
			e.begin(r)
		}
	}
	if e.judged {
		r.ObjectiveAfter = e.objective()
	}
	return nil
}

// annealed returns the number of prototype steps in the annealed start.
func (e *episode) annealed() int {
	if e.still || e.clustering || e.n > serial || e.settings.Anneal == 0 || e.settings.Anneal == 1 {
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
	e.lambda = scale * e.settings.lambda()
	e.tau, e.kappa = scale*e.sharpness*e.settings.Tau, scale*e.sharpness*e.settings.Kappa
}

// begin sets the final weights and records R. From here on R must not rise.
func (e *episode) begin(r *Result) {
	e.anneal(0, 0)
	if !e.judged {
		return
	}
	r.ObjectiveBefore = e.objective()
	if e.settings.Check {
		r.Trace = append(r.Trace, r.ObjectiveBefore)
	}
}

// note appends R to the trace and counts it if it rose.
func (e *episode) note(r *Result) {
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
	mass, scale := float64(e.unlabelled), 1+e.lambda+e.likeness.weight
	for _, held := range e.held {
		mass += held
	}
	if e.modes {
		scale += e.kappa
	} else {
		scale += e.tau
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
	graph = graph && e.lambda > 0
	e.setBase()
	if e.block > 0 {
		return e.sweepBlocks(graph) / float64(max(1, e.unlabelled))
	}
	offsets := e.order.offsets
	if !graph { // no row reads another: as they lie in memory
		offsets = []int{0, e.n}
	}
	var change float64
	for colour, lo := range offsets[:len(offsets)-1] {
		hi := offsets[colour+1]
		blocks := (hi - lo + tile - 1) / tile
		e.changes = vector.Resize(e.changes, blocks)
		e.pool.run(blocks, func(w *worker, block int) { e.updateBlock(w, lo+block*tile, hi, block, graph) })
		for _, v := range e.changes[:blocks] {
			change += v
		}
	}
	return change / float64(max(1, e.unlabelled))
}

// setBase sets the part of the scores that all points share.
func (e *episode) setBase() {
	k := e.k
	e.base = vector.Resize(e.base, k)
	for c := range k {
		var base float64
		if !e.modes {
			base = -e.tau * e.psi[c]
		}
		if e.beta > 0 && e.block == 0 {
			base += e.beta * math.Log(e.pi[c])
		}
		e.base[c] = float32(base)
	}
}

// updateBlock updates the points of one tile of the order.
func (e *episode) updateBlock(w *worker, lo, hi, block int, graph bool) {
	k, n := e.k, min(tile, hi-lo)
	var listed []int32
	if graph && e.order.points != nil {
		listed = e.order.points[lo : lo+n]
	}
	if e.s.sparse() {
		e.changes[block] = e.updateSparse(w, lo, n, listed)
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
		if e.label[p] < 0 {
			change += e.relax(p, scores[i*k:i*k+k], graph)
		}
	}
	e.changes[block] = change
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
	k := e.k
	dots := e.space.dots(w, lo, n, listed)
	scores := w.scores[:n*k]
	for filled := copy(scores, e.base); filled < len(scores); filled *= 2 { // every row begins with base
		copy(scores[filled:], scores[:filled])
	}
	if e.modes {
		e.kernels(dots, dots, lo, n, listed)
		kernel.Axpy(float32(e.kappa), dots, scores)
	} else {
		kernel.Axpy(float32(2*e.tau), dots, scores)
	}
	e.likeness.add(scores, k, lo, n, listed)
	return scores
}

// kernels fills out with exp(-|x_p - C_k|^2 / (2 sigma^2)) for a tile.
func (e *episode) kernels(out, dots []float32, lo, n int, listed []int32) {
	k := e.k
	width := float32(-1 / (2 * e.sigma2))
	for i := range n {
		p := lo + i
		if listed != nil {
			p = int(listed[i])
		}
		own := e.own[p]
		for c := range k {
			out[i*k+c] = width * max(0, own-2*dots[i*k+c]+float32(e.length[c]))
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
	return float64(kernel.Relax(e.s.row(p), scores, float32(e.lambda), e.s.values, columns, weights))
}

// addFixedNeighbours adds lambda b_p to a row of scores, which does not change in a descent, and returns the
// other neighbours. Labelled rows of the episode are among these: they are one-hot in S.
func (e *episode) addFixedNeighbours(p int, scores []float32) (columns []int32, weights []float32) {
	columns, weights = e.graph.Row(p)
	for last := len(columns) - 1; last >= 0 && int(columns[last]) >= e.n; last-- { // anchors: columns ascend
		scores[e.label[columns[last]]] += float32(e.lambda) * weights[last]
		columns = columns[:last]
	}
	e.addEvidence(p, scores)
	return columns, weights
}

// prototypes sets each C_k to its minimiser: exact for means, see shift for modes. A class with less than
// leastMass keeps its prototype, as R hardly depends on it.
func (e *episode) prototypes() {
	count := e.n
	if !e.started {
		count = 0
	} else if e.settings.Paper.HardStep {
		e.hard.size(e.n, e.k)
		for p := range e.n {
			e.hard.clamp(p, int32(e.s.answer(p)))
		}
	}
	if e.modes && e.started {
		e.shift()
		return
	}
	e.space.average(count, true, false)
	if e.modes { // from the mean of labelled rows and prior to its mode
		e.shift()
		return
	}
	e.psi = vector.Zeroed(e.psi, e.k)
	for c, length := range e.length {
		if length > 0 {
			var by float64
			if by, e.psi[c] = Pull(e.pull, length); e.pull > 0 {
				e.space.scale(c, by)
			}
		}
	}
}

// weigh returns the weights of a tile's rows, k values a row: S, and with density S times the kernel between
// row and prototype.
func (e *episode) weigh(w *worker, lo, n int, density bool) []float32 {
	if density {
		return e.densityWeights(w, lo, n)
	}
	return e.softWeights(w, lo, n)
}

// counted returns the S from which prototypes are computed: with HardStep the one-hot labels.
func (e *episode) counted() *assignments {
	if e.settings.Paper.HardStep {
		return &e.hard
	}
	return &e.s
}

// softWeights returns S of a tile, with zeros for labelled rows, which count by their own weight.
func (e *episode) softWeights(w *worker, lo, n int) []float32 {
	k, s := e.k, e.counted()
	if e.unlabelled == e.n && !s.sparse() {
		return s.values[lo*k : (lo+n)*k]
	}
	out := w.weights[:n*k]
	s.expand(out, lo, n)
	for i := range n {
		if e.label[lo+i] >= 0 {
			clear(out[i*k : i*k+k])
		}
	}
	return out
}

// shift moves each prototype to a mode by mean shift from its present position, until no density rises by
// more than a millionth. Each shift raises the density, so that stopping early lowers R too. The mode depends
// on the start.
func (e *episode) shift() {
	k := e.k
	e.density = vector.Resize(e.density, ((e.rows+tile-1)/tile+1)*k)
	clear(e.last)
	const most = 100
	for range most {
		clear(e.density)
		e.space.average(e.rows, false, true)
		moving := false
		clear(e.total)
		for at := 0; at < len(e.density); at += k {
			for c := range k {
				e.total[c] += float64(e.density[at+c])
			}
		}
		for c := range k {
			moving = moving || e.total[c] > e.last[c]*(1+1e-6)
		}
		copy(e.last, e.total)
		if !moving { // density before this shift, which does not lower it
			break
		}
	}
	e.masses()
}

// densityWeights returns, for a tile, a row's weight in a class times the kernel between them, and adds up
// these values in density.
func (e *episode) densityWeights(w *worker, lo, n int) []float32 {
	k := e.k
	out := w.weights[:n*k]
	e.kernels(out, e.space.dots(w, lo, n, nil), lo, n, nil)
	s := e.counted()
	for i := range n {
		row, p := out[i*k:i*k+k], lo+i
		if y := e.fixed[p]; y >= 0 {
			near := row[y]
			clear(row)
			row[y] = near * e.weight[p]
			continue
		}
		if !e.started || p >= e.n {
			clear(row)
			continue
		}
		if !s.sparse() {
			for c, v := range s.row(p) {
				row[c] *= v
			}
			continue
		}
		var near [sparseWidth]float32
		shares := s.elements(p)
		for j, v := range shares {
			near[j] = row[v.class] * v.value
		}
		clear(row)
		for j, v := range shares {
			row[v.class] = near[j]
		}
	}
	sum := e.density[lo/tile*k : lo/tile*k+k]
	for i := range n {
		for c, v := range out[i*k : i*k+k] {
			sum[c] += v
		}
	}
	return out
}

// masses sets soft to the sum of S over the unlabelled rows.
func (e *episode) masses() {
	clear(e.soft)
	if !e.started {
		return
	}
	for p, y := range e.label[:e.n] {
		if y < 0 {
			for c, v := range e.s.all(p) {
				e.soft[c] += float64(v)
			}
		}
	}
}

// proportions sets pi_k = (sum_p s_pk + cpi pi0_k) / (n + cpi).
func (e *episode) proportions() {
	if e.settings.Paper.HardStep {
		e.masses()
	}
	total := float64(e.unlabelled) + e.cpi
	if total == 0 {
		return
	}
	for c := range e.k {
		e.pi[c] = (e.soft[c] + e.cpi*e.pi0[c]) / total
	}
}
