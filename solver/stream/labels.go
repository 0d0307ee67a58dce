package stream

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/index"
)

// Example is a labelled embedding, known by its id: teaching the same id again corrects it.
type Example struct {
	ID, Label string
	Vector    []float32
	Model     string // the embedder; empty fits any
}

// Labels is what the labels topic says at one moment: examples for every stream, and for single ones. It is never
// changed, only replaced, so that any number of streams may read it at once and none holds a copy.
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
}

// exampleSet is a list of examples in the order of their ids, one an id, with a sum that says whether anything changed.
type exampleSet struct {
	examples []Example
	sums     []uint64           // of each example's content
	sum      uint64             // of sums: their order does not matter
	classes  map[string][]int32 // the examples of each label

	searched sync.Once
	search   map[int]*index.Memory // the examples of each dimension, by their place in the list
}

// newExampleSet sorts by id, so that what is learned does not depend on the order in which examples arrived; of one id the
// last stands.
func newExampleSet(list []Example) *exampleSet {
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
	slices.SortFunc(set.examples, func(a, b Example) int { return cmp.Compare(a.ID, b.ID) })
	for i, e := range set.examples {
		set.classes[e.Label] = append(set.classes[e.Label], int32(i))
		set.sums = append(set.sums, e.sum())
		set.sum += set.sums[i]
	}
	return set
}

// near returns the labels of the examples nearest to the items, in raw space, where one index serves every stream. It is nil
// where there are no more than most examples: all of them are near.
func (s *exampleSet) near(items []Item, d, most int) (map[string]bool, error) {
	if len(s.examples) <= most {
		return nil, nil
	}
	s.searched.Do(func() {
		s.search = map[int]*index.Memory{}
		for i, e := range s.examples {
			m := s.search[len(e.Vector)]
			if m == nil {
				// Exact, however many they are: a repeat of an episode, by a process that made its graph at another moment, would
				// otherwise find other examples near.
				var err error
				if m, err = index.NewMemory(len(e.Vector), index.MemoryOptions{Cosine: true, Above: -1}); err != nil {
					continue // an example without a vector is of no use to any stream
				}
				s.search[len(e.Vector)] = m
			}
			_ = m.Add(uint64(i), e.Vector) // refuses rows that have no direction: nothing is near them
		}
	})
	out := map[string]bool{}
	m := s.search[d]
	if m == nil {
		return out, nil
	}
	queries := make([][]float32, len(items))
	for i := range items {
		queries[i] = items[i].Vector
	}
	each, err := m.SearchEach(queries, candidatesEach)
	if err != nil {
		return nil, err
	}
	for _, hits := range each {
		for _, h := range hits {
			out[s.examples[h.ID].Label] = true
		}
	}
	return out, nil
}

// candidatesEach is how many of the nearest examples of each item bring their class into an episode that cannot hold all.
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
		l.everyone = newExampleSet(l.Everyone)
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
			l.streams[stream] = newExampleSet(list)
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

// label is the label of an id in the set.
func (s *exampleSet) label(id string) (string, bool) {
	i, ok := slices.BinarySearchFunc(s.examples, id, func(e Example, id string) int { return cmp.Compare(e.ID, id) })
	if !ok {
		return "", false
	}
	return s.examples[i].Label, true
}
