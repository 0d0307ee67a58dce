package stream

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Stream answers the episodes of one stream, in order, and remembers. One goroutine uses it at a time; a Clone is another's.
type Stream struct {
	Name     string
	settings Settings

	model     string // the embedder that everything below belongs to
	dimension int    // 0 until the first episode
	episode   int64
	learned   Place

	classes map[string]*class
	seen    uint64          // the sum of the labels in force at the first episode, or since
	topic   map[uint64]bool // the stream's own part of the labels topic, as it was followed last
	taught  bool            // a label came after the first episode: learned prototypes are off from then on

	metric     metricState
	verdicts   []verdict
	spread     spread     // of unknown scores
	recurrence recurrence // of the classes, for the proportions
	credit     float64    // review: what the bounded rate has not spent yet
	clusters   clusterSet

	notes []string // to be said in the next report
}

// class is what the stream knows of one class. A class that a Clone holds too is copied before it changes.
type class struct {
	shared   bool
	examples []example // what the stream itself was taught, oldest first
	mean     []float32 // m', the mean of admitted z; nil before the first
	mass     float64   // n'
	count    float64   // items lately seen, half of them in the last episode: for the proportions
}

// example is a labelled item of the stream's own feed.
type example struct {
	id      string
	vector  []float32 // never changed
	episode int64
}

// New is a stream that remembers nothing yet.
func New(name string, s Settings) *Stream {
	return &Stream{Name: name, settings: s.filled(), learned: Nowhere, classes: map[string]*class{}}
}

// Episode is the number of episodes answered.
func (s *Stream) Episode() int64 { return s.episode }

// LearnedTo is the place of the last item the stream has learned. Items up to it were answered, and their results handed
// over, before the state that says so was written: who reads them again skips them, and nothing is learned twice.
func (s *Stream) LearnedTo() Place { return s.learned }

// Model and Dimension say what the state belongs to; dimension 0 before the first episode.
func (s *Stream) Model() string  { return s.model }
func (s *Stream) Dimension() int { return s.dimension }

// Clone is a copy that may be encoded while the original answers the next episode. It copies no vectors: what both hold is
// copied by whichever changes it first.
func (s *Stream) Clone() *Stream {
	c := *s
	c.classes = make(map[string]*class, len(s.classes))
	for name, k := range s.classes {
		k.shared = true
		c.classes[name] = k
	}
	c.verdicts = slices.Clone(s.verdicts)
	c.clusters = s.clusters.clone()
	c.notes = slices.Clone(s.notes)
	return &c
}

// Reset forgets one class, or with "" everything but the episode number and the place learned to: those say what was
// answered, not what was learned. It tells whether there was anything to forget.
func (s *Stream) Reset(label string) bool {
	if label == "" {
		had := s.episode > 0
		s.fresh("reset")
		return had
	}
	_, had := s.classes[label]
	delete(s.classes, label)
	if s.clusters.drop(label) {
		had = true
	}
	s.verdicts = slices.DeleteFunc(s.verdicts, func(v verdict) bool { return v.label == label })
	if had {
		s.notes = append(s.notes, fmt.Sprintf("class %q reset", label))
	}
	return had
}

// fresh starts the stream from its labels alone, and says why.
func (s *Stream) fresh(why string) {
	next := New(s.Name, s.settings)
	next.episode, next.learned = s.episode, s.learned
	next.clusters.next = s.clusters.next // an id is never given twice
	next.notes = append(s.notes, why+": the stream starts from its labels")
	*s = *next
}

// own returns the class for writing.
func (s *Stream) own(name string) *class {
	k := s.classes[name]
	if k == nil {
		k = &class{}
		s.classes[name] = k
	} else if k.shared {
		copied := *k
		copied.shared = false
		copied.examples = slices.Clone(k.examples)
		copied.mean = slices.Clone(k.mean)
		k = &copied
		s.classes[name] = k
	}
	return k
}

// names lists the classes the stream holds something of, in order.
func (s *Stream) names() []string { return slices.Sorted(maps.Keys(s.classes)) }

// forget drops the example of an id wherever it is, and tells whether it was there.
func (s *Stream) forget(id string) bool {
	for _, name := range s.names() {
		i := slices.IndexFunc(s.classes[name].examples, func(e example) bool { return e.id == id })
		if i >= 0 {
			k := s.own(name)
			k.examples = slices.Delete(k.examples, i, i+1)
			return true
		}
	}
	return false
}

// keep adds a taught item to its class. A full class gives up the older of its two most alike examples, never the newest
// one, so that what stays is recent and distinct; keep returns the id of the one given up.
func (s *Stream) keep(label string, e example) (dropped string) {
	s.forget(e.id)
	k := s.own(label)
	k.examples = append(k.examples, e)
	if len(k.examples) <= s.settings.Examples {
		return ""
	}
	older, closest := 0, math.Inf(-1)
	for i := range k.examples {
		for j := i + 1; j < len(k.examples); j++ {
			if c := cosine(k.examples[i].vector, k.examples[j].vector); c > closest {
				older, closest = i, c
			}
		}
	}
	dropped = k.examples[older].id
	k.examples = slices.Delete(k.examples, older, older+1)
	return dropped
}

// cosine compares directions: an embedding's length says little of what it shows.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		ab += x * y
		aa += x * x
		bb += y * y
	}
	return ab / max(math.Sqrt(aa*bb), math.SmallestNonzeroFloat64)
}

// Kept is one class in a Summary.
type Kept struct {
	Class    string
	Examples int     // taught by the stream's own feed
	Mass     float64 // of the learned prototype
	Share    float64 // of the sticky proportions
}

// Summary is what a person may want to know of a stream's memory.
type Summary struct {
	Name      string
	Model     string
	Dimension int
	Episode   int64
	LearnedTo Place
	Taught    bool // learned prototypes are off: labels came after the first episode
	Metric    bool // a metric of its own is in force
	Answers   int  // leave-one-out answers that the confidence is calibrated on
	Bytes     int  // of the encoded state
	Classes   []Kept
	Clusters  []Cluster
}

// Summary describes the stream.
func (s *Stream) Summary() Summary {
	out := Summary{
		Name: s.Name, Model: s.model, Dimension: s.dimension, Episode: s.episode, LearnedTo: s.learned, Taught: s.taught,
		Metric: s.metric.current != nil, Answers: len(s.verdicts), Clusters: s.clusters.summary(),
	}
	var total float64
	for _, k := range s.classes {
		total += k.count
	}
	for name, k := range s.classes {
		out.Classes = append(out.Classes, Kept{Class: name, Examples: len(k.examples), Mass: k.mass, Share: k.count / max(total, 1e-9)})
	}
	slices.SortFunc(out.Classes, func(a, b Kept) int { return cmp.Compare(a.Class, b.Class) })
	for _, p := range s.State() {
		out.Bytes += len(p.Bytes)
	}
	return out
}
