package stream

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// cluster is a class found without labels.
type cluster struct {
	id    int64
	name  string    // set by teaching a member; "" until then
	mean  []float32 // of unit rows
	mass  float64
	items int64 // number answered with it
	seen  int64 // the last episode with an item of it

	itemsBefore, seenBefore int64 // both before that episode, while it is answered

	named int64 // the last episode that gave it a name, since the stream was restored

	apart []int64 // clusters that were in one frame with it, in order, at most mostTogether; with Settings.Summaries
}

// mostTogether bounds the clusters that a cluster is known to have been in one frame with.
const mostTogether = 256

func (c *cluster) label() string {
	if c.name != "" {
		return c.name
	}
	return found(c.id)
}

// found is the name of a cluster that nobody has named.
func found(id int64) string { return fmt.Sprintf("cluster-%d", id) }

// clusters holds a stream's clusters in the order of their ids. Ids are never reused.
type clusters struct {
	next   int64
	list   []*cluster
	before []linkedItem // the last items that were clustered; replaced, never changed
	gone   []*cluster   // since the last episode
}

// ClusterSummary is one cluster in a Summary.
type ClusterSummary struct {
	Cluster string // as it was found: cluster-17
	Label   string // its name after a labelled member, else Cluster
	Items   int64
	Seen    int64     // the last episode with an item of it
	Mean    []float32 // of its last items at length 1
	// Apart are, with Settings.Summaries, clusters that were in one frame with it.
	Apart []string
}

// Clusters returns the clusters of the stream in the order of their ids.
func (s *Stream) Clusters() []ClusterSummary { return s.clusters.summary(0) }

// summary returns the clusters that have changed from an episode on.
func (s *clusters) summary(from int64) []ClusterSummary {
	var out []ClusterSummary
	for _, c := range s.list {
		if max(c.seen, c.named) >= from {
			one := ClusterSummary{Cluster: found(c.id), Label: c.label(), Items: c.items, Seen: c.seen, Mean: slices.Clone(c.mean)}
			for _, id := range c.apart {
				one.Apart = append(one.Apart, found(id))
			}
			out = append(out, one)
		}
	}
	return out
}

// changed returns the clusters that have changed since the episode before; those that are gone have no mean.
func (s *clusters) changed(episode int64) []ClusterSummary {
	out := s.summary(episode)
	for _, c := range s.gone {
		out = append(out, ClusterSummary{Cluster: found(c.id), Label: c.label(), Items: c.items, Seen: c.seen})
	}
	return out
}

// together notes which clusters were in one frame. members are the clusters of items, by their number in the list.
func (s *clusters) together(items []linkedItem, members []int) {
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

func (c *cluster) meet(id int64) {
	if at, known := slices.BinarySearch(c.apart, id); !known && len(c.apart) < mostTogether {
		c.apart = slices.Insert(c.apart, at, id)
	}
}

func (s *clusters) detach() {
	s.list = slices.Clone(s.list)
	for i, c := range s.list {
		next := *c
		next.mean, next.apart = slices.Clone(c.mean), slices.Clone(c.apart)
		s.list[i] = &next
	}
}

// reset drops the clusters of a label.
func (s *clusters) reset(label string) bool {
	gone := len(s.gone)
	s.list = slices.DeleteFunc(s.list, func(c *cluster) bool {
		if c.label() != label {
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
func (s *clusters) part(gone int64) {
	for _, c := range s.list {
		if at, met := slices.BinarySearch(c.apart, gone); met {
			c.apart = slices.Delete(c.apart, at, at+1)
		}
	}
}

func (s *clusters) bytes(d int) int {
	n := (4*d+overhead)*len(s.list) + (2*d+overhead)*len(s.before)
	for _, c := range s.list {
		n += 8 * cap(c.apart)
	}
	return n
}

func (s *clusters) fields(f *fields) {
	switch f.kind {
	case "head":
		integer(f, fieldNextCluster, &s.next)
	case "before":
		list(f, fieldLinkedItem, &s.before, func(f *fields, number int, item *linkedItem) {
			f.group(number, func(f *fields) {
				slice(f, fieldUnitRow, &item.row, f.dimension)
				text(f, fieldFrame, &item.frame)
				text(f, fieldTrack, &item.track)
				integer(f, fieldPosition, &item.at)
				f.check(len(item.row) == f.dimension && item.at < 0, "earlier item")
			})
		})
	case "cluster":
		c := &cluster{}
		if f.writes {
			c = s.list[f.index]
		}
		integer(f, fieldID, &c.id)
		text(f, fieldLabel, &c.name)
		slice(f, fieldMean, &c.mean, f.dimension)
		number(f, fieldMass, &c.mass)
		integer(f, fieldItems, &c.items)
		integer(f, fieldEpisode, &c.seen)
		list(f, fieldApart, &c.apart, func(f *fields, number int, id *int64) { integer(f, number, id) })
		if f.check(len(c.mean) == f.dimension && c.mass > 0 && len(c.apart) <= mostTogether, "cluster"); !f.writes {
			s.list = append(s.list, c)
			slices.SortFunc(s.list, func(a, b *cluster) int { return cmp.Compare(a.id, b.id) })
		}
	}
}

// observe names a cluster after a taught item that is similar enough to be a member. Items of the feed name
// clusters as they come, examples of the labels topic when the topic has changed.
func (s *clusters) observe(e *episode) {
	s.before = slices.Clone(s.before)
	for i := range s.before {
		s.before[i].at -= int64(len(e.items))
	}
	if len(s.list) == 0 {
		return
	}
	centre := s.centre(nil, e.stream.dimension)
	means := s.centred(centre)
	row := make([]float32, len(centre))
	name := func(label string, vector []float32) {
		centred(row, vector, centre)
		best, at := float32(1-e.stream.settings.DiscoverDistance), -1
		for k, mean := range means {
			if v := kernel.Dot(row, mean); v >= best {
				best, at = v, k
			}
		}
		if at >= 0 && s.list[at].name != label {
			e.report.Events = append(e.report.Events, Event{Kind: "named", Class: s.list[at].label(), Into: label})
			s.list[at].name, s.list[at].named = label, e.number
		}
	}
	if e.relabels {
		known, _ := e.problem.listed()
		for _, x := range known {
			name(x.Label, x.Vector)
		}
	}
	for i := range e.items {
		if e.items[i].Label != "" {
			name(e.items[i].Label, e.items[i].Vector)
		}
	}
}

// retire bounds the clusters: those longest unseen go first, the younger of two last seen in one episode.
func (s *clusters) retire(most int, report *Report) {
	for len(s.list) > most {
		oldest := 0
		for i, c := range s.list {
			if c.seen <= s.list[oldest].seen {
				oldest = i
			}
		}
		report.Events = append(report.Events, Event{Kind: "retired", Class: s.list[oldest].label()})
		s.gone = append(s.gone, s.list[oldest])
		s.list = slices.Delete(s.list, oldest, oldest+1)
		s.part(s.gone[len(s.gone)-1].id)
	}
}

const (
	strangerItems = 5  // a cluster is reported from so many items on: single ones are mostly accidents
	strangerAway  = 10 // episodes without an item after which a stranger counts as returned
)

// strangers reports the clusters of an episode's unknown items that nobody has named: those that are new, and
// those that return.
func (s *clusters) strangers(e *episode) {
	for _, c := range s.list {
		label := c.label()
		switch {
		case c.seen != e.number, c.name != "", e.problem.taught.Called(label) != label, c.items < strangerItems:
		case c.itemsBefore < strangerItems:
			e.report.Events = append(e.report.Events, Event{Kind: "new-unknown", Class: label})
		case e.number-c.seenBefore > strangerAway:
			e.report.Events = append(e.report.Events, Event{Kind: "returned-unknown", Class: label})
		}
	}
}
