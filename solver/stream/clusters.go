package stream

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// cluster is a class that no label made.
type cluster struct {
	id    int64
	name  string    // given by teaching a member; empty until then
	mean  []float32 // of unit rows
	mass  float64
	items int64 // answered with it
	seen  int64 // the last episode it was answered with

	lately float64 // items lately answered with it, half of them in the last episode
}

func (c *cluster) label() string {
	if c.name != "" {
		return c.name
	}
	return fmt.Sprintf("cluster-%d", c.id)
}

// clusters holds a stream's clusters in the order of their ids. An id is given once and never again.
type clusters struct {
	next  int64
	list  []*cluster
	sum   []float64 // of all unit rows clustered so far
	count float64
	apart likeness // of rows that are different things for certain
	recurrence
}

// ClusterSummary is one cluster in a Summary.
type ClusterSummary struct {
	Label string
	Items int64
	Seen  int64 // the last episode it was answered with
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
	if s.sum != nil {
		e.head.doubles(fieldSum, s.sum)
		e.head.float(fieldCount, s.count)
		e.head.doubles(fieldApart, []float64{s.apart.squares, s.apart.pairs})
		e.head.doubles(fieldClustersAgain, []float64{s.again, s.all})
	}
	for _, c := range s.list {
		w := e.piece(fmt.Sprintf("cluster/%d", c.id), "cluster")
		w.integer(fieldID, c.id)
		w.text(fieldLabel, c.name)
		w.vector(fieldMean, c.mean)
		w.float(fieldMass, c.mass)
		w.integer(fieldItems, c.items)
		w.integer(fieldEpisode, c.seen)
		w.float(fieldLately, c.lately)
	}
}

func (s *clusters) decode(f *field) {
	if f.kind == "head" {
		switch f.number {
		case fieldNextCluster:
			s.next = f.integer()
		case fieldSum:
			s.sum = f.doubles(-1)
		case fieldCount:
			s.count = f.float()
		case fieldApart:
			if v := f.doubles(2); v != nil {
				s.apart = likeness{v[0], v[1]}
			}
		case fieldClustersAgain:
			if v := f.doubles(2); v != nil {
				s.recurrence = recurrence{v[0], v[1]}
			}
		case 0:
			if s.sum != nil && (len(s.sum) != f.dimension || !(s.count > 0)) {
				f.fail("sum of clustered rows")
			}
			if !(s.apart.squares >= 0 && s.apart.squares <= s.apart.pairs) {
				f.fail("likeness of different things")
			}
			if !(s.again >= 0 && s.again <= s.all*(1+1e-9)) {
				f.fail("recurrence of clusters")
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
	case fieldLately:
		c.lately = f.float()
	case 0:
		if len(c.mean) != f.dimension || !(c.mass > 0) || !(c.lately >= 0) {
			f.fail("cluster without its prototype")
		}
		slices.SortFunc(s.list, func(a, b *cluster) int { return cmp.Compare(a.id, b.id) })
	}
}

// observe gives a cluster the label of a taught item that is its member: one near enough to have joined
// it. Items of the feed name as they come, examples of the labels topic when the topic has changed.
func (s *clusters) observe(e *answered) {
	if len(s.list) == 0 {
		return
	}
	var labels []string
	var rows []float32
	take := func(label string, vector []float32) {
		labels = append(labels, label)
		from := len(rows)
		rows = append(rows, vector...)
		unitRow(rows[from:], vector)
	}
	if e.relabels {
		for i := range e.problem.force {
			take(e.problem.force[i].label, e.problem.force[i].vector)
		}
	}
	for i := range e.items {
		if e.items[i].Label != "" {
			take(e.items[i].Label, e.items[i].Vector)
		}
	}
	if len(labels) == 0 {
		return
	}
	d := e.stream.dimension
	space := s.space(e.stream.settings.DiscoverDistance, rows)
	means := space.prototypes(s.list)
	for i, label := range labels {
		nearest, at := space.birth, -1
		for k := range s.list {
			if v := float64(kernel.SquaredDistance(rows[i*d:i*d+d], means[k])); v <= nearest {
				nearest, at = v, k
			}
		}
		if at >= 0 && s.list[at].name != label {
			e.report.Events = append(e.report.Events, Event{Kind: "named", Class: s.list[at].label(), Into: label})
			s.list[at].name = label
		}
	}
}

// merge joins clusters whose prototypes have come as near to one another as members of one cluster are:
// the younger one goes into the older one, unless people have given the two different names. It returns
// who went into whom.
func (s *clusters) merge(space *clusterSpace, report *Report) map[*cluster]*cluster {
	merged := map[*cluster]*cluster{}
	// The mean that is taken off leaves a difference as it is, but for the length.
	limit := clusterMerge * space.birth * space.length * space.length
	for i := 0; i < len(s.list); i++ {
		for j := i + 1; j < len(s.list); j++ {
			a, b := s.list[i], s.list[j]
			named := a.name != "" && b.name != "" && a.name != b.name
			if named || float64(kernel.SquaredDistance(a.mean, b.mean)) > limit {
				continue
			}
			report.Events = append(report.Events, Event{Kind: "merged", Class: b.label(), Into: a.label()})
			mean := make([]float32, len(a.mean))
			kernel.Axpy(float32(a.mass/(a.mass+b.mass)), a.mean, mean)
			kernel.Axpy(float32(b.mass/(a.mass+b.mass)), b.mean, mean)
			a.mean, a.mass = mean, min(clusterWindow, a.mass+b.mass)
			a.items += b.items
			a.lately += b.lately
			a.seen = max(a.seen, b.seen)
			if a.name == "" {
				a.name = b.name
			}
			merged[b] = a
			s.list = slices.Delete(s.list, j, j+1)
			j--
		}
	}
	return merged
}

// retire keeps the set bounded: those longest unseen go first, the younger of two of one age.
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
