package pipeline

import (
	"iter"
	"maps"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream"
)

// Classes returns the labels of the examples in force, of the labels topic and of the support, sorted.
func (s *Stage) Classes() []string {
	classes := map[string]bool{}
	for _, e := range s.labels.current.Load().labels.All() {
		classes[e.Label] = true
	}
	return slices.Sorted(maps.Keys(classes))
}

// Names returns the records that name classes and clusters or forget a name, the latest last.
func (s *Stage) Names() (names []record.Name) {
	for r := range s.labels.current.Load().said.All() {
		if r.name != nil {
			names = append(names, *r.name)
		}
	}
	return names
}

// Example returns the example in force with an ID.
func (s *Stage) Example(id string) (record.Example, bool) {
	l := s.labels
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.records == nil {
		return record.Example{}, false
	}
	found := l.records.inForce(l.current.Load(), id)
	e := found.example
	if e == nil {
		return record.Example{}, false
	}
	out := record.Example{ID: id, Stream: found.stream, Label: e.Label, Model: e.Model, Vector: e.Vector}
	if r := l.records.holds(id, l.current.Load().next); r != nil {
		out.Attributes, out.By, out.At = r.attributes, r.by, r.at
	}
	return out, true
}

// Examples yields the examples in force: first those of the support, then those of the labels topic, the
// latest last. The caller must not change vectors and attributes.
func (s *Stage) Examples() iter.Seq[record.Example] {
	l := s.labels
	return func(yield func(record.Example) bool) {
		v := l.current.Load()
		for _, e := range l.supporting(v) {
			if !yield(record.Example{ID: e.ID, Label: e.Label, Model: e.Model, Vector: e.Vector}) {
				return
			}
		}
		inForce := v.standing.All()
		if v.oldest != nil {
			inForce = ordered.From(v.standing, v.oldest, (*labelRecord).precedes)
		}
		for r := range inForce {
			if !yield(record.Example{
				ID: r.key, Stream: r.stream, Label: r.teach.Label, Model: r.teach.Model, Vector: r.teach.Vector,
				Attributes: r.attributes, By: r.by, At: r.at,
			}) {
				return
			}
		}
	}
}

// supporting returns the examples of the support in force, which are those whose IDs the topic
// does not mention.
func (l *labels) supporting(v *view) (list []*stream.Example) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i := range l.support {
		e := &l.support[i]
		if l.records == nil || l.records.inForce(v, e.ID).example == e {
			list = append(list, e)
		}
	}
	return list
}

// Rejections returns those in force, the latest last.
func (s *Stage) Rejections() (list []record.NotThis) {
	for r := range s.labels.current.Load().said.All() {
		if r.not != nil {
			not := *r.not
			not.ID, not.Stream, not.By, not.At = r.key, r.stream, r.by, r.at
			list = append(list, not)
		}
	}
	return list
}

// classCounts caches the result of Counts for one version of the labels.
type classCounts struct {
	mutex                sync.Mutex
	of                   *view
	examples, rejections map[string]int
}

// Counts returns how many examples and rejections of each class are in force. The caller must not
// change the maps.
func (s *Stage) Counts() (examples, rejections map[string]int) {
	c := &s.counted
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if v := s.labels.current.Load(); c.of != v {
		c.of, c.examples, c.rejections = v, map[string]int{}, map[string]int{}
		for e := range s.Examples() {
			c.examples[e.Label]++
		}
		for _, n := range s.Rejections() {
			for _, class := range n.Not {
				c.rejections[class]++
			}
		}
	}
	return c.examples, c.rejections
}
