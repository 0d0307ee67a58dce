package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// preparedSet is a set of examples prepared for the solver.
type preparedSet struct {
	*solver.Labelled
	examples []*labelled // its rows, by label, then id
	names    []string    // of its classes, ascending
	counts   []float64   // rows of each class
	sum      uint64      // of the examples
	unfit    int         // examples left out: of another model or dimension
}

// fit is the model and dimension of the examples that are prepared together, and the solver's power.
type fit struct {
	model     string
	dimension int
	power     float64
}

// prepare prepares examples, sorted by label, then id, for streams of this fit.
func (f fit) prepare(examples []*labelled) (*preparedSet, error) {
	p := &preparedSet{examples: make([]*labelled, 0, len(examples))}
	rows, classes := make([][]float32, 0, len(examples)), make([]int32, 0, len(examples))
	for _, e := range examples {
		if len(e.Vector) != f.dimension || e.Model != "" && e.Model != f.model || e.Label == "" {
			p.unfit++
			continue
		}
		if len(p.names) == 0 || p.names[len(p.names)-1] != e.Label {
			p.names, p.counts = append(p.names, e.Label), append(p.counts, 0)
		}
		p.counts[len(p.names)-1]++
		p.sum += e.sum
		p.examples = append(p.examples, e)
		rows, classes = append(rows, e.Vector), append(classes, int32(len(p.names)-1))
	}
	var err error
	p.Labelled, err = solver.NewLabelled(rows, classes, len(p.names), f.dimension, f.power)
	return p, err
}

// row returns the row of an example; false: the set does not have it.
func (p *preparedSet) row(e *labelled) (int32, bool) {
	if e == nil {
		return 0, false
	}
	i, found := slices.BinarySearchFunc(p.examples, e, func(a, b *labelled) int {
		return cmp.Or(a.compareLabel(b.Label), a.compareID(b.ID))
	})
	return int32(i), found
}

// readyMost bounds the models and dimensions that a set is kept prepared for: a sender may invent them.
const readyMost = 4

// An episode gets all examples of the labels topic, for every stream or for this one, if they are no more
// than labelledMost: they are prepared once for all episodes. Of more, and of more than nearMost of the
// stream's own feed, it gets about nearMost, of the classes nearest to its items.
const (
	labelledMost = 4096
	nearMost     = 1024
)

// prepared returns the examples of the set that an episode gets, or without items at most about whole that
// stand for all classes. What does not depend on the items, which fixed says, is prepared at its first
// use, for all streams of this fit.
func (s *exampleSet) prepared(f fit, items []Item, whole int) (p *preparedSet, fixed bool, err error) {
	if s.len() > whole && len(items) > 0 {
		p, err = f.prepare(s.near(items, nearMost))
		return p, false, err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if p := s.ready[f]; p != nil {
		return p, true, nil
	}
	list := slices.Collect(s.byLabel.All())
	if len(list) > whole {
		list = s.near(nil, whole)
	}
	if p, err = f.prepare(list); err != nil {
		return nil, false, err
	}
	if s.ready == nil || len(s.ready) >= readyMost {
		s.ready = map[fit]*preparedSet{}
	}
	s.ready[f] = p
	return p, true, nil
}

// inForce holds the examples of the stream's own feed that are in force. It is valid until labels change.
type inForce struct {
	version, topic uint64 // of the feed's examples, and of the labels, that it was made from
	made           bool

	taught    *exampleSet     // by the stream's own feed
	withdrawn []string        // ids of the feed's examples that the labels topic corrects or withdraws
	classes   map[string]bool // that the feed taught
}

// follow rebuilds the lists if the labels or the feed's examples have changed.
func (f *inForce) follow(s *Stream, labels *followedLabels) {
	if f.made && f.topic == labels.version && f.version == s.classes.version {
		return
	}
	before := f.taught
	if before == nil {
		before = noExamples
	}
	*f = inForce{topic: labels.version, version: s.classes.version, made: true, classes: map[string]bool{}}
	var changes []Change
	kept := map[string]bool{}
	for _, name := range s.classes.names() {
		for _, e := range s.classes.kept[name] {
			if _, corrected := labels.label(e.id); corrected || labels.forgotten(e.id) {
				f.withdrawn = append(f.withdrawn, e.id)
				continue
			}
			f.classes[name], kept[e.id] = true, true
			changes = append(changes, Change{Example: Example{ID: e.id, Label: name, Vector: e.vector}})
		}
	}
	for e := range before.all() {
		if !kept[e.ID] {
			changes = append(changes, Change{Example: Example{ID: e.ID}, Out: true})
		}
	}
	f.taught = before.with(changes)
}

// knownExample is an example in force outside the episode.
type knownExample struct {
	*labelled
	own bool // from the labels topic, for this stream alone
}

// listed returns the examples that the episode gets, with their classes.
func (p *problem) listed() (list []knownExample, classes []int32) {
	for i, set := range p.sets {
		for row, e := range set.examples {
			if _, corrected := slices.BinarySearch(p.without, int32(row)); i != 1 || !corrected {
				list, classes = append(list, knownExample{e, i == 0}), append(classes, p.numbers[e.Label])
			}
		}
	}
	return list, classes
}

// outside are the classes of the examples in force outside an episode. The next episode beside the same
// examples takes them over.
type outside struct {
	sets    [3]*preparedSet
	without []int32
	names   []string           // ascending
	counts  map[string]float64 // examples of each
	numbers map[string]int32   // of names
}

// count lists the classes of the examples in force outside the episode.
func (p *problem) count() {
	o := &p.outside
	if o.numbers != nil && o.sets == p.sets && slices.Equal(o.without, p.without) {
		return
	}
	o.sets, o.without, o.counts = p.sets, append(o.without[:0], p.without...), map[string]float64{}
	for _, set := range p.sets {
		for c, name := range set.names {
			o.counts[name] += set.counts[c]
		}
	}
	for _, row := range p.without {
		name := p.sets[1].examples[row].Label
		if o.counts[name]--; o.counts[name] == 0 {
			delete(o.counts, name)
		}
	}
	o.names = slices.Sorted(maps.Keys(o.counts))
	o.numbers = numbersOf(o.names)
}

// numbersOf returns the index of each name.
func numbersOf(names []string) map[string]int32 {
	numbers := make(map[string]int32, len(names))
	for c, name := range names {
		numbers[name] = int32(c)
	}
	return numbers
}
