package stream

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/slkstream/slkstream/solver"
)

// Settings configure how a stream answers and what it learns.
type Settings struct {
	Solver solver.Settings

	Judged    bool // reports have the objective before and after the descent; else 0, which saves computing it
	Summaries bool `json:"-"` // reports have the clusters that have changed
	Warm      bool // learn from episode to episode; false answers every episode from its labels alone
	Discover  bool // items that no label explains form clusters with stable ids

	// DiscoverDistance is how fine clusters are: items further than this from every cluster, by 1 - cosine, make
	// a new one. 0: .36
	DiscoverDistance float64

	// Time uses the order of the items: consecutive ones are likely the same object, as far as the stream itself
	// shows it. FrameWeight is how strongly items of one frame are held to be different objects; 0: not at all.
	// TrackTTL is the number of the stream's items for which the labels of a track are kept after its last one.
	// In episodes of more than 2,048 items none of these is used.
	Time        bool
	FrameWeight float64
	TrackTTL    int

	Examples int // labelled items of the stream's own feed kept per class; 0: 50

	// Budget bounds the memory of metrics; nil: no bound. Answers do not depend on it until it is used up.
	Budget Budget `json:"-"`

	UnknownRate float64 // share of known items that may be called unknown; 0: .05
	ReviewRate  float64 // share of items proposed for a person to label; 0 proposes none
	MaxWrong    float64 // share of sure answers that may be wrong; 0: no answer is called sure
}

// Defaults returns the default settings, which were chosen by measurement.
func Defaults() Settings {
	return Settings{
		Solver: solver.Defaults(), Warm: true, Time: true, FrameWeight: 4, TrackTTL: 1000, Examples: 50, UnknownRate: .05, DiscoverDistance: .36,
	}
}

// filled replaces zero values of bounds by their defaults, so that Settings{Solver: s, Warm: true} is
// a valid stream.
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
	return errors.Join(append(faults, s.Solver.Validate())...)
}

// fingerprint changes with every setting that gives learned state another meaning: the power and the metric,
// which define its space, and what is learned at all. It does not cover settings that only change how an
// episode is solved.
func (s Settings) fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "power %g warm %t discover %t rank %d shrink %g",
		s.Solver.Power, s.Warm, s.Discover, s.Solver.MetricRank, s.Solver.MetricShrink)
	return h.Sum64()
}
