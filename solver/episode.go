package solver

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// episode is a problem laid out to be solved, and the workspace of a Solver. Rows are the problem's rows, its anchors, and
// the prior prototypes; classes are the active ones, those with a labelled item or a prior: a class with neither is
// masked out, as its zero prototype would absorb points.
type episode struct {
	settings                    *Settings
	weights                     // of R's terms, in force: an annealed start multiplies them
	sigma2, pull, beta, cpi, ws float64
	modes, fixed                bool

	n, anchors, rows, d, k int
	unlabelled             int
	clustering             bool
	class, number          []int32   // active class -> class, and back
	label                  []int32   // rows: active class, -1 unlabelled
	weight                 []float32 // rows: what a labelled row or a prior prototype counts in its class
	mean                   []float32 // d: mu
	z, u, mapped           []float32 // rows x d; u is z, or mapped
	own                    []float32 // rows: |u|^2

	s, hard assignments
	started bool      // S holds something: before that only labelled rows and the prior count
	pi0, pi []float64 // k
	soft    []float64 // k: sum of s over unlabelled rows
	held    []float64 // k: what labelled rows and the prior weigh
	length  []float64 // k: |C|^2
	graph   graph
	balance balance
	order   sweepOrder
	bounds  bounds

	space    space
	direct   rowSpace
	gram     gramSpace
	usesGram bool
	unjudged bool // R and E are not asked for
	pool     workerPool

	terms       terms
	assessment  assessment
	base        []float32 // of a sweep, k: the part of a score that points share
	changes     []float64 // of a colour, a block each
	density     []float32 // tiles x k
	total, last []float64 // k
	wide        []float32 // n x K: S with the masked classes put back
	rowsOut     []float32 // k x d
	scratch     []float32
}

// weights are those that an annealed start multiplies.
type weights struct{ lambda, tau, kappa float64 }

// graph is W and b of an episode, and the memory in which they are made.
type graph struct {
	*index.Affinity // in force: given, built, or summed
	search          index.Report
	built, summed   index.Affinity
	lists           index.Workspace
	entries         []entry   // of Problem.Edges, row by row
	ends            []int     // of each row's entries
	evidence        []float32 // n x K: Problem.Evidence
	shifted         []float32 // rows and anchors: a Gram matrix with Problem.Lag in it
	ranked          []float32 // rho: weight of the r-th nearest
}

func (e *episode) layOut(s *Settings, p *Problem) {
	e.settings = s
	e.n, e.anchors, e.d, e.unlabelled, e.started = p.N, len(p.AnchorLabels), p.D, 0, false
	e.weights = weights{lambda: s.lambda(), tau: s.Tau, kappa: s.Kappa}
	e.pull, e.sigma2 = s.U, s.Sigma*s.Sigma
	e.beta, e.cpi, e.ws, e.modes, e.fixed = s.Beta, s.CPI, s.WS, s.modes(), s.fixed()
	e.unjudged = p.Unjudged && !s.Check
	if e.ws == 0 {
		e.ws = max(1, .5*math.Log2(float64(p.K)))
	}
	e.number = vector.Zeroed(e.number, p.K)
	for _, l := range p.Labels {
		if l >= 0 {
			e.number[l] = 1
		}
	}
	for _, l := range p.AnchorLabels {
		e.number[l] = 1
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			if w > 0 {
				e.number[k] = 1
			}
		}
	}
	e.class = e.class[:0]
	for k, on := range e.number {
		if e.number[k] = -1; on > 0 {
			e.number[k] = int32(len(e.class))
			e.class = append(e.class, int32(k))
		}
	}
	if e.clustering = len(e.class) == 0; e.clustering {
		for k := range e.number {
			e.number[k] = int32(k)
			e.class = append(e.class, int32(k))
		}
	}
	e.k = len(e.class)
	e.label, e.weight = e.label[:0], e.weight[:0]
	e.held = vector.Zeroed(e.held, e.k)
	for i := range p.N {
		if p.labelled(i) {
			e.addFixed(e.number[p.Labels[i]], float32(e.ws))
		} else {
			e.label, e.weight = append(e.label, -1), append(e.weight, 0)
			e.unlabelled++
		}
	}
	for _, l := range p.AnchorLabels {
		e.addFixed(e.number[l], float32(e.ws))
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			if w > 0 {
				e.addFixed(e.number[k], w)
			}
		}
	}
	e.rows = len(e.label)
	e.setProportions(p)
	if e.clustering {
		return // until the start says how many clusters there are
	}
	e.soft, e.length = vector.Zeroed(e.soft, e.k), vector.Zeroed(e.length, e.k)
	e.total, e.last = vector.Resize(e.total, e.k), vector.Resize(e.last, e.k)
	e.s.size(e.n, e.k)
	for p, y := range e.label[:e.n] {
		if y >= 0 {
			e.s.clamp(p, y)
		}
	}
}

// addFixed adds a row that counts for a class with a weight.
func (e *episode) addFixed(class int32, weight float32) {
	e.label, e.weight = append(e.label, class), append(e.weight, weight)
	e.held[class] += float64(weight)
}

// setProportions sets pi0 over the active classes.
func (e *episode) setProportions(p *Problem) {
	e.pi0, e.pi = vector.Resize(e.pi0, e.k), vector.Resize(e.pi, e.k)
	if e.clustering { // clusters have no names that a proportion could belong to
		p = nil
	}
	var sum float64
	for c, k := range e.class {
		e.pi0[c] = 1
		if p != nil && p.Proportions != nil {
			e.pi0[c] = p.Proportions[k]
		}
		sum += e.pi0[c]
	}
	for c := range e.pi0 {
		if sum > 0 {
			e.pi0[c] /= sum
		} else { // only masked classes have counts: nothing is known of the others
			e.pi0[c] = 1 / float64(e.k)
		}
	}
	copy(e.pi, e.pi0)
}

// neighbours fills the graph: for each unlabelled row the rho nearest among unlabelled and labelled.
func (e *episode) neighbours(ctx context.Context, p *Problem) error {
	e.graph.search = index.Report{}
	if p.Affinity != nil {
		e.graph.Affinity = p.Affinity
		return nil
	}
	e.graph.Affinity = &e.graph.built
	all := e.n + e.anchors
	if e.lambda == 0 && !(e.modes && e.sigma2 == 0) && !e.clustering && !p.Assess || e.settings.Rho == 0 || all < 2 {
		e.graph.built = index.Affinity{Offsets: vector.Zeroed(e.graph.built.Offsets, e.n+1), Columns: e.graph.built.Columns[:0], Weights: e.graph.built.Weights[:0]}
		return nil
	}
	if len(p.Lag) > 0 {
		g, stride := e.gram.g, e.rows
		if !e.usesGram {
			e.graph.shifted, stride = vector.Resize(e.graph.shifted, all*all), all
			kernel.Gram(e.graph.shifted, e.u[:all*e.d], all, e.d)
			g = e.graph.shifted
		}
		e.link(e.graph.lists.GramNeighbours(e.lagged(g, stride, p.Lag), all, min(e.settings.Rho, all-1)))
		return nil
	}
	if e.usesGram {
		g := e.gram.g
		if e.rows > all { // prior prototypes are not neighbours
			e.gram.h = vector.Resize(e.gram.h, e.rows*e.rows)
			g = e.gram.h[:all*all]
			for q := range all {
				copy(g[q*all:q*all+all], e.gram.g[q*e.rows:])
			}
		}
		lists := e.graph.lists.GramNeighbours(g, all, min(e.settings.Rho, all-1))
		e.link(lists)
		e.graph.search = lists.Report
		return nil
	}
	lists, err := e.graph.lists.Build(ctx, e.u[:all*e.d], all, e.d, index.Options{
		Rho: min(e.settings.Rho, all-1), Method: e.settings.Index, RecallFloor: e.settings.RecallFloor, Seed: e.settings.Seed, Workers: e.settings.Workers,
	})
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	e.link(lists)
	e.graph.search = lists.Report
	return nil
}

// link makes the graph of the lists. With EdgeDecay the r-th nearest weighs EdgeDecay^r times what makes the mean weight 1,
// symmetrised as without.
func (e *episode) link(lists *index.Neighbours) {
	if e.settings.EdgeDecay == 0 || e.settings.EdgeDecay == 1 {
		lists.LabelledInto(&e.graph.built, e.n, e.label, nil)
		return
	}
	width := lists.Rho
	e.graph.ranked = vector.Resize(e.graph.ranked, width)
	sum, weight := 0., 1.
	for r := range e.graph.ranked {
		e.graph.ranked[r] = float32(weight)
		sum += weight
		weight *= e.settings.EdgeDecay
	}
	kernel.Scale(float32(float64(width)/sum), e.graph.ranked)
	lists.LabelledInto(&e.graph.built, e.n, e.label, e.graph.ranked)
}

// estimateSigma sets the width of a mode's kernel where it is not given: the mean squared distance of neighbours.
func (e *episode) estimateSigma() {
	if !e.modes || e.sigma2 > 0 {
		return
	}
	var sum float64
	var pairs int
	for p := range e.n {
		columns, _ := e.graph.Row(p)
		for _, q := range columns {
			sum += float64(e.space.squaredDistance(p, int(q)))
			pairs++
		}
	}
	if e.sigma2 = 1; sum > 0 { // rows that are all equal have no width: any kernel answers the same
		e.sigma2 = sum / float64(pairs)
	}
}

// sizePool readies the workers: one for a small episode, so that nothing is started for it.
func (e *episode) sizePool() {
	workers := e.settings.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	if e.n <= serial {
		workers = 1
	}
	e.pool.resize(workers)
}

// enter readies the engine for k classes.
func (e *episode) enter() {
	e.pool.size(e.k)
	if e.usesGram {
		e.gram.enter()
	} else {
		e.direct.enter()
	}
}

// finish fills the result from the episode.
func (e *episode) finish(p *Problem, r *Result) {
	k, d := e.k, e.d
	r.Labels = vector.Resize(r.Labels, e.n)
	r.Prototypes, r.Masses = vector.Zeroed(r.Prototypes, p.K*d), vector.Zeroed(r.Masses, p.K)
	r.space, r.rows, r.class, r.k = e.space, &e.s, e.class, p.K
	widen := false
	switch {
	case e.s.sparse() && p.SparseResult:
	case !e.s.sparse() && k == p.K:
		r.S = e.s.values // shared: a second N x K is only made where classes must be put back
	default:
		e.wide, widen = vector.Resize(e.wide, e.n*p.K), true
		r.S = e.wide
	}
	for i := range e.n {
		r.Labels[i] = e.class[e.s.answer(i)]
		if widen {
			r.Row(i, r.S[i*p.K:i*p.K+p.K])
		}
	}
	e.rowsOut = vector.Zeroed(e.rowsOut, k*d)
	e.space.prototypes(e.rowsOut)
	for c, class := range e.class {
		copy(r.Prototypes[int(class)*d:int(class)*d+d], e.rowsOut[c*d:c*d+d])
		r.Masses[class] = float32(e.held[c] + e.soft[c])
	}
	r.Z, r.AnchorZ = e.z[:e.n*d], e.z[e.n*d:]
	r.Affinity, r.Search = e.graph.Affinity, e.graph.search
	if p.Assess {
		e.assess(r)
	}
}
