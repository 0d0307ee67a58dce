package solver

import (
	"context"
	"fmt"
	"math"

	"slkstream/index"
	"slkstream/internal/kernel"
)

// Solver owns a workspace; one goroutine uses it at a time.
type Solver struct {
	settings Settings
}

// New returns a Solver for valid settings.
func New(s Settings) (*Solver, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return &Solver{settings: s}, nil
}

// Solve labels the unlabelled rows of p by descending R from the labelled ones and the prior.
func (s *Solver) Solve(ctx context.Context, p *Problem) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	e := newEpisode(&s.settings, p)
	if e.k == 0 {
		return nil, fmt.Errorf("problem: no labelled row and no prior: nothing to start from")
	}
	e.embed(p)
	if err := e.neighbours(ctx, p); err != nil {
		return nil, err
	}
	e.estimateSigma()
	r := &Result{}
	if err := e.descend(ctx, r); err != nil {
		return nil, err
	}
	e.finish(p, r)
	return r, nil
}

// episode is a problem laid out to be solved. Rows are the problem's rows, its anchors, and the prior prototypes; classes
// are the active ones, those with a labelled item or a prior: a class with neither is masked out, as its zero prototype
// would absorb points.
type episode struct {
	*Settings
	n, anchors, rows, d, k int
	unlabelled             int
	class                  []int32   // active class -> class
	label                  []int32   // rows: active class, -1 unlabelled
	weight                 []float32 // rows: what a labelled row or a prior prototype counts in its class
	z, u                   []float32 // rows x d
	c                      []float32 // k x d, the prototypes in use
	mass                   []float64 // k
	s                      []float32 // n x k
	pi0, pi                []float64 // k
	graph                  *index.Affinity

	lambda, tau, pull, kappa, sigma2, beta, cpi, ws float64
	modes, fixed                                    bool
}

func newEpisode(s *Settings, p *Problem) *episode {
	e := &episode{Settings: s, n: p.N, anchors: len(p.AnchorLabels), d: p.D,
		lambda: s.lambda(), tau: s.Tau, pull: s.U, kappa: s.Kappa, sigma2: s.Sigma * s.Sigma, beta: s.Beta, cpi: s.CPI, ws: s.WS,
		modes: s.modes(), fixed: s.fixed()}
	if e.ws == 0 {
		e.ws = max(1, .5*math.Log2(float64(p.K)))
	}
	active := make([]bool, p.K)
	for _, l := range p.Labels {
		if l >= 0 {
			active[l] = true
		}
	}
	for _, l := range p.AnchorLabels {
		active[l] = true
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			active[k] = active[k] || w > 0
		}
	}
	number := make([]int32, p.K)
	for k, on := range active {
		number[k] = -1
		if on {
			number[k] = int32(len(e.class))
			e.class = append(e.class, int32(k))
		}
	}
	e.k = len(e.class)
	for i := range p.N {
		if p.labelled(i) {
			e.label, e.weight = append(e.label, number[p.Labels[i]]), append(e.weight, float32(e.ws))
		} else {
			e.label, e.weight = append(e.label, -1), append(e.weight, 0)
			e.unlabelled++
		}
	}
	for _, l := range p.AnchorLabels {
		e.label, e.weight = append(e.label, number[l]), append(e.weight, float32(e.ws))
	}
	if p.Prior != nil {
		for k, w := range p.Prior.Weights {
			if w > 0 {
				e.label, e.weight = append(e.label, number[k]), append(e.weight, w)
			}
		}
	}
	e.rows = len(e.label)
	e.pi0, e.pi = make([]float64, e.k), make([]float64, e.k)
	var sum float64
	for c, k := range e.class {
		e.pi0[c] = 1
		if p.Proportions != nil {
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
	e.mass = make([]float64, e.k)
	e.s, e.c = make([]float32, e.n*e.k), make([]float32, e.k*e.d)
	return e
}

// embed fills z and u: problem rows and anchors from raw values, prior prototypes at |m'| L2(metric(m' - m2)).
func (e *episode) embed(p *Problem) {
	d, own := e.d, (e.n+e.anchors)*e.d
	e.z = make([]float32, own)
	copy(e.z, p.Rows)
	copy(e.z[e.n*d:], p.Anchors)
	transform(e.z, e.Power)
	mean := make([]float32, d)
	if p.Embedding != nil {
		copy(mean, p.Embedding.Mean)
	} else {
		classMean(mean, e.z, e.label[:e.n+e.anchors], e.k)
	}
	normalise(e.z, mean, d)
	e.u = make([]float32, e.rows*d)
	copy(e.u, e.z)
	if e.BiasCorrection {
		e.correctBias()
	}
	if p.Prior != nil {
		to := own
		for k, w := range p.Prior.Weights {
			if w > 0 {
				copy(e.u[to:to+d], p.Prior.Means[k*d:k*d+d])
				to += d
			}
		}
	}
	if p.Embedding == nil || p.Embedding.Metric == nil {
		return
	}
	scratch := make([]float32, len(p.Embedding.Metric.Scales))
	p.Embedding.Metric.apply(e.u[:own], d, scratch)
	for from := own; from < len(e.u); from += d {
		row := e.u[from : from+d]
		length := kernel.Dot(row, row)
		p.Embedding.Metric.apply(row, d, scratch)
		kernel.Scale(float32(math.Sqrt(float64(length))), row)
	}
}

// correctBias moves the unlabelled rows by the difference of the means of labelled and unlabelled rows.
func (e *episode) correctBias() {
	if e.unlabelled == 0 || e.unlabelled == e.n+e.anchors {
		return
	}
	d := e.d
	shift := make([]float32, d)
	for p, y := range e.label[:e.n+e.anchors] {
		share := 1 / float32(e.n+e.anchors-e.unlabelled)
		if y < 0 {
			share = -1 / float32(e.unlabelled)
		}
		kernel.Axpy(share, e.u[p*d:p*d+d], shift)
	}
	for p, y := range e.label[:e.n] {
		if y < 0 {
			kernel.Axpy(1, shift, e.u[p*d:p*d+d])
		}
	}
}

// neighbours fills the graph: for each unlabelled row the rho nearest among unlabelled and labelled.
func (e *episode) neighbours(ctx context.Context, p *Problem) error {
	if p.Affinity != nil {
		e.graph = p.Affinity
		return nil
	}
	all := e.n + e.anchors
	if e.lambda == 0 && !(e.modes && e.sigma2 == 0) || e.Rho == 0 || all < 2 {
		e.graph = &index.Affinity{Offsets: make([]int64, e.n+1)}
		return nil
	}
	lists, err := index.Build(ctx, e.u[:all*e.d], all, e.d, index.Options{Rho: min(e.Rho, all-1)})
	if err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	e.graph = affinity(lists, e.n, e.label)
	return nil
}

// affinity is the graph of R: (A+A')/2 between unlabelled rows, weight 1 from an unlabelled row to a labelled neighbour.
func affinity(lists *index.Neighbours, n int, label []int32) *index.Affinity {
	both := lists.Symmetric()
	listed := func(p int, q int32) bool {
		for _, id := range lists.IDs[p*lists.Rho : (p+1)*lists.Rho] {
			if id == q {
				return true
			}
		}
		return false
	}
	a := &index.Affinity{Offsets: make([]int64, 1, n+1)}
	for p := range n {
		if label[p] < 0 {
			columns, weights := both.Row(p)
			for j, q := range columns {
				if label[q] < 0 {
					a.Columns, a.Weights = append(a.Columns, q), append(a.Weights, weights[j])
				} else if listed(p, q) {
					a.Columns, a.Weights = append(a.Columns, q), append(a.Weights, 1)
				}
			}
		}
		a.Offsets = append(a.Offsets, int64(len(a.Columns)))
	}
	return a
}

// estimateSigma sets the width of a mode's kernel where it is not given: the mean squared distance of neighbours.
func (e *episode) estimateSigma() {
	if !e.modes || e.sigma2 > 0 {
		return
	}
	var sum float64
	var pairs int
	d := e.d
	for p := range e.n {
		columns, _ := e.graph.Row(p)
		for _, q := range columns {
			sum += float64(kernel.SquaredDistance(e.u[p*d:p*d+d], e.u[int(q)*d:int(q)*d+d]))
			pairs++
		}
	}
	if e.sigma2 = 1; sum > 0 { // rows that are all equal have no width: any kernel answers the same
		e.sigma2 = sum / float64(pairs)
	}
}
