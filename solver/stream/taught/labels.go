// Package taught holds what users say of the embeddings of streams: labelled examples, names of classes, and
// classes that items are not of. Labels are one version of all of this; With makes the next one, and For gives
// what applies to one stream, which its episodes ask.
package taught

import (
	"cmp"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/ordered"
)

// Example is a labelled embedding, identified by its id: teaching the same id again corrects it.
type Example struct {
	ID, Label string
	Vector    []float32
	Model     string // the embedder; empty fits any
	// Attributes are shown beside the example, as JSON; no answer depends on them.
	Attributes []byte
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
	everyone *Set
	streams  ordered.List[streamExamples]
	forgot   ordered.List[string]

	names      *Names
	rejections *Rejections
}

// streamExamples are the examples of a single stream.
type streamExamples struct {
	stream string
	*Set
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
	l.everyone = before.everyone.With(changes[""])
	delete(changes, "")
	var edits []ordered.Edit[streamExamples]
	for stream, list := range changes {
		set := before.own(stream).With(list)
		edits = append(edits, ordered.Edit[streamExamples]{
			Value: streamExamples{stream, set}, Out: set.Len() == 0,
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
		everyone: Empty,
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
func (l *Labels) own(stream string) *Set {
	if s, ok := ordered.Search(l.streams, stream, streamExamples.compare); ok && s.stream == stream {
		return s.Set
	}
	return Empty
}

// All lists the examples, each with its stream, "" for every stream, in the order of the streams and
// of their ids.
func (l *Labels) All() iter.Seq2[string, *Example] {
	l = l.prepare()
	return func(yield func(string, *Example) bool) {
		for e := range l.everyone.All() {
			if !yield("", &e.Example) {
				return
			}
		}
		for s := range l.streams.All() {
			for e := range s.All() {
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
		n += s.Len()
	}
	return n + l.everyone.Len()
}

// ForStream are the labels as they apply to one stream.
type ForStream struct {
	Everyone, Own *Set   // of one id an own example overrides that for every stream
	Version       uint64 // unique in the process

	forgot     ordered.List[string]
	stream     string
	names      *Names
	rejections *Rejections
}

// For returns the labels as they apply to a stream; nil: no labels.
func (l *Labels) For(stream string) *ForStream {
	l = l.prepare()
	return &ForStream{
		Version: l.version, Everyone: l.everyone, Own: l.own(stream), forgot: l.forgot, stream: stream,
		names: l.names, rejections: l.rejections,
	}
}

// Label returns the label of an id: an example for this stream alone overrides one for every stream.
func (l *ForStream) Label(id string) (string, bool) {
	if label, ok := l.Own.Label(id); ok {
		return label, true
	}
	return l.Everyone.Label(id)
}

// Forgotten reports whether an id was withdrawn.
func (l *ForStream) Forgotten(id string) bool {
	found, ok := ordered.Search(l.forgot, id, cmp.Compare[string])
	return ok && found == id
}
