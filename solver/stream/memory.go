// Package stream is what a stream remembers from episode to episode: labelled examples, learned prototypes, class
// proportions, the metric, calibration, clusters. It is pure: no Kafka, no clock, no goroutine. Every answer, and
// everything learned, is a function of the stream's own items, the labels in force and the settings, so that the same input
// gives the same answers bit for bit, however often the stream was encoded and restored in between.
package stream

import (
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/slkstream/slkstream/solver"
)

// Settings say how a stream answers and what it learns.
type Settings struct {
	Solver solver.Settings

	Warm     bool // learn from episode to episode; false answers every episode from its labels alone
	Discover bool // what no label explains forms clusters with stable ids

	Gate      float64 // an answer is learned from at this confidence z ...
	Agree     float64 // ... and at this agreement with the prototypes of the labelled items alone
	Mass      float64 // no learned prototype weighs more than this many items
	Examples  int     // labelled items kept a class of what the stream itself was taught
	Clusters  int     // clusters kept; the one longest unseen is retired beyond it
	Neighbour int     // with more examples than this in force, an episode sees those nearest to its items

	Share *SharedMetric // streams that share one learn their metric together; nil: each its own

	UnknownRate float64 // share of known items that may be called unknown
	ReviewRate  float64 // share of items proposed for a person to label; 0 proposes none
}

// Defaults are the measured settings around a solver's own.
func Defaults(s solver.Settings) Settings {
	return Settings{Solver: s, Warm: true, Gate: .5, Agree: .4, Mass: 50, Examples: 50, Clusters: 512, Neighbour: 4096, UnknownRate: .05}
}

// filled gives the zero value of every bound its default, so that Settings{Solver: s, Warm: true} is a valid stream.
func (s Settings) filled() Settings {
	d := Defaults(s.Solver)
	if s.Gate == 0 {
		s.Gate = d.Gate
	}
	if s.Agree == 0 {
		s.Agree = d.Agree
	}
	if s.Mass == 0 {
		s.Mass = d.Mass
	}
	if s.Examples == 0 {
		s.Examples = d.Examples
	}
	if s.Clusters == 0 {
		s.Clusters = d.Clusters
	}
	if s.Neighbour == 0 {
		s.Neighbour = d.Neighbour
	}
	if s.UnknownRate == 0 {
		s.UnknownRate = d.UnknownRate
	}
	return s
}

// Validate reports every fault at once.
func (s Settings) Validate() error {
	s = s.filled()
	var faults []error
	share := func(name string, v float64) {
		if !(v >= 0 && v <= 1) {
			faults = append(faults, fmt.Errorf("%s %g: not between 0 and 1", name, v))
		}
	}
	share("gate", s.Gate)
	share("agree", s.Agree)
	share("unknown-rate", s.UnknownRate)
	share("review-rate", s.ReviewRate)
	atLeastOne := func(name string, v float64) {
		if !(v >= 1) {
			faults = append(faults, fmt.Errorf("%s %g: below 1", name, v))
		}
	}
	atLeastOne("mass", s.Mass)
	atLeastOne("examples", float64(s.Examples))
	atLeastOne("clusters", float64(s.Clusters))
	atLeastOne("neighbour", float64(s.Neighbour))
	return errors.Join(faults...)
}

// fingerprint changes with every setting that changes what remembered numbers mean: z-space (power), what was admitted, and
// what kind of state is kept at all. Settings that only change how an episode is solved from them are not in it.
func (s Settings) fingerprint() uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "power %g warm %t discover %t rank %d shrink %g", s.Solver.Power, s.Warm, s.Discover, s.Solver.MetricRank, s.Solver.MetricShrink)
	return h.Sum64()
}

// Place is where an item stands in its partition: the offset of its record, and the object within it (-1 where the record
// is the item).
type Place struct {
	Offset int64
	Object int32
}

// After tells whether p comes later than q.
func (p Place) After(q Place) bool {
	return p.Offset > q.Offset || p.Offset == q.Offset && p.Object > q.Object
}

// Nowhere is before every place: a stream that has learned nothing has learned up to it.
var Nowhere = Place{Offset: -1, Object: -1}

// Item is one embedding of an episode. Its Label, where there is one, teaches.
type Item struct {
	ID     string // the sender's name for it; a taught item is corrected and forgotten by it
	Vector []float32
	Label  string
	Model  string // the embedder; all items of an episode have the same
	Place  Place
}

// Answer is what the stream says of one Item.
type Answer struct {
	Label        string
	Confidence   float64
	Calibrated   bool // Confidence was fitted on labelled items of this stream
	Unknown      bool
	UnknownScore float64
	Review       bool // among the few whose label would teach most
	Alternatives []Alternative
}

// Alternative is another label an item might have had.
type Alternative struct {
	Label      string
	Confidence float64
}

// Event is a change in the life of a class or cluster.
type Event struct {
	Kind  string // born, merged, retired, named
	Class string
	Into  string // merged: the one that stays; named: its name
}

// Report is the audit of one episode.
type Report struct {
	Episode       int64
	Count         int
	Iterations    int     // prototype steps
	Sweeps        int     // assignment sweeps
	Before, After float64 // the objective R
	Rises         int     // half-steps in which R rose; none is expected but with preset paper
	Warm          bool    // something learned took part in the answer
	Admitted      int     // items learned from
	Refused       int     // items the gate kept out
	PriorShare    float64 // share of the prototypes' mass, labelled items and prior together, that was the prior's
	Unknown       int
	Events        []Event
	Dropped       []string // ids of taught items no longer kept: their class was full
	Notes         []string // what a person should know, such as a start from the labels alone
}

// ErrItem is wrapped by the error that names an item no episode may hold: another dimension, NaN, Inf, or all zeros.
var ErrItem = errors.New("bad item")
