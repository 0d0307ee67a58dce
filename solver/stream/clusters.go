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
}

func (c *cluster) label() string {
	if c.name != "" {
		return c.name
	}
	return fmt.Sprintf("cluster-%d", c.id)
}

// clusters holds a stream's clusters in the order of their ids. Ids are never reused.
type clusters struct {
	next  int64
	list  []*cluster
	apart likeness // of rows known to be of different objects
}

// ClusterSummary is one cluster in a Summary.
type ClusterSummary struct {
	Label string
	Items int64
	Seen  int64 // the last episode with an item of it
}

func (s *clusters) summary() []ClusterSummary {
	var out []ClusterSummary
	for _, c := range s.list {
		out = append(out, ClusterSummary{Label: c.label(), Items: c.items, Seen: c.seen})
	}
	return out
}

// reset drops the clusters of a label.
func (s *clusters) reset(label string) bool {
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(c *cluster) bool { return c.label() == label })
	return len(s.list) < before
}

func (s *clusters) encode(e *encoder) {
	e.head.integer(fieldNextCluster, s.next)
	if s.apart.pairs > 0 {
		e.head.doubles(fieldApart, []float64{s.apart.squares, s.apart.pairs})
	}
	for _, c := range s.list {
		w := e.piece(fmt.Sprintf("cluster/%d", c.id), "cluster")
		w.integer(fieldID, c.id)
		w.text(fieldLabel, c.name)
		w.vector(fieldMean, c.mean)
		w.float(fieldMass, c.mass)
		w.integer(fieldItems, c.items)
		w.integer(fieldEpisode, c.seen)
	}
}

func (s *clusters) decode(f *field) {
	if f.kind == "head" {
		switch f.number {
		case fieldNextCluster:
			s.next = f.integer()
		case fieldApart:
			if v := f.doubles(2); v != nil {
				s.apart = likeness{v[0], v[1]}
			}
		case 0:
			if !(s.apart.squares >= 0 && s.apart.squares <= s.apart.pairs) {
				f.fail("likeness of different things")
			}
		}
		return
	}
	if f.kind != "cluster" {
		return
	}
	if f.number == fieldID { // the first field
		s.list = append(s.list, &cluster{id: f.integer()})
		return
	}
	if len(s.list) == 0 {
		f.fail("cluster without its id")
		return
	}
	c := s.list[len(s.list)-1]
	switch f.number {
	case fieldLabel:
		c.name = f.text()
	case fieldMean:
		c.mean = f.vector(f.dimension)
	case fieldMass:
		c.mass = f.float()
	case fieldItems:
		c.items = f.integer()
	case fieldEpisode:
		c.seen = f.integer()
	case 0:
		if len(c.mean) != f.dimension || !(c.mass > 0) {
			f.fail("cluster without its prototype")
		}
		slices.SortFunc(s.list, func(a, b *cluster) int { return cmp.Compare(a.id, b.id) })
	}
}

// observe names a cluster after a taught item that is similar enough to be a member. Items of the feed name
// clusters as they come, examples of the labels topic when the topic has changed.
func (s *clusters) observe(e *episode) {
	if len(s.list) == 0 {
		return
	}
	centre := s.centre(nil, e.stream.dimension)
	means, limits := s.centred(centre), s.limits(e.stream.settings.DiscoverDistance)
	row := make([]float32, len(centre))
	name := func(label string, vector []float32) {
		centred(row, vector, centre)
		best, at := float32(limits.match), -1
		for k, mean := range means {
			if v := kernel.Dot(row, mean); v >= best {
				best, at = v, k
			}
		}
		if at >= 0 && s.list[at].name != label {
			e.report.Events = append(e.report.Events, Event{Kind: "named", Class: s.list[at].label(), Into: label})
			s.list[at].name = label
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

// retire bounds the clusters to clustersKept: those longest unseen go first, the younger of two last seen
// in one episode.
func (s *clusters) retire(report *Report) {
	for len(s.list) > clustersKept {
		oldest := 0
		for i, c := range s.list {
			if c.seen <= s.list[oldest].seen {
				oldest = i
			}
		}
		report.Events = append(report.Events, Event{Kind: "retired", Class: s.list[oldest].label()})
		s.list = slices.Delete(s.list, oldest, oldest+1)
	}
}
