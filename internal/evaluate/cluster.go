package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/communities"
)

// ClusterMethods are the methods of Cluster: those of the solver that need no labels, and
// the paper's baselines.
var ClusterMethods = []string{"slk-ms", "slk-means", "kmeans", "kmodes", "lk", "ncut", "kernel-kmeans"}

// Cluster clusters the rows of a set without labels, which only score the answer.
type Cluster struct {
	K        int // 0: as many as the graph has communities
	Methods  []string
	Seed     uint64
	Settings func(method string) (solver.Settings, error) // nil: solver.Clustering
	Index    string                                       // how neighbours are searched; "": auto
	Progress func(stage string, done, total int64)
}

// ClusterResult is one method on one set.
type ClusterResult struct {
	Data           string  `json:"data"`
	N              int     `json:"n"`
	K              int     `json:"k"`
	Method         string  `json:"method"`
	NMI            float64 `json:"nmi"`
	ARI            float64 `json:"ari"`
	Accuracy       float64 `json:"accuracy"`
	Energy         float64 `json:"energy"`    // E of the answer, with prototypes fitted to it
	Objective      float64 `json:"objective"` // R at the end; for a baseline, R of its one-hot answer
	GraphSeconds   float64 `json:"graph_seconds"`
	SolveSeconds   float64 `json:"solve_seconds"`
	ObjectiveRises int     `json:"objective_rises"`
	OneCluster     float64 `json:"one_cluster"` // accuracy of one cluster for all rows

	Labels []int32   `json:"-"`
	Trace  []float64 `json:"-"` // R after every half-step
}

// Space is a set prepared for clustering: unit rows and their graph, shared by all methods.
type Space struct {
	set          *Set
	rows         []float32
	graph        *index.Affinity
	GraphSeconds float64
}

// newSpace scales the rows to unit length, without centring them, and builds their graph of rho neighbours.
func newSpace(ctx context.Context, set *Set, rho int, method string, progress func(string, int64, int64)) (*Space, error) {
	s := &Space{set: set, rows: slices.Clone(set.Rows)}
	for p := range set.N {
		row := s.rows[p*set.D : p*set.D+set.D]
		if l := kernel.Dot(row, row); l > 0 {
			kernel.Scale(float32(1/math.Sqrt(float64(l))), row)
		}
	}
	from := time.Now()
	lists, err := index.Build(ctx, s.rows, set.N, set.D, index.Options{Rho: min(rho, set.N-1), Method: method, Progress: progress})
	if err != nil {
		return nil, fmt.Errorf("data %s: graph: %w", set.Name, err)
	}
	s.graph = lists.Symmetric()
	s.GraphSeconds = time.Since(from).Seconds()
	return s, nil
}

// Run clusters the set by every method, on the same graph.
func (c *Cluster) Run(ctx context.Context, set *Set) ([]ClusterResult, error) {
	if c.K < 0 || c.K == 1 || c.K > set.N {
		return nil, fmt.Errorf("data %s: k %d: between 2 and its %d rows", set.Name, c.K, set.N)
	}
	for _, method := range c.Methods {
		if !slices.Contains(ClusterMethods, method) {
			return nil, fmt.Errorf("method %q: not one of %v", method, ClusterMethods)
		}
	}
	settings, err := c.settings("slk-means")
	if err != nil {
		return nil, err
	}
	space, err := newSpace(ctx, set, settings.Rho, c.Index, c.Progress)
	if err != nil {
		return nil, err
	}
	if c.K == 0 {
		own := *c
		_, own.K = communities.Find(space.graph, 0, communities.Rows{}, c.Seed)
		c = &own
	}
	var results []ClusterResult
	for _, method := range c.Methods {
		r, err := c.solve(ctx, space, method)
		if err != nil {
			return nil, fmt.Errorf("data %s, method %s: %w", set.Name, method, err)
		}
		results = append(results, r)
	}
	return results, nil
}

// settings returns the solver's settings for a method; for a baseline, those of the energy that measures it.
func (c *Cluster) settings(method string) (solver.Settings, error) {
	of := method
	switch method {
	case "lk":
		of = "slk-ms"
	case "ncut", "kernel-kmeans":
		of = "slk-means"
	}
	if c.Settings != nil {
		return c.Settings(of)
	}
	return solver.Clustering(solver.Method(of))
}

// solve clusters a space by one method and scores the answer.
func (c *Cluster) solve(ctx context.Context, space *Space, method string) (ClusterResult, error) {
	set := space.set
	r := ClusterResult{Data: set.Name, N: set.N, K: c.K, Method: method, GraphSeconds: space.GraphSeconds}
	s, err := c.settings(method)
	if err != nil {
		return r, err
	}
	s.Seed = c.Seed
	energies := s
	if method == "kmeans" || method == "kmodes" { // the method does not use the graph, but E does
		if energies, err = c.settings(map[string]string{"kmeans": "slk-means", "kmodes": "slk-ms"}[method]); err != nil {
			return r, err
		}
	}
	m := newModel(space.rows, set.N, set.D, c.K, space.graph, energies)
	random := randomFor(c.Seed, set.Name, method)
	from := time.Now()
	var objective float64
	switch method {
	case "lk":
		r.Labels, err = laplacianKModes(ctx, m, m.nearestSpread(random))
	case "ncut":
		r.Labels, err = normalisedCut(ctx, space.graph, c.K, random)
	case "kernel-kmeans":
		var start []int32 // k-means' solution: the sparse kernel needs a good start
		if start, err = c.kmeansStart(ctx, space); err == nil {
			r.Labels = kernelKMeans(space.graph, c.K, start)
		}
	default:
		r.Labels, objective, err = c.slk(ctx, space, s, nil, nil)
	}
	r.SolveSeconds = time.Since(from).Seconds()
	if err == nil && objective != 0 { // again, to record R without adding to the method's time
		_, _, err = c.slk(ctx, space, s, nil, &r)
	}
	if err != nil {
		return r, err
	}
	r.Energy, r.Objective, _ = m.discrete(r.Labels)
	if objective != 0 {
		r.Objective = objective
	}
	truth, answer := known(set.Labels, r.Labels)
	r.NMI, r.ARI, r.Accuracy = NMI(truth, answer), ARI(truth, answer), ClusterAccuracy(truth, answer)
	r.OneCluster = ClusterAccuracy(truth, make([]int32, len(truth)))
	return r, nil
}

func (c *Cluster) kmeansStart(ctx context.Context, space *Space) ([]int32, error) {
	s, err := c.settings("kmeans")
	if err != nil {
		return nil, err
	}
	s.Seed = c.Seed
	labels, _, err := c.slk(ctx, space, s, nil, nil)
	return labels, err
}

// slk runs the solver on the space, from the given start or, if nil, its own, and returns labels and R. If r
// is not nil it also records the trace of R and its rises, which takes longer.
func (c *Cluster) slk(
	ctx context.Context,
	space *Space,
	s solver.Settings,
	start []int32,
	r *ClusterResult,
) ([]int32, float64, error) {
	s.Check = r != nil
	solve, err := solver.New(s)
	if err != nil {
		return nil, 0, err
	}
	set := space.set
	result, err := solve.Solve(ctx, &solver.Problem{
		Rows: solver.Matrix(space.rows, set.D), K: c.K, Graph: solver.GraphOf(space.graph), Start: start,
		Embedding: &solver.Embedding{Mean: make([]float32, set.D)}, Judge: true,
	})
	if err != nil {
		return nil, 0, err
	}
	if r != nil {
		r.ObjectiveRises, r.Trace = result.Rises, slices.Clone(result.Trace)
	}
	return slices.Clone(result.Labels), result.ObjectiveAfter, nil
}

// nearestSpread returns a k-means++ start: each row's nearest of k spread centres.
func (m *model) nearestSpread(random *rand.Rand) []int32 {
	labels, near := make([]int32, m.n), make([]float32, m.n)
	next := random.IntN(m.n)
	for c := range m.k {
		centre := m.row(next)
		inParallel(m.n, func(from, to int) {
			for p := from; p < to; p++ {
				if v := kernel.SquaredDistance(m.row(p), centre); c == 0 || v < near[p] {
					near[p], labels[p] = v, int32(c)
				}
			}
		})
		var total float64
		for _, v := range near {
			total += float64(v)
		}
		left := random.Float64() * total
		for next = 0; next < m.n-1 && left >= float64(near[next]); next++ {
			left -= float64(near[next])
		}
	}
	return labels
}

// known drops the rows of unknown class.
func known(truth, answer []int32) (t, a []int32) {
	for i, y := range truth {
		if y >= 0 {
			t, a = append(t, y), append(a, answer[i])
		}
	}
	return t, a
}
