// Package solver labels an episode of embeddings with SLK, Laplacian-regularised K-prototypes: one objective
// R, several presets, every step an exact block minimisation. It knows nothing of Kafka, files or clocks.
package solver

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/index"
)

// Preset names a set of measured Settings. "" is DefaultPreset.
type Preset string

const (
	DefaultPreset Preset = "default"
	PaperPreset   Preset = "paper" // as in the paper; R may rise
)

// Presets lists every Preset.
var Presets = []Preset{DefaultPreset, PaperPreset}

// Start selects the first clusters of an episode without labels and prior.
type Start string

const (
	StartGraph  Start = "graph" // communities of the graph; k-means++ without a graph
	StartKMeans Start = "k-means++"
)

// Settings hold every parameter of the objective and of its descent. Preset.Settings returns measured ones.
type Settings struct {
	Method            Method
	Lambda            float64 // weight of the Laplacian
	Rho               int     // graph neighbours of each point
	EdgeDecay         float64 // weight of a neighbour relative to the next nearer one, in all Rho; 0, 1: equal
	Tau               float64 // weight of the distance to a mean
	Pull              float64 // how far means are pulled to the unit sphere: 0 K-means, 1 spherical
	Kappa, Sigma      float64 // height and width of a mode's kernel; Sigma 0: estimated from the graph
	Beta, PriorCounts float64 // weight of the class proportions, weight of their prior counts
	LabelWeight       float64 // weight of a labelled item in its prototype
	Outer, Inner      int     // prototype steps, assignment sweeps in each
	Anneal            float64 // first factor of Tau, Kappa and Lambda, rising to 1 over AnnealSteps; 0, 1: none
	AnnealSteps       int     // annealed prototype steps, part of Outer; R counts after them. None above 4,096 rows
	Tolerance         float64 // stop when the mean L1 change of S in a sweep is at most this, or its rounding
	Power             float64 // values are raised to sign(x)|x|^Power before anything else
	MetricRank        int     // directions of a learned metric; 0: none is learned
	MetricBetween     float64 // how much the metric shrinks directions that hardly separate classes; 0: not at all
	MetricShrink      float64 // how far the metric's scatter is shrunk to a sphere; 1: the metric changes nothing

	Start Start // of a clustering; "" is StartGraph
	Paper PaperSettings

	Index       string  // search method, one of index.Methods; "": auto. Small episodes are searched exactly
	RecallFloor float64 // least recall of an approximate search, else it is exact; 0: index.DefaultRecallFloor
	Workers     int     // goroutines for a large problem; 0: GOMAXPROCS. The answer does not depend on it
	Seed        uint64
	Check       bool // compute R after every half-step: Result.Trace and Result.Rises (slow)
}

// PaperSettings switch on steps in which the paper differs. With HardStep or ResetAssignments R may rise.
type PaperSettings struct {
	BiasCorrection   bool // add mean of labelled less mean of unlabelled rows to each unlabelled row
	HardStep         bool // compute prototypes from the answered labels, not from S
	ResetAssignments bool // recompute S without the graph before the sweeps of each prototype step
}

// Defaults returns the settings of the default preset, which were chosen by measurement.
func Defaults() Settings {
	return Settings{
		Method: SLKMeans, Lambda: .67, Rho: 5, EdgeDecay: .75, Tau: 4.5, Pull: .65, Kappa: 10, Sigma: math.Sqrt(1.2), LabelWeight: 3,
		Beta: .25, PriorCounts: 10, Outer: 12, Inner: 1, Anneal: .65, AnnealSteps: 3, Tolerance: .02,
		Power: .75, MetricRank: 32, MetricShrink: .85, MetricBetween: .1,
	}
}

// Settings returns the settings of a preset, or an error for an unknown name.
func (p Preset) Settings() (Settings, error) {
	s := Defaults()
	switch p {
	case "", DefaultPreset:
	case PaperPreset:
		s = Settings{
			Method: SLKMeans, Lambda: 1, Rho: 3, Tau: 1, Kappa: 1, LabelWeight: 1, PriorCounts: 10,
			Outer: 20, Inner: 20, Tolerance: .01, Power: 1, MetricShrink: .85,
			Paper: PaperSettings{BiasCorrection: true, HardStep: true, ResetAssignments: true},
		}
	default:
		return s, fmt.Errorf("preset %q: not one of %s", p, list(Presets))
	}
	return s, nil
}

// Clustering returns measured settings for clustering a whole set without labels or prior: the default ones
// with a heavier graph, as no labelled row holds a cluster in place.
func Clustering(method Method) (Settings, error) {
	rules, err := method.rules()
	if err != nil {
		return Settings{}, fmt.Errorf("method %w", err)
	}
	s := Defaults()
	s.Method, s.Lambda = method, 4
	if !rules.graph { // a row is of its nearest mean or mode alone, as in plain K-means
		s = Settings{
			Method: method, Rho: s.Rho, Tau: 50, Kappa: 50, Sigma: .4, Outer: 100, Inner: 1, Tolerance: .01, Power: 1, LabelWeight: 1,
		}
	}
	return s, nil
}

// Validate reports every fault of the settings at once, each as a SettingError.
func (s Settings) Validate() error {
	var faults []error
	bad := func(setting, format string, args ...any) {
		faults = append(faults, &SettingError{setting, fmt.Errorf(format, args...)})
	}
	if _, err := s.Method.rules(); err != nil {
		bad("method", "%w", err)
	}
	for _, v := range []struct {
		name      string
		value     float64
		low, high float64
	}{
		{"lambda", s.Lambda, 0, 1e6},
		{"tau", s.Tau, 0, 1e6},
		{"pull", s.Pull, 0, 1},
		{"kappa", s.Kappa, 0, 1e6},
		{"sigma", s.Sigma, 0, 1e6},
		{"beta", s.Beta, 0, 1e6},
		{"prior-counts", s.PriorCounts, 0, 1e12},
		{"label-weight", s.LabelWeight, .001, 1e6},
		{"edge-decay", s.EdgeDecay, 0, 1},
		{"anneal", s.Anneal, 0, 1},
		{"anneal-steps", float64(s.AnnealSteps), 0, 1e6},
		{"outer", float64(s.Outer), 1, 1e6},
		{"inner", float64(s.Inner), 1, 1e6},
		{"tolerance", s.Tolerance, 0, 2},
		{"rho", float64(s.Rho), 0, 1e6},
		{"power", s.Power, .01, 10},
		{"metric-rank", float64(s.MetricRank), 0, 1e5},
		{"metric-between", s.MetricBetween, 0, 1e6},
		{"metric-shrink", s.MetricShrink, 0, 1},
		{"workers", float64(s.Workers), 0, 1e4},
		{"recall-floor", s.RecallFloor, 0, 1},
	} {
		if !(v.value >= v.low && v.value <= v.high) {
			bad(v.name, "%g: not between %g and %g", v.value, v.low, v.high)
		}
	}
	if v := s.Start; v != "" && v != StartGraph && v != StartKMeans {
		bad("start", "%q: not one of %s, %s", v, StartGraph, StartKMeans)
	}
	if s.Index != "" && !slices.Contains(index.Methods(), s.Index) {
		bad("index", "%q: not one of %s", s.Index, strings.Join(index.Methods(), ", "))
	}
	return errors.Join(faults...)
}
