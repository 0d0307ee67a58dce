package stream

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"sync"
)

// Example is a labelled embedding, known by its id: teaching the same id again corrects it.
type Example struct {
	ID, Label string
	Vector    []float32
	Model     string // the embedder; empty fits any
}

// Labels is what the labels topic says at one moment: examples for every stream, and for single ones. It is
// never changed, only replaced, so that any number of streams may read it at once and none holds a copy.
type Labels struct {
	Everyone []Example
	Stream   map[string][]Example
	// Forgotten are ids taken back: a stream that was taught such an item by its own feed forgets it too.
	Forgotten []string

	once     sync.Once
	everyone *exampleSet
	forgot   map[string]bool
	mutex    sync.Mutex
	streams  map[string]*exampleSet

	everyoneBefore *exampleSet            // of the labels before these, until it is used
	before         map[string]*exampleSet // the same of single streams
}

// Follow takes over what was worked out for the labels before these, so that only what has changed is worked
// out again. It is called before anybody else knows l; before may be in use, and its examples' vectors must
// be the same slices where they have not changed.
func (l *Labels) Follow(before *Labels) {
	before.prepare()
	before.mutex.Lock()
	l.before = maps.Clone(before.before)
	if l.before == nil {
		l.before = map[string]*exampleSet{}
	}
	maps.Copy(l.before, before.streams)
	before.mutex.Unlock()
	maps.DeleteFunc(l.before, func(stream string, _ *exampleSet) bool { return len(l.Stream[stream]) == 0 })
	l.everyoneBefore = before.everyone
	l.prepare()
}

// exampleSet is a list of examples in the order of their ids, one an id, with a sum that says whether
// anything changed.
type exampleSet struct {
	examples []Example
	sums     []uint64           // of each example's content
	sum      uint64             // of sums: their order does not matter
	classes  map[string][]int32 // the examples of each label

	mutex  sync.Mutex
	search *exampleSearch    // nil: nobody has searched yet
	home   []*exampleSegment // of each example, in the search

	hashed, indexed int // examples whose content was looked at to make this set and its search
}

// newExampleSet sorts by id, so that what is learned does not depend on the order in which examples arrived;
// of one id the last stands. What has not changed since before, which may be nil, is taken over from there.
func newExampleSet(list []Example, before *exampleSet) *exampleSet {
	last := make(map[string]int, len(list))
	for i, e := range list {
		last[e.ID] = i
	}
	set := &exampleSet{examples: make([]Example, 0, len(last)), classes: map[string][]int32{}}
	for i, e := range list {
		if last[e.ID] == i {
			set.examples = append(set.examples, e)
		}
	}
	byID := func(a, b Example) int { return cmp.Compare(a.ID, b.ID) }
	if !slices.IsSortedFunc(set.examples, byID) {
		slices.SortFunc(set.examples, byID)
	}
	if before == nil {
		before = &exampleSet{}
	}
	before.mutex.Lock()
	defer before.mutex.Unlock()
	set.sums, set.home = make([]uint64, len(set.examples)), make([]*exampleSegment, len(set.examples))
	var fresh []int32
	gone := map[*exampleSegment]int{}
	old := 0
	leave := func() {
		if before.search != nil {
			gone[before.home[old]]++
		}
		old++
	}
	for i, e := range set.examples {
		for old < len(before.examples) && before.examples[old].ID < e.ID {
			leave()
		}
		there := old < len(before.examples) && before.examples[old].ID == e.ID
		if there && same(before.examples[old], e) {
			set.sums[i] = before.sums[old]
		} else {
			set.sums[i] = e.sum()
			set.hashed++
		}
		switch {
		case there && set.sums[i] == before.sums[old]:
			set.home[i] = before.home[old]
			old++
		case there:
			leave()
			fresh = append(fresh, int32(i))
		default:
			fresh = append(fresh, int32(i))
		}
		set.sum += set.sums[i]
		set.classes[e.Label] = append(set.classes[e.Label], int32(i))
	}
	for old < len(before.examples) {
		leave()
	}
	if before.search != nil {
		set.search = before.search.follow(set, fresh, gone)
	}
	return set
}

// same says whether two examples of one id are one and the same, without looking at their vectors.
func same(a, b Example) bool {
	return a.Label == b.Label && a.Model == b.Model && len(a.Vector) == len(b.Vector) && len(a.Vector) > 0 && &a.Vector[0] == &b.Vector[0]
}

// searched returns the set's search, which is made when it is first asked for.
func (s *exampleSet) searched() *exampleSearch {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.search == nil {
		s.search = &exampleSearch{stale: map[*exampleSegment]int{}}
		places := make([]int32, len(s.examples))
		for i := range places {
			places[i] = int32(i)
		}
		s.search.add(s, places)
	}
	return s.search
}

// near returns the labels of the examples nearest to the items, in raw space, where one index serves every
// stream. It is nil where there are no more than most examples: all of them are near.
func (s *exampleSet) near(items []Item, most int) (map[string]bool, error) {
	if len(s.examples) <= most {
		return nil, nil
	}
	queries := make([][]float32, len(items))
	for i := range items {
		queries[i] = items[i].Vector
	}
	each, err := s.searched().nearest(s, queries, candidatesEach)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, hits := range each {
		for _, h := range hits {
			out[s.examples[h.place].Label] = true
		}
	}
	return out, nil
}

// candidatesEach is how many of the nearest examples of each item bring their class into an episode that
// cannot hold all.
const candidatesEach = 16

// sum identifies an example's whole content.
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

func (l *Labels) prepare() {
	l.once.Do(func() {
		l.everyone = newExampleSet(l.Everyone, l.everyoneBefore)
		l.everyoneBefore = nil
		l.forgot = make(map[string]bool, len(l.Forgotten))
		for _, id := range l.Forgotten {
			l.forgot[id] = true
		}
		l.streams = map[string]*exampleSet{}
	})
}

// followedLabels are the labels as one stream follows them.
type followedLabels struct {
	everyone, own *exampleSet
	forgot        map[string]bool
}

// of returns the labels as this stream follows them; nil labels are none.
func (l *Labels) of(stream string) *followedLabels {
	if l == nil {
		return &followedLabels{everyone: &exampleSet{}, own: &exampleSet{}}
	}
	l.prepare()
	out := &followedLabels{everyone: l.everyone, own: &exampleSet{}, forgot: l.forgot}
	if list := l.Stream[stream]; len(list) > 0 {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		if l.streams[stream] == nil {
			l.streams[stream] = newExampleSet(list, l.before[stream])
			delete(l.before, stream)
		}
		out.own = l.streams[stream]
	}
	return out
}

// label is the label of an id: the stream's own word stands before everyone's.
func (l *followedLabels) label(id string) (string, bool) {
	if label, ok := l.own.label(id); ok {
		return label, true
	}
	return l.everyone.label(id)
}

// forgotten tells whether an id was taken back.
func (l *followedLabels) forgotten(id string) bool { return l.forgot[id] }

// place is where the set has an id.
func (s *exampleSet) place(id string) (int, bool) {
	return slices.BinarySearchFunc(s.examples, id, func(e Example, id string) int { return cmp.Compare(e.ID, id) })
}

// label is the label of an id in the set.
func (s *exampleSet) label(id string) (string, bool) {
	i, ok := s.place(id)
	if !ok {
		return "", false
	}
	return s.examples[i].Label, true
}
