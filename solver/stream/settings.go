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

	Judged   bool // reports have the objective at both ends of the descent; else 0, which spares its sums
	Warm     bool // learn from episode to episode; false answers every episode from its labels alone
	Discover bool // what no label explains forms clusters with stable ids

	// DiscoverDistance says how fine clusters are: items that are further than this from every cluster, by 1 less the
	// cosine, make a new one. 0: .36
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

	// Budget bounds the memory of metrics; nil: nothing does. Answers do not depend on it until it is used up.
	Budget Budget

	UnknownRate float64 // share of known items that may be called unknown; 0: .05
	ReviewRate  float64 // share of items proposed for a person to label; 0 proposes none
	MaxWrong    float64 // share of sure answers that may be wrong; 0: no answer is called sure
}

// Defaults are the measured settings.
func Defaults() Settings {
	s, _ := solver.DefaultPreset.Settings() // it exists
	return Settings{
		Solver: s, Warm: true, Time: true, FrameWeight: 4, TrackTTL: 1000, Examples: 50, UnknownRate: .05, DiscoverDistance: .36,
	}
}

// filled gives the zero value of every bound its default, so that Settings{Solver: s, Warm: true} is a valid stream.
func (s Settings) filled() Settings {
	d := Defaults()
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
	if !(s.MaxWrong >= 0 && s.MaxWrong < 1) {
		faults = append(faults, fmt.Errorf("max-wrong %g: not between 0 and 1", s.MaxWrong))
	}
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
