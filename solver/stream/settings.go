package stream

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Settings say how a stream answers and what it learns.
type Settings struct {
	Solver solver.Settings

	Warm     bool // learn from episode to episode; false answers every episode from its labels alone
	Discover bool // what no label explains forms clusters with stable ids

	// DiscoverDistance says how fine clusters are: an item further from every cluster than this share of the mean squared
	// distance between the stream's items leads a new one. 0: .4
	DiscoverDistance float64

	// Time uses the order of the items: what comes one after the other is likely the same thing, as far as the stream itself
	// shows it. FrameWeight is how strongly items of one frame are held to be different things, 0: not at all. TrackTTL is for
	// how many items of the stream the labels of a track are remembered after its last one. Episodes of more than 2,048 items
	// are answered without.
	Time        bool
	FrameWeight float64
	TrackTTL    int

	Examples int // labelled items kept a class of what the stream itself was taught; 0: 50

	// SharedMetric lets the streams that hold the same one learn their metric together; what a stream answers then depends on
	// the others. nil: each stream its own.
	SharedMetric *metric.Shared

	UnknownRate float64 // share of known items that may be called unknown; 0: .05
	ReviewRate  float64 // share of items proposed for a person to label; 0 proposes none
}

// SolverSettings are those of a preset for the episodes of a stream. Here the default and the balanced preset are not those
// for tasks of their own: a warm start, sticky proportions and neighbours in time ask for a graph and class proportions that
// weigh more, and a stream is hardly ever balanced. docs/method.md has the figures.
func SolverSettings(p solver.Preset) (solver.Settings, error) {
	s, err := p.Settings()
	switch p {
	case "", solver.DefaultPreset, solver.BalancedPreset:
		s.Lambda, s.Rho, s.EdgeDecay, s.Tau, s.U, s.WS, s.Beta, s.CPI = .8, 4, 1, 5, .75, 0, .25, 10
		s.Balance, s.Anneal, s.AnnealSteps, s.Tolerance, s.MetricBetween = 0, 1, 0, .01, 0
		if p == solver.BalancedPreset {
			s.Lambda, s.Rho = .7, 3
		}
	}
	return s, err
}

// Defaults are the measured settings around a solver's own.
func Defaults(s solver.Settings) Settings {
	return Settings{Solver: s, Warm: true, Time: true, FrameWeight: 4, TrackTTL: 1000, Examples: 50, UnknownRate: .05, DiscoverDistance: .4}
}

// filled gives the zero value of every bound its default, so that Settings{Solver: s, Warm: true} is a valid stream.
func (s Settings) filled() Settings {
	d := Defaults(s.Solver)
	if s.Examples == 0 {
		s.Examples = d.Examples
	}
	if s.UnknownRate == 0 {
		s.UnknownRate = d.UnknownRate
	}
	if s.DiscoverDistance == 0 {
		s.DiscoverDistance = d.DiscoverDistance
	}
	return s
}

// Validate reports every fault at once.
func (s Settings) Validate() error {
	s = s.filled()
	var faults []error
	fraction := func(name string, v float64) {
		if !(v >= 0 && v <= 1) {
			faults = append(faults, fmt.Errorf("%s %g: not between 0 and 1", name, v))
		}
	}
	fraction("unknown-rate", s.UnknownRate)
	fraction("review-rate", s.ReviewRate)
	fraction("discover-distance", s.DiscoverDistance)
	if !(s.FrameWeight >= 0 && s.FrameWeight <= 1e6) {
		faults = append(faults, fmt.Errorf("frame-weight %g: not between 0 and 1e6", s.FrameWeight))
	}
	if s.TrackTTL < 0 {
		faults = append(faults, fmt.Errorf("track-ttl %d: below 0", s.TrackTTL))
	}
	if s.Examples < 1 {
		faults = append(faults, fmt.Errorf("examples %d: below 1", s.Examples))
	}
	return errors.Join(faults...)
}

// fingerprint changes with every setting that gives remembered numbers another meaning: the power and the metric, which
// make the space they live in, and what is learned at all. Settings that only change how an episode is solved from them are
// not in it.
func (s Settings) fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "power %g warm %t discover %t rank %d shrink %g", s.Solver.Power, s.Warm, s.Discover, s.Solver.MetricRank, s.Solver.MetricShrink)
	return h.Sum64()
}
