package stream

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Stream answers the episodes of one stream, in order, and learns from them. New and Restore make one. Only
// one goroutine may use it at a time.
type Stream struct {
	Name     string
	settings Settings
	valid    bool // settings were checked

	*state         // replaced as a whole once an episode is answered: an error leaves it as it was
	lesson *lesson // for Learn; nil: nothing

	// Kept from episode to episode while labels stay the same. Nothing that is learned depends on these.
	feed  *feed
	cache *solver.ExampleCache
	own   *Engine // that answers if the caller has none
}

// state is what a stream keeps between episodes.
type state struct {
	model     string // the embedder that everything below belongs to
	dimension int    // 0 until the first episode
	episode   int64
	turn      metric.Turn
	learned   Position
	topic     uint64   // sum of the labels topic's examples in force at the last episode
	notes     []string // for the next report
	skipped   int      // examples of another model or dimension, as last told

	// Learned state, part by part.
	metric      learnedMetric
	prototypes  prototypes
	calibration calibration
	proportions proportions
	novelty     novelty
	clusters    clusterPart
	timeline    timeline
	review      review
	classes     classes
	embedder    embedder
	earlier     earlier
	weights     weights
}

// parts lists the learned parts, in the order in which they contribute, answer and learn.
func (s *state) parts() []part {
	return []part{
		&s.metric, &s.prototypes, &s.calibration, &s.proportions, &s.novelty, &s.clusters, &s.timeline, &s.review,
		&s.classes, &s.embedder, &s.earlier, &s.weights,
	}
}

// New returns a stream that has learned nothing yet; without settings it has Defaults.
func New(name string, settings ...Settings) *Stream {
	s := &Stream{Name: name, settings: Defaults()}
	if len(settings) > 0 {
		s.settings = settings[0].filled()
	}
	s.state = &state{learned: Start}
	s.restart("")
	return s
}

// fork makes next a stream with the same state, which may change without s, and returns it.
func (s *Stream) fork(next *Stream) *Stream {
	state := *s.state
	*next = *s
	next.state = &state
	return next
}

// detach makes the stream share nothing that a part changes in place with the stream that it was forked from.
func (s *Stream) detach() { each(s.state, func(p sharer) { p.detach() }) }

// forgetCaches drops what is kept only to save work.
func (s *Stream) forgetCaches() { s.feed, s.cache = &feed{}, &solver.ExampleCache{} }

// restart makes the stream start from its labels, with a note of the reason why; "": without.
func (s *Stream) restart(why string) {
	next := &state{episode: s.episode, learned: s.learned}
	next.clusters.Set = s.clusters.Anew()
	next.weights = newWeights()
	s.state = next
	s.forgetCaches()
	if why != "" {
		s.note("%s: the stream starts from its labels", why)
	}
}

// Episode returns the number of episodes answered.
func (s *Stream) Episode() int64 { return s.episode }

// LearnedTo returns the position of the last item that the stream has learned. Items up to it were answered,
// and their results handed over, before the state with this position was written: a reader that gets them
// again skips them, so that nothing is learned twice.
func (s *Stream) LearnedTo() Position { return s.learned }

// Dimension is that of the embeddings that the state belongs to; 0 before the first episode.
func (s *Stream) Dimension() int { return s.dimension }

// Reset forgets one class, or with "" everything but the episode number and the position learned to, which
// say what was answered. It reports whether there was anything to forget.
func (s *Stream) Reset(class string) bool {
	s.Learn()
	if class == "" {
		had := s.episode > 0
		s.restart("reset")
		return had
	}
	had := false
	each(s.state, func(p resetter) { had = p.reset(class) || had })
	if had {
		s.note("class %q reset", class)
	}
	return had
}

// Bytes estimates the memory of the stream without its metric, and of the metric.
func (s *Stream) Bytes() (rest, ofMetric int) {
	rest = 4<<10 + s.cache.Bytes()
	each(s.state, func(p holder) { rest += p.bytes(s.dimension) })
	return rest, s.metric.bytes()
}

// ClassSummary is one class in a Summary.
type ClassSummary struct {
	Class      string
	Examples   int     // taught by the stream's own feed
	Mass       float64 // of the learned prototype
	Proportion float64 // of the recent items
}

// Summary describes what a stream has learned.
type Summary struct {
	Name      string
	Model     string
	Dimension int
	Episode   int64
	LearnedTo Position
	Taught    bool // labels came after the first episode: no more prototypes are learned
	Metric    bool // a metric of its own is in force
	Answers   int  // leave-one-out answers that the confidence is calibrated on
	Bytes     int  // of the encoded state
	Classes   []ClassSummary
	Clusters  []ClusterSummary
}

// Summary describes the stream.
func (s *Stream) Summary() Summary {
	out := Summary{
		Name: s.Name, Model: s.model, Dimension: s.dimension, Episode: s.episode, LearnedTo: s.learned,
		Taught: s.prototypes.taughtLater, Metric: s.metric.current != nil, Answers: len(s.calibration.answers),
		Clusters: s.Clusters(),
	}
	total := s.proportions.total()
	for name, examples := range s.classes.kept {
		out.Classes = append(out.Classes, ClassSummary{
			Class: name, Examples: len(examples), Mass: s.prototypes.mass(name),
			Proportion: s.proportions.counts[name] / max(total, 1e-9),
		})
	}
	slices.SortFunc(out.Classes, func(a, b ClassSummary) int { return cmp.Compare(a.Class, b.Class) })
	for _, p := range s.State() {
		out.Bytes += len(p.Bytes)
	}
	return out
}
