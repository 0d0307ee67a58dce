// Package solver labels an episode of embeddings with SLK, Laplacian-regularised K-prototypes: one objective R, several
// presets, every step an exact block minimisation. It knows nothing of Kafka, files or clocks.
package solver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/index"
)

// Methods are the names that Settings.Method may have. All are settings of one solver: kmeans and kmodes have no graph
// (lambda 0), laplacianshot keeps its prototypes where the labelled items put them, nearest does both.
var Methods = []string{"slk-means", "slk-ms", "kmeans", "kmodes", "laplacianshot", "nearest"}

// Presets are the names that Preset knows.
var Presets = []string{"default", "balanced", "clamped", "paper"}

// Settings are every number of the objective and of its descent; Preset gives measured ones.
type Settings struct {
	Method         string  // one of Methods
	Lambda         float64 // weight of the Laplacian
	Rho            int     // graph neighbours of each point
	Tau            float64 // weight of the distance to a mean
	U              float64 // how far means are pulled to the unit sphere: 0 K-means, 1 spherical
	Kappa, Sigma   float64 // height and width of a mode's kernel; Sigma 0 is estimated from the graph
	Beta, CPI      float64 // weight of the class proportions, and of their prior counts
	WS             float64 // weight of a labelled item in its prototype; 0 is max(1, .5 log2 K)
	Outer, Inner   int     // prototype steps, assignment sweeps for each
	Tolerance      float64 // stop when the mean L1 change of S in a sweep is below
	Power          float64 // sign(x)|x|^Power before anything else
	MetricRank     int     // directions a learned metric shrinks; 0: none is learned
	MetricShrink   float64 // how far the metric's scatter is drawn to a sphere: 1 changes nothing
	BiasCorrection bool    // move the unlabelled rows by the difference of the means of labelled and unlabelled
	HardStep       bool    // prototypes from the labels, not from S: the paper's way, R may rise
	Restart        bool    // forget S at each prototype step: the paper's way, R may rise
	Check          bool    // compute R after every half-step: Result.Trace and Result.Rises (slow)
	Restarts       int     // clustering only: starts tried, the best by Choice is kept; 0 is 1
	Start          string  // clustering only: graph (default) or k-means++
	Choice         string  // clustering only: objective (default) or energy chooses among restarts
	Index          string  // how neighbours are searched for, one of index.Methods; "" is auto. Small episodes are always searched exactly
	RecallFloor    float64 // share of true neighbours an approximate search must find, else the search is exact; 0: index.DefaultRecallFloor
	Seed           uint64
}

// Preset returns the settings of a name; "" is the default.
func Preset(name string) (Settings, error) {
	s := Settings{
		Method: "slk-means", Lambda: .8, Rho: 4, Tau: 5, U: .75, Kappa: 10, Sigma: math.Sqrt(1.2), Beta: .25, CPI: 10,
		Outer: 12, Inner: 1, Tolerance: .01, Power: .75, MetricRank: 32, MetricShrink: .85,
	}
	switch name {
	case "", "default":
	case "balanced":
		s.Lambda, s.Rho = .7, 3
	case "clamped":
		s.Power, s.U, s.Tau, s.Lambda, s.Rho, s.Beta, s.WS, s.MetricRank, s.Outer, s.Inner = 1, 0, 15, 1, 3, 0, 1, 0, 15, 5
	case "paper":
		s.Power, s.U, s.Tau, s.Lambda, s.Rho, s.Beta, s.WS, s.MetricRank, s.Outer, s.Inner = 1, 0, 1, 1, 3, 0, 1, 0, 20, 20
		s.Kappa, s.Sigma, s.BiasCorrection, s.HardStep, s.Restart = 1, 0, true, true, true
	default:
		return s, fmt.Errorf("preset %q: not one of %s", name, strings.Join(Presets, ", "))
	}
	return s, nil
}

// Clustering returns the measured settings for parting a whole set into clusters without labels or prior, by one of
// Methods. Few-shot settings do not carry over: no class holds its place there, so that the graph must weigh more.
func Clustering(method string) (Settings, error) {
	if !slices.Contains(Methods, method) {
		return Settings{}, fmt.Errorf("method %q: not one of %s", method, strings.Join(Methods, ", "))
	}
	s := Settings{Method: method, Lambda: 2, Rho: 5, Tau: 1, Kappa: 1, Sigma: .4, Outer: 15, Inner: 4, Tolerance: .01, Power: 1, WS: 1}
	if s.lambda() == 0 { // nothing but the distance parts the clusters: at tau 1 every row would belong to all of them
		s.Tau, s.Kappa, s.Outer, s.Inner = 50, 50, 100, 1
	}
	return s, nil
}

// Validate reports every fault of the settings at once.
func (s Settings) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !slices.Contains(Methods, s.Method) {
		bad("method %q: not one of %s", s.Method, strings.Join(Methods, ", "))
	}
	for _, v := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"lambda", s.Lambda, 0, 1e6},
		{"tau", s.Tau, 0, 1e6},
		{"u", s.U, 0, 1},
		{"kappa", s.Kappa, 0, 1e6},
		{"sigma", s.Sigma, 0, 1e6},
		{"beta", s.Beta, 0, 1e6},
		{"cpi", s.CPI, 0, 1e12},
		{"ws", s.WS, 0, 1e6},
		{"outer", float64(s.Outer), 1, 1e6},
		{"inner", float64(s.Inner), 1, 1e6},
		{"tolerance", s.Tolerance, 0, 2},
		{"rho", float64(s.Rho), 0, 1e6},
		{"power", s.Power, .01, 10},
		{"metric-rank", float64(s.MetricRank), 0, 1e5},
		{"metric-shrink", s.MetricShrink, 0, 1},
		{"restarts", float64(s.Restarts), 0, 1e4},
		{"recall-floor", s.RecallFloor, 0, 1},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			bad("%s %g: not between %g and %g", v.name, v.value, v.low, v.high)
		}
	}
	if s.Start != "" && s.Start != "graph" && s.Start != "k-means++" {
		bad("start %q: not one of graph, k-means++", s.Start)
	}
	if s.Choice != "" && s.Choice != "objective" && s.Choice != "energy" {
		bad("choice %q: not one of objective, energy", s.Choice)
	}
	if s.Index != "" && !slices.Contains(index.Methods(), s.Index) {
		bad("index %q: not one of %s", s.Index, strings.Join(index.Methods(), ", "))
	}
	return errors.Join(faults...)
}

// modes says that prototypes are modes of a kernel density, not means.
func (s *Settings) modes() bool { return s.Method == "slk-ms" || s.Method == "kmodes" }

// fixed says that prototypes stay where the labelled items put them.
func (s *Settings) fixed() bool { return s.Method == "laplacianshot" || s.Method == "nearest" }

// lambda is the weight of the Laplacian that the method allows.
func (s *Settings) lambda() float64 {
	switch s.Method {
	case "kmeans", "kmodes", "nearest":
		return 0
	}
	return s.Lambda
}
