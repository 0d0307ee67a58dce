package stream

import (
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// inForce holds the examples of the stream's own feed that are in force. It is valid until labels change.
type inForce struct {
	version, topic uint64 // of the feed's examples, and of the labels, that it was made from
	made           bool

	fed       *taught.Set     // by the stream's own feed
	withdrawn []string        // ids of the feed's examples that the labels topic corrects or withdraws
	classes   map[string]bool // that the feed taught
}

// follow rebuilds the lists if the labels or the feed's examples have changed.
func (f *inForce) follow(s *Stream, labels *taught.ForStream) {
	if f.made && f.topic == labels.Version && f.version == s.classes.version {
		return
	}
	before := f.fed
	if before == nil {
		before = taught.Empty
	}
	*f = inForce{topic: labels.Version, version: s.classes.version, made: true, classes: map[string]bool{}}
	var changes []taught.Change
	kept := map[string]bool{}
	for _, name := range s.classes.names() {
		for _, e := range s.classes.kept[name] {
			if _, corrected := labels.Label(e.id); corrected || labels.Forgotten(e.id) {
				f.withdrawn = append(f.withdrawn, e.id)
				continue
			}
			f.classes[name], kept[e.id] = true, true
			changes = append(changes, taught.Change{Example: taught.Example{ID: e.id, Label: name, Vector: e.vector}})
		}
	}
	for e := range before.All() {
		if !kept[e.ID] {
			changes = append(changes, taught.Change{Example: taught.Example{ID: e.ID}, Out: true})
		}
	}
	f.fed = before.With(changes)
}

// knownExample is an example in force outside the episode.
type knownExample struct {
	*taught.Entry
	own bool // from the labels topic, for this stream alone
}

// listed returns the examples that the episode gets, with their classes.
func (p *problem) listed() (list []knownExample, classes []int32) {
	for i, set := range p.sets {
		for row, e := range set.Entries {
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
	sets    [3]*taught.Prepared
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
		for c, name := range set.Names {
			o.counts[name] += set.Counts[c]
		}
	}
	for _, row := range p.without {
		name := p.sets[1].Entries[row].Label
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
