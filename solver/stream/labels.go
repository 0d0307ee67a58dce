package stream

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"iter"
	"math"
	"sync"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/ordered"
)

// Example is a labelled embedding, identified by its id: teaching the same id again corrects it.
type Example struct {
	ID, Label string
	Vector    []float32
	Model     string // the embedder; empty fits any
}

// Labels is a snapshot of the labels topic: examples for every stream, and for single ones. It must not be
// changed once it is used: With makes the next version, which shares the unchanged parts, so that any number
// of streams and versions may be in use at once.
type Labels struct {
	// The content of labels made as a literal. With leaves these empty; All lists the examples of both.
	Everyone []Example
	Stream   map[string][]Example
	// Forgotten are withdrawn ids: a stream that was taught such an item by its own feed forgets it too.
	Forgotten []string

	once     sync.Once
	version  uint64 // unique in the process
	everyone *exampleSet
	streams  ordered.List[streamExamples]
	forgot   ordered.List[string]

	names      *Names
	rejections *Rejections
}

// streamExamples are the examples of a single stream.
type streamExamples struct {
	stream string
	*exampleSet
}

func (s streamExamples) compare(stream string) int { return cmp.Compare(s.stream, stream) }

// Changes are the differences from one version of the labels to the next.
type Changes struct {
	Examples  []Change
	Forgotten map[string]bool // by id; true: withdrawn, false: no longer

	Names      *Names      // all in force; nil: unchanged
	Rejections *Rejections // all in force; nil: unchanged
}

// Change puts an example in force, replacing one of its id, or with Out removes that one.
type Change struct {
	Stream  string // that the example is for; "": for every stream
	Example Example
	Out     bool // only the example's ID counts
}

// With returns the next version. Its cost, and the memory it does not share, grow with the changes, not
// with the labels.
func (l *Labels) With(c Changes) *Labels {
	l = l.prepare()
	next := &Labels{}
	next.once.Do(func() { next.follow(l, c) })
	return next
}

// follow makes l the version after another one.
func (l *Labels) follow(before *Labels, c Changes) {
	l.version = lastLabels.Add(1)
	l.names, l.rejections = cmp.Or(c.Names, before.names), cmp.Or(c.Rejections, before.rejections)
	changes := map[string][]Change{}
	for _, x := range c.Examples {
		changes[x.Stream] = append(changes[x.Stream], x)
	}
	l.everyone = before.everyone.with(changes[""])
	delete(changes, "")
	var edits []ordered.Edit[streamExamples]
	for stream, list := range changes {
		set := before.own(stream).with(list)
		edits = append(edits, ordered.Edit[streamExamples]{
			Value: streamExamples{stream, set}, Out: set.len() == 0,
		})
	}
	l.streams = before.streams.Edit(edits)
	var ids []ordered.Edit[string]
	for id, forgotten := range c.Forgotten {
		ids = append(ids, ordered.Edit[string]{Value: id, Out: !forgotten})
	}
	l.forgot = before.forgot.Edit(ids)
}

var (
	lastLabels atomic.Uint64
	noLabels   = &Labels{}
	unprepared = &Labels{ // precedes the labels of a literal
		everyone: noExamples,
		streams:  ordered.New(func(a, b streamExamples) int { return a.compare(b.stream) }),
		forgot:   ordered.New(cmp.Compare[string]),
	}
)

// prepare returns the labels, with the fields of a literal indexed. nil are no labels.
func (l *Labels) prepare() *Labels {
	if l == nil {
		l = noLabels
	}
	l.once.Do(func() {
		c := Changes{Forgotten: map[string]bool{}}
		for _, e := range l.Everyone {
			c.Examples = append(c.Examples, Change{Example: e})
		}
		for stream, list := range l.Stream {
			for _, e := range list {
				c.Examples = append(c.Examples, Change{Stream: stream, Example: e})
			}
		}
		for _, id := range l.Forgotten {
			c.Forgotten[id] = true
		}
		l.follow(unprepared, c)
	})
	return l
}

// own returns the examples for a single stream.
func (l *Labels) own(stream string) *exampleSet {
	if s, ok := ordered.Search(l.streams, stream, streamExamples.compare); ok && s.stream == stream {
		return s.exampleSet
	}
	return noExamples
}

// All lists the examples, each with its stream, "" for every stream, in the order of the streams and
// of their ids.
func (l *Labels) All() iter.Seq2[string, *Example] {
	l = l.prepare()
	return func(yield func(string, *Example) bool) {
		for e := range l.everyone.all() {
			if !yield("", &e.Example) {
				return
			}
		}
		for s := range l.streams.All() {
			for e := range s.all() {
				if !yield(s.stream, &e.Example) {
					return
				}
			}
		}
	}
}

// Len returns the number of examples.
func (l *Labels) Len() (n int) {
	l = l.prepare()
	for s := range l.streams.All() {
		n += s.len()
	}
	return n + l.everyone.len()
}

// labelled is an example with a hash of its content. It is immutable.
type labelled struct {
	Example
	sum     uint64
	inverse float32 // of its length; 0: it has no direction
}

// exampleSet is a set of examples, one per id, with a sum of their hashes, by which sets are compared. It is
// immutable except for the fields under mutex, which are made at first use.
type exampleSet struct {
	byID    ordered.List[*labelled]
	byLabel ordered.List[*labelled] // then by id
	sum     uint64                  // of the examples' hashes: their order does not matter

	mutex sync.Mutex
	ready map[fit]*preparedSet

	hashed int // examples read to make this set
}

func (x *labelled) compareID(id string) int { return cmp.Compare(x.ID, id) }

func (x *labelled) compareLabel(label string) int { return cmp.Compare(x.Label, label) }

var noExamples = &exampleSet{
	byID: ordered.New(func(a, b *labelled) int { return a.compareID(b.ID) }),
	byLabel: ordered.New(func(a, b *labelled) int {
		return cmp.Or(a.compareLabel(b.Label), a.compareID(b.ID))
	}),
}

// with returns the set with the changes applied; the last of an id counts.
func (s *exampleSet) with(changes []Change) *exampleSet {
	if len(changes) == 0 {
		return s
	}
	last := make(map[string]int, len(changes))
	for i := range changes {
		last[changes[i].Example.ID] = i
	}
	set := &exampleSet{sum: s.sum}
	var ids, labels []ordered.Edit[*labelled]
	for i := range changes {
		e := &changes[i].Example
		old := s.find(e.ID)
		switch {
		case last[e.ID] != i, old == nil && changes[i].Out:
			continue
		case old != nil && !changes[i].Out && same(&old.Example, e):
			continue
		}
		next := &labelled{Example: *e}
		if !changes[i].Out {
			next.sum, next.inverse = e.sum(), e.inverse()
			set.hashed++
			if old != nil && old.sum == next.sum {
				continue
			}
			set.sum += next.sum
		}
		if old != nil {
			set.sum -= old.sum
			labels = append(labels, ordered.Edit[*labelled]{Value: old, Out: true})
		}
		ids = append(ids, ordered.Edit[*labelled]{Value: next, Out: changes[i].Out})
		if !changes[i].Out {
			labels = append(labels, ordered.Edit[*labelled]{Value: next})
		}
	}
	set.byID, set.byLabel = s.byID.Edit(ids), s.byLabel.Edit(labels)
	return set
}

// same reports whether two examples of one id are equal. It compares the vectors by address only.
func same(a, b *Example) bool {
	return a.Label == b.Label && a.Model == b.Model && len(a.Vector) == len(b.Vector) && len(a.Vector) > 0 &&
		&a.Vector[0] == &b.Vector[0]
}

func (s *exampleSet) len() int { return s.byID.Len() }

// all lists the examples in the order of their ids: learning does not depend on the order of arrival.
func (s *exampleSet) all() iter.Seq[*labelled] { return s.byID.All() }

// of lists the examples of a label in the order of their ids.
func (s *exampleSet) of(label string) iter.Seq[*labelled] {
	return func(yield func(*labelled) bool) {
		for e := range ordered.From(s.byLabel, label, (*labelled).compareLabel) {
			if e.Label != label || !yield(e) {
				return
			}
		}
	}
}

// has reports whether the set has an example of a label.
func (s *exampleSet) has(label string) bool {
	e, ok := ordered.Search(s.byLabel, label, (*labelled).compareLabel)
	return ok && e.Label == label
}

// find returns the example of an id; nil: none.
func (s *exampleSet) find(id string) *labelled {
	if e, ok := ordered.Search(s.byID, id, (*labelled).compareID); ok && e.ID == id {
		return e
	}
	return nil
}

// label returns the label of an id in the set.
func (s *exampleSet) label(id string) (string, bool) {
	if e := s.find(id); e != nil {
		return e.Label, true
	}
	return "", false
}

// sum hashes an example's whole content.
func (e Example) sum() uint64 {
	h := fnv.New64a()
	h.Write([]byte(e.ID))
	h.Write([]byte{0})
	h.Write([]byte(e.Label))
	h.Write([]byte{0})
	h.Write([]byte(e.Model))
	var b [4]byte
	for _, v := range e.Vector {
		binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
		h.Write(b[:])
	}
	return h.Sum64()
}

// inverse returns 1 / |vector|; 0 if it has no direction.
func (e Example) inverse() float32 {
	var square float64
	for _, v := range e.Vector {
		square += float64(v) * float64(v)
	}
	if inverse := 1 / math.Sqrt(square); inverse <= math.MaxFloat32 {
		return float32(inverse)
	}
	return 0
}

// followedLabels are the labels as they apply to one stream.
type followedLabels struct {
	version       uint64
	everyone, own *exampleSet
	forgot        ordered.List[string]
	stream        string
	names         *Names
	rejections    *Rejections
}

// of returns the labels as they apply to a stream; nil: no labels.
func (l *Labels) of(stream string) *followedLabels {
	l = l.prepare()
	return &followedLabels{
		version: l.version, everyone: l.everyone, own: l.own(stream), forgot: l.forgot, stream: stream,
		names: l.names, rejections: l.rejections,
	}
}

// label returns the label of an id: an example for this stream alone overrides one for every stream.
func (l *followedLabels) label(id string) (string, bool) {
	if label, ok := l.own.label(id); ok {
		return label, true
	}
	return l.everyone.label(id)
}

// forgotten reports whether an id was withdrawn.
func (l *followedLabels) forgotten(id string) bool {
	found, ok := ordered.Search(l.forgot, id, cmp.Compare[string])
	return ok && found == id
}
