// Package solver labels an episode of embeddings with SLK, Laplacian-regularised K-prototypes: one objective R, several
// presets, every step an exact block minimisation. It knows nothing of Kafka, files or clocks.
package solver

import (
	"fmt"
	"math"

	"slkstream/index"
)

// Settings are every number of the objective and of its descent; Preset gives measured ones.
type Settings struct {
	Method         string  // slk-means, slk-ms, kmeans, kmodes, laplacianshot, nearest
	Lambda         float64 // weight of the Laplacian
	Rho            int     // graph neighbours of each point
	Tau            float64 // weight of the distance to a mean
	U              float64 // how far means are pulled to the unit sphere: 0 K-means, 1 spherical
	Kappa, Sigma   float64 // height and width of a mode's kernel; Sigma 0 is estimated
	Beta, CPI      float64 // weight of the class proportions, and of their prior counts
	WS             float64 // weight of a labelled item in its prototype; 0 is max(1, .5 log2 K)
	Outer, Inner   int     // prototype steps, assignment sweeps for each
	Tolerance      float64 // stop when the mean L1 change of S is below
	Power          float64 // sign(x)|x|^Power before anything else
	MetricRank     int     // 0: no metric
	MetricShrink   float64
	BiasCorrection bool
	Seed           uint64
}

// Preset returns the settings of a name: default, balanced, clamped, paper.
func Preset(name string) (Settings, error) {
	s := Settings{Method: "slk-means", Lambda: .8, Rho: 4, Tau: 5, U: .75, Kappa: 10, Sigma: math.Sqrt(1.2), Beta: .25, CPI: 10,
		Outer: 12, Inner: 1, Tolerance: .01, Power: .75, MetricRank: 32, MetricShrink: .85}
	switch name {
	case "", "default":
	case "balanced":
		s.Lambda, s.Rho = .7, 3
	case "clamped":
		s.Power, s.U, s.Tau, s.Lambda, s.Rho, s.Beta, s.WS, s.MetricRank, s.Outer, s.Inner = 1, 0, 15, 1, 3, 0, 1, 0, 15, 5
	default:
		return s, fmt.Errorf("preset %q: not one of default, balanced, clamped", name)
	}
	return s, nil
}

// Embedding maps a raw row x to the space the solver works in: z = L2(sign(x)|x|^power - Mean); with a metric,
// v = z - Centre and u = L2(v + V((scales-1) * V'v)). A nil Metric leaves u = z.
type Embedding struct {
	Mean   []float32
	Metric *Metric
}

// Metric shrinks the directions in which one class spreads: Vectors holds len(Scales) rows of dimension d.
type Metric struct {
	Centre  []float32
	Vectors []float32
	Scales  []float32
}

// Prior carries what a stream has learned into an episode: class means m' in z-space and their weights pw (0: none).
type Prior struct {
	Means   []float32 // K x D
	Weights []float32 // K
}

// Problem is one episode. Rows are raw; the solver embeds them.
type Problem struct {
	Rows    []float32 // N x D
	N, D, K int
	Labels  []int32 // N; the class of a labelled row, -1 to be solved; nil: all to be solved

	// Anchors are labelled rows outside the episode: they hold prototypes and are graph neighbours, and get no answer.
	Anchors      []float32
	AnchorLabels []int32

	Prior       *Prior
	Proportions []float64       // pi0 counts a class; nil: uniform
	Embedding   *Embedding      // nil: Mean is the mean of the labelled rows with equal weight a class, no metric
	Affinity    *index.Affinity // a given graph over the N rows; nil: built here
}

// Result is a solved episode. Its slices belong to the Solver and are valid until its next Solve.
type Result struct {
	Labels     []int32
	S          []float32 // N x K
	Z          []float32 // N x D, rows in z-space, what a stream learns from
	Prototypes []float32 // K x D in u-space
	Masses     []float32
	Affinity   *index.Affinity

	ObjectiveBefore, ObjectiveAfter float64 // R
	EnergyBefore, EnergyAfter       float64 // E
	Iterations                      int
	Stopped                         string // tolerance, outer
}

// Solver owns a workspace; one goroutine uses it at a time.
type Solver struct{ settings Settings }

// New returns a Solver for valid settings.
func New(s Settings) (*Solver, error) {
	if s.Lambda < 0 || s.Tau < 0 || s.Outer < 1 || s.Rho < 0 {
		return nil, fmt.Errorf("settings: lambda %g, tau %g and rho %d must not be negative, outer %d not below 1", s.Lambda, s.Tau, s.Rho, s.Outer)
	}
	return &Solver{s}, nil
}
