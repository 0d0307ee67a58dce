package labels

import (
	"iter"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/ordered"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Classes returns the labels of the examples in force, of the labels topic and of the support, sorted.
func (l *Topic) Classes() []string {
	examples, _ := l.Counts()
	return slices.Sorted(maps.Keys(examples))
}

// Names returns the records that name classes and clusters or forget a name, the latest last, without those of the
// link.
func (l *Topic) Names() (names []record.Name) {
	for r := range l.Current().said.All() {
		if r.Name != nil && !r.ofLink() {
			names = append(names, *r.Name)
		}
	}
	return names
}

// Example returns the example in force with an ID.
func (l *Topic) Example(id string) (record.Example, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.records == nil {
		return record.Example{}, false
	}
	found := l.records.inForce(l.Current(), id)
	e := found.Example
	if e == nil {
		return record.Example{}, false
	}
	if r := l.records.holds(id, l.Current().Next); r != nil {
		return r.taught(), true
	}
	return record.Example{ID: id, Label: e.Label, Model: e.Model, Vector: e.Vector}, true
}

// Examples yields the examples in force: first those of the support, then those of the labels topic, the
// latest last. The caller must not change vectors and attributes.
func (l *Topic) Examples() iter.Seq[record.Example] {
	return func(yield func(record.Example) bool) {
		v := l.Current()
		for _, e := range l.supporting(v) {
			if !yield(record.Example{ID: e.ID, Label: e.Label, Model: e.Model, Vector: e.Vector, Attributes: e.Attributes}) {
				return
			}
		}
		inForce := v.standing.All()
		if v.oldest != nil {
			inForce = ordered.From(v.standing, v.oldest, (*Record).precedes)
		}
		for r := range inForce {
			if !yield(r.taught()) {
				return
			}
		}
	}
}

// supporting returns the examples of the support in force, which are those whose IDs the topic
// does not mention.
func (l *Topic) supporting(v *Version) (list []*taught.Example) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i := range l.options.Support {
		e := &l.options.Support[i]
		if l.records == nil || l.records.inForce(v, e.ID).Example == e {
			list = append(list, e)
		}
	}
	return list
}

// Rejections returns those in force, the latest last.
func (l *Topic) Rejections() (list []record.NotThis) {
	for r := range l.Current().said.All() {
		if r.Not != nil {
			not := *r.Not
			not.ID, not.By, not.At = r.Key, r.By, r.Written
			list = append(list, not)
		}
	}
	return list
}

// counts caches what Counts returns for one version of the labels.
type counts struct {
	of                   *Version
	examples, rejections map[string]int
}

func (l *Topic) count() *counts {
	l.counting.Lock()
	defer l.counting.Unlock()
	v := l.Current()
	if l.counted != nil && l.counted.of == v {
		return l.counted
	}
	c := &counts{of: v, examples: map[string]int{}, rejections: map[string]int{}}
	for e := range l.Examples() {
		c.examples[e.Label]++
	}
	for _, n := range l.Rejections() {
		for _, class := range n.Not {
			c.rejections[class]++
		}
	}
	l.counted = c
	return c
}

// Counts returns how many examples and rejections of each class are in force. The caller must not
// change the maps.
func (l *Topic) Counts() (examples, rejections map[string]int) {
	c := l.count()
	return c.examples, c.rejections
}

// Bytes is the approximate size of the examples in force in memory.
func (l *Topic) Bytes() int64 { return l.Current().bytes }
