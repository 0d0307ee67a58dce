// Package clusters groups the items of a stream into classes that nobody has labelled, with ids that last.
package clusters

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// Cluster is a class found without labels.
type Cluster struct {
	id   int64
	name string // set by teaching a member; "" until then
	mass float64

	Mean  []float32 // of unit rows
	Items int64     // number answered with it
	Seen  int64     // the last episode with an item of it

	itemsBefore, seenBefore int64 // both before that episode, while it is answered

	named int64 // the last episode that gave it a name, since the stream was restored

	apart []int64 // clusters that were in one frame with it, in order, at most mostTogether
}

// mostTogether bounds the clusters that a cluster is known to have been in one frame with.
const mostTogether = 256

// Label returns the cluster's name, or that of one that nobody has named.
func (c *Cluster) Label() string {
	if c.name != "" {
		return c.name
	}
	return c.Found()
}

// Found returns what the cluster was called when it was found.
func (c *Cluster) Found() string { return found(c.id) }

// Apart lists, by what they were called, clusters that were in one frame with it.
func (c *Cluster) Apart() (out []string) {
	for _, id := range c.apart {
		out = append(out, found(id))
	}
	return out
}

func found(id int64) string { return fmt.Sprintf("cluster-%d", id) }

// Set holds a stream's clusters in the order of their ids. Ids are never reused.
type Set struct {
	next   int64
	list   []*Cluster
	before []linkedItem // the last items that were clustered; replaced, never changed
	gone   []*Cluster   // since Tell
}

// Anew returns an empty set that goes on numbering, and in which all clusters of s are gone.
func (s *Set) Anew() Set { return Set{next: s.next, gone: slices.Concat(s.gone, s.list)} }

// IDs lists the ids of the clusters, ascending.
func (s *Set) IDs() []int64 {
	ids := make([]int64, len(s.list))
	for i, c := range s.list {
		ids[i] = c.id
	}
	return ids
}

// Since lists the clusters that have changed from an episode on.
func (s *Set) Since(episode int64) (out []*Cluster) {
	for _, c := range s.list {
		if max(c.Seen, c.named) >= episode {
			out = append(out, c)
		}
	}
	return out
}

// Gone lists those that are gone since Told.
func (s *Set) Gone() []*Cluster { return s.gone }

// Told forgets those.
func (s *Set) Told() { s.gone = nil }

// together notes which clusters were in one frame. members are the clusters of items, by their number in the list.
func (s *Set) together(items []linkedItem, members []int) {
	frames := map[string][]int{}
	for i, at := range members {
		if frame := items[i].frame; frame != "" && !slices.Contains(frames[frame], at) {
			for _, other := range frames[frame] {
				s.list[at].meet(s.list[other].id)
				s.list[other].meet(s.list[at].id)
			}
			frames[frame] = append(frames[frame], at)
		}
	}
}

func (c *Cluster) meet(id int64) {
	if at, known := slices.BinarySearch(c.apart, id); !known && len(c.apart) < mostTogether {
		c.apart = slices.Insert(c.apart, at, id)
	}
}

// Detach makes the set share no memory that changes with the set that it was copied from.
func (s *Set) Detach() {
	s.list = slices.Clone(s.list)
	for i, c := range s.list {
		next := *c
		next.Mean, next.apart = slices.Clone(c.Mean), slices.Clone(c.apart)
		s.list[i] = &next
	}
}

// Reset drops the clusters of a label, and reports whether there were any.
func (s *Set) Reset(label string) bool {
	gone := len(s.gone)
	s.list = slices.DeleteFunc(s.list, func(c *Cluster) bool {
		if c.Label() != label {
			return false
		}
		s.gone = append(s.gone, c)
		return true
	})
	if len(s.gone) == gone {
		return false
	}
	s.before = nil // they may be of that label
	for _, c := range s.gone[gone:] {
		s.part(c.id)
	}
	return true
}

// part forgets that clusters were in one frame with one that is gone.
func (s *Set) part(gone int64) {
	for _, c := range s.list {
		if at, met := slices.BinarySearch(c.apart, gone); met {
			c.apart = slices.Delete(c.apart, at, at+1)
		}
	}
}

// Bytes estimates the memory of the set, with so much beside each vector.
func (s *Set) Bytes(d, overhead int) int {
	n := (4*d+overhead)*len(s.list) + (2*d+overhead)*len(s.before)
	for _, c := range s.list {
		n += 8 * cap(c.apart)
	}
	return n
}

// Fields writes the set to a piece of its stream, or reads it back.
func (s *Set) Fields(f *piece.Fields) {
	switch f.Kind {
	case "head":
		piece.Integer(f, piece.NextCluster, &s.next)
	case "before":
		piece.List(f, piece.LinkedItem, &s.before, func(f *piece.Fields, number int, item *linkedItem) {
			f.Group(number, func(f *piece.Fields) {
				piece.Slice(f, piece.UnitRow, &item.row, f.Dimension)
				piece.Text(f, piece.Frame, &item.frame)
				piece.Text(f, piece.Track, &item.track)
				piece.Integer(f, piece.Position, &item.at)
				f.Check(len(item.row) == f.Dimension && item.at < 0, "earlier item")
			})
		})
	case "cluster":
		c := &Cluster{}
		if f.Writes {
			c = s.list[f.Index]
		}
		piece.Integer(f, piece.ID, &c.id)
		piece.Text(f, piece.Label, &c.name)
		piece.Slice(f, piece.Mean, &c.Mean, f.Dimension)
		piece.Number(f, piece.Mass, &c.mass)
		piece.Integer(f, piece.Items, &c.Items)
		piece.Integer(f, piece.Episode, &c.Seen)
		piece.List(f, piece.Apart, &c.apart, piece.Integer[int64])
		if f.Check(len(c.Mean) == f.Dimension && c.mass > 0 && len(c.apart) <= mostTogether, "cluster"); !f.Writes {
			s.list = append(s.list, c)
			slices.SortFunc(s.list, func(a, b *Cluster) int { return cmp.Compare(a.id, b.id) })
		}
	}
}

// Pass notes that an episode of so many items is over.
func (s *Set) Pass(items int) {
	s.before = slices.Clone(s.before)
	for i := range s.before {
		s.before[i].at -= int64(items)
	}
}

// Name names clusters after labelled vectors of dimension d, each after those that are similar enough to be members;
// distance is that of Episode. named is called before a cluster gets another name.
func (s *Set) Name(episode int64, d int, distance float64, labelled iter.Seq2[string, []float32], named func(was, label string)) {
	if len(s.list) == 0 {
		return
	}
	centre := s.centre(nil, d)
	means, row := s.means(centre), make([]float32, d)
	for label, vector := range labelled {
		centred(row, vector, centre)
		best, at := float32(1-distance), -1
		for k, mean := range means {
			if v := kernel.Dot(row, mean); v >= best {
				best, at = v, k
			}
		}
		if at >= 0 && s.list[at].name != label {
			named(s.list[at].Label(), label)
			s.list[at].name, s.list[at].named = label, episode
		}
	}
}

// Class is a cluster to compare rows with.
type Class struct {
	Label string
	Mean  []float32 // less the centre, at length 1
	Mass  float64
}

// Classes returns the clusters, and the centre that is subtracted from rows at length 1.
func (s *Set) Classes(d int) (centre []float32, classes []Class) {
	centre = s.centre(nil, d)
	for i, mean := range s.means(centre) {
		classes = append(classes, Class{s.list[i].Label(), mean, s.list[i].mass})
	}
	return centre, classes
}

// Retire bounds the clusters: those longest unseen go first, the younger of two last seen in one episode.
func (s *Set) Retire(most int, retired func(label string)) {
	for len(s.list) > most {
		oldest := 0
		for i, c := range s.list {
			if c.Seen <= s.list[oldest].Seen {
				oldest = i
			}
		}
		retired(s.list[oldest].Label())
		s.gone = append(s.gone, s.list[oldest])
		s.list = slices.Delete(s.list, oldest, oldest+1)
		s.part(s.gone[len(s.gone)-1].id)
	}
}

const (
	strangerItems = 5  // a cluster is reported from so many items on: single ones are mostly accidents
	StrangerAway  = 10 // episodes without an item after which a stranger counts as returned
)

// Strangers calls came for the clusters of an episode that nobody has named: those that are new, and those that
// return.
func (s *Set) Strangers(episode int64, came func(label string, returned bool)) {
	for _, c := range s.list {
		switch {
		case c.Seen != episode, c.name != "", c.Items < strangerItems:
		case c.itemsBefore < strangerItems:
			came(c.Label(), false)
		case episode-c.seenBefore > StrangerAway:
			came(c.Label(), true)
		}
	}
}
