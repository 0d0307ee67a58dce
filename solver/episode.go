package solver

import (
	"runtime"

	"github.com/slkstream/slkstream/internal/vector"
)

// episode is a problem prepared for solving, and the workspace of a Solver. Rows are the problem's rows, its
// anchors, and the prior prototypes. Classes are the active ones, which have a labelled item or a prior: a
// class with neither is masked, because its zero prototype would absorb points.
type episode struct {
	settings                    *Settings
	weights                     // in force: an annealed start scales them
	sigma2, pull, beta, cpi, ws float64
	modes, still                bool

	n, anchors, d, k int
	rows             int  // items, labelled rows beside the episode, prior prototypes, means of labelled rows
	means            int  // the first mean
	apart            bool // each labelled row beside the episode is a row; else each class's mean is
	unlabelled       int
	clustering       bool
	class, number    []int32   // active class -> class, and back (-1: masked)
	label            []int32   // items, then anchors: active class, -1 unlabelled
	fixed            []int32   // rows: class that they hold, -1: none
	weight, count    []float32 // rows: weight in that class, number of labelled rows they stand for
	mean             []float32 // d: mu
	inverse          []float32 // items: 1 / |x - mu|
	z                []float32 // items, and anchors that are rows, x d
	v, mapped        []float32 // rows x d: by (z - centre), so that u = metric(v); v is z or mapped
	along            []float32 // directions x rows that are no means: products with v times alongScale
	by, square       []float32 // rows: see v; |z - centre|^2
	priorSquare      []float32 // classes: |m'|^2 where there is a prior
	u                []float32 // rows x d, of the row-space engine
	own              []float32 // rows: |u|^2
	points           *Points   // instead of z, v and u
	block            int       // rows that share proportions of their own; 0: none
	beside           besides
	likeness         likeness
	sharpness        float64 // Weights.Prototypes in force
	earlier          int     // the last rows come before the first

	s, hard assignments
	started bool      // S is filled; before that only labelled rows and the prior count
	pi0, pi []float64 // k
	soft    []float64 // k: sum of s over unlabelled rows
	held    []float64 // k: weight of labelled rows and prior
	length  []float64 // k: |C|^2
	psi     []float64 // k: psi_u(|C|), of means
	graph   graph
	order   sweepOrder

	space    space
	direct   rowSpace
	gram     gramSpace
	usesGram bool
	judged   bool // R is computed
	pool     workerPool

	terms       terms
	assessment  assessment
	base        []float32 // of a sweep, k: the part of a score that points share
	batch       []float32 // of a sweep by blocks: scores of the rows of a batch
	changes     []float64 // of a colour: L1 change of each block
	faults      []int     // of each tile: the first row whose embedding is not finite, -1 for none
	density     []float32 // tiles x k
	total, last []float64 // k
	wide        []float32 // n x K: S with the masked classes as zeros
	scratch     []float32
}

// weights are the weights of R's terms that an annealed start scales.
type weights struct{ lambda, tau, kappa float64 }

func (e *episode) layOut(p *Problem, everyAnchor bool) {
	s := e.settings
	e.n, e.d, e.unlabelled, e.started = p.N, p.D, 0, false
	e.weights = weights{lambda: s.lambda(), tau: s.Tau, kappa: s.Kappa}
	e.pull, e.sigma2 = s.U, s.Sigma*s.Sigma
	e.beta, e.cpi, e.ws, e.modes, e.still = s.Beta, s.CPI, s.WS, s.rules().modes, s.rules().fixed
	e.judged = p.Judge || s.Check
	e.points, e.block, e.earlier = p.Points, p.Block, p.Earlier
	e.sharpness, e.likeness.weight = 1, 0
	e.number = vector.Zeroed(e.number, p.K)
	for _, l := range p.Labels {
		if l >= 0 {
			e.number[l] = 1
		}
	}
	prepared := e.beside.prepared
	e.anchors = len(prepared.label)
	for k, members := range prepared.members {
		if members > 0 {
			e.number[k] = 1
		}
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
	e.label, e.fixed, e.weight, e.count = e.label[:0], e.fixed[:0], e.weight[:0], e.count[:0]
	e.held = vector.Zeroed(e.held, e.k)
	for i := range p.N {
		if p.labelled(i) {
			e.addFixed(e.number[p.Labels[i]], e.ws, 1)
		} else {
			e.addFixed(-1, 0, 0)
			e.unlabelled++
		}
	}
	e.label = append(e.label, e.fixed...)
	for _, l := range prepared.label {
		if l >= 0 {
			l = e.number[l]
		}
		e.label = append(e.label, l)
	}
	// A mean replaces its rows: sum |u - C|^2 is the same except for aroundMeans. This does not
	// hold for kernels.
	e.apart = e.modes || e.n > mostGram || e.settings.Paper.BiasCorrection || everyAnchor
	if e.apart {
		for _, y := range e.label[e.n:] {
			if y >= 0 {
				e.addFixed(y, e.ws, 1)
			} else {
				e.addFixed(-1, 0, 0)
			}
		}
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			if w > 0 {
				e.addFixed(e.number[k], float64(w), 0)
			}
		}
	}
	e.means = len(e.fixed)
	if !e.apart {
		for _, k := range e.class {
			if members := prepared.members[k]; members > 0 {
				e.addFixed(e.number[k], e.ws*members, members)
			}
		}
	}
	e.rows = len(e.fixed)
	e.setProportions(p)
	if e.clustering {
		return // the start says how many clusters there are
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

// addFixed adds a row that counts for a class with a weight and stands for count labelled rows. Class
// -1: for none.
func (e *episode) addFixed(class int32, weight, count float64) {
	e.fixed = append(e.fixed, class)
	e.weight, e.count = append(e.weight, float32(weight)), append(e.count, float32(count))
	if class >= 0 {
		e.held[class] += weight
	}
}

// setProportions sets pi0 over the active classes.
func (e *episode) setProportions(p *Problem) {
	e.pi0, e.pi = vector.Resize(e.pi0, e.k), vector.Resize(e.pi, e.k)
	if e.clustering { // proportions are those of classes, not of clusters
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
		} else { // only masked classes have counts
			e.pi0[c] = 1 / float64(e.k)
		}
	}
	copy(e.pi, e.pi0)
}

// estimateSigma sets sigma^2, if Settings.Sigma is 0, to the mean squared distance of neighbours.
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
	if e.sigma2 = 1; sum > 0 { // if all rows are equal, every width gives the same answer
		e.sigma2 = sum / float64(pairs)
	}
}

// sizePool sets the number of workers: one for a small episode, which then starts no goroutine.
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

// enter prepares the engine for k classes.
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
	r.episode, r.space, r.rows, r.class, r.k = e, e.space, &e.s, e.class, p.K
	widen := false
	switch {
	case e.s.sparse() && e.points != nil:
	case !e.s.sparse() && k == p.K:
		r.S = e.s.values // shared: a second N x K is made only to restore masked classes
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
	if e.points == nil {
		r.Z, r.Mean, r.Inverse = e.z[:e.n*d], e.mean, e.inverse
	}
	r.labelled, r.beside = e.label[:e.n], &e.beside
	r.Affinity = e.graph.Affinity
}
