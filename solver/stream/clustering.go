package stream

import (
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Items are clustered in two stages: the items of an episode and the last ones before it are linked into groups,
// then each group joins the cluster most similar to its sum, or becomes a new one. The earlier items keep their
// clusters; they show what the first items of an episode, or all of a short one, continue. Rows are compared by their cosine after
// subtracting a centre, which is common to all and distinguishes nothing. Clusters and episode both count in
// the centre with bounded weight, so that neither an object that stays long nor a crowd dominates it.
const (
	clustersKept = 512              // beyond it, the cluster longest unseen is retired
	clustersMost = 4 * clustersKept // while an episode is answered: each part of it is compared with all of them
	clusterChunk = 256              // items linked at once at most: the cost grows with its square
	// Items by which what is there now is known: so many are linked again with those that follow, and no
	// cluster's mean weighs more, nor does an episode in the centre.
	lateItems = 20

	smoothNearest = 3   // a row gets the mean of this many nearest rows added
	linkReach     = 1.3 // two groups of an episode may be this much further apart than group and cluster
	lagLikeness   = 1.5 // of the order, in median cosine distances of nearest neighbours
	twinLikeness  = .88 // two rows of one frame more similar than this may be one object
)

// answerClusters answers an episode with clusters, where a stream has too few labelled classes.
func (s *Stream) answerClusters(done *episode) {
	e := done.engine
	e.solved = nil
	done.report.Warm = s.episode > 0
	all := make([]int, len(done.items))
	for i := range all {
		all[i] = i
	}
	answers := make([]Answer, len(all))
	for i, m := range s.cluster(done.items, all, done.report) {
		answers[i] = Answer{Class: m.of.label(), Confidence: m.confidence}
		if label := done.items[i].Label; label != "" {
			answers[i] = Answer{Class: label, Confidence: 1}
		}
		answers[i].Label = e.problem.taught.Called(answers[i].Class)
	}
	done.answers = answers
}

// answer answers the unknown items of a labelled episode with their clusters, if the stream discovers
// classes. The best label becomes the first alternative.
func (s *clusters) answer(e *episode) {
	names, answers, report := e.problem.taught, e.answers, e.report
	if !e.stream.settings.Discover || report.Unknown == 0 || e.stream.embedder.unlike > 0 {
		return
	}
	var unknown []int
	for i := range answers {
		if answers[i].Unknown {
			unknown = append(unknown, i)
		}
	}
	members := e.stream.cluster(e.items, unknown, report)
	s.strangers(e)
	for i, m := range members {
		a := &answers[unknown[i]]
		known := Alternative{Label: a.Label, Confidence: min(a.Confidence, m.confidence)}
		a.Class = m.of.label()
		if a.Label = names.Called(a.Class); a.Label != a.Class { // the cluster has been named
			a.Unknown = false
			report.Unknown--
		}
		a.Confidence, a.Calibrated = m.confidence, false
		a.Alternatives = append([]Alternative{known}, a.Alternatives...)
	}
}

// member is an item's cluster.
type member struct {
	of         *cluster
	confidence float64
}

// cluster assigns each of the chosen items, at least one, to a cluster.
func (s *Stream) cluster(items []Item, chosen []int, report *Report) []member {
	var out []member
	parts := (len(chosen) + clusterChunk - 1) / clusterChunk
	for part := range slices.Chunk(chosen, (len(chosen)+parts-1)/parts) {
		out = append(out, s.clusterPart(items, part, len(chosen) == len(items), report)...)
		s.clusters.retire(clustersMost, report)
	}
	s.clusters.retire(clustersKept, report)
	return out
}

// clusterPart is cluster for items that are linked at once. whole: all items of the episode are chosen.
func (s *Stream) clusterPart(items []Item, chosen []int, whole bool, report *Report) []member {
	set, d := &s.clusters, s.dimension
	p := set.gather(items, chosen, d)
	unit := p.unit[p.before*d:] // of the chosen items
	centre := set.centre(unit, d)
	for i := range p.items {
		centred(p.rows[i*d:i*d+d], p.unit[i*d:i*d+d], centre)
	}
	kernel.Gram(p.alike, p.rows, len(p.items), d)
	kernel.Mirror(p.alike, len(p.items))
	p.relate(s.settings.FrameWeight > 0)
	if s.settings.Time && s.settings.Warm {
		p.order(&s.timeline, whole)
	}
	p.smooth(d)
	p.link(d, s.settings.DiscoverDistance)
	found := p.match(set, centre, 1-s.settings.DiscoverDistance)
	born := len(set.list)
	members := make([]int, len(chosen)) // each item's cluster
	for g, at := range found {
		if at < 0 { // unlike all clusters
			at = len(set.list)
			set.list = append(set.list, &cluster{id: set.next, mean: make([]float32, d)})
			set.next++
		}
		for _, i := range p.groups[g] {
			if i >= p.before {
				members[i-p.before] = at
			}
		}
	}
	set.learn(members, unit, d, s.episode+1)
	if s.settings.Summaries {
		set.together(p.items[p.before:], members)
	}
	set.before = lastItems(p.items)
	for _, c := range set.list[born:] {
		report.Events = append(report.Events, Event{Kind: "born", Class: c.label()})
	}
	n, k := len(chosen), len(set.list)
	likely := make([]float32, n*k)
	kernel.Products(likely, p.rows[p.before*d:], slices.Concat(set.centred(centre)...), n, k, d)
	kernel.Scale(float32(2*s.settings.Solver.Tau), likely) // a squared distance is 2 less twice the cosine
	kernel.SoftmaxRows(likely, n, k)
	out := make([]member, n)
	for i, at := range members {
		out[i] = member{set.list[at], float64(likely[i*k+at])}
	}
	return out
}

// gather returns a grouping of the chosen items, with the last ones before them.
func (s *clusters) gather(items []Item, chosen []int, d int) *grouping {
	p := &grouping{before: len(s.before), items: slices.Clone(s.before)}
	for _, at := range chosen {
		item := &items[at]
		p.items = append(p.items, linkedItem{frame: item.Frame, track: item.Track, at: int64(at)})
	}
	n := len(p.items)
	p.rows, p.unit, p.alike = make([]float32, n*d), make([]float32, n*d), make([]float32, n*n)
	for i := range p.items {
		unit := p.unit[i*d : i*d+d]
		if i < p.before {
			vector.Longs(unit, p.items[i].row, 1)
			continue
		}
		vector.Unit(unit, items[chosen[i-p.before]].Vector)
		if n-i <= lateItems {
			p.items[i].row = vector.Shorts(nil, unit, 1)
		}
	}
	return p
}

// lastItems copies the last items, for those that follow.
func lastItems(items []linkedItem) []linkedItem {
	return slices.Clone(items[max(0, len(items)-lateItems):])
}

// centre is the mean of the clusters, by mass, of the episode's unit rows, with lateItems rows' weight at
// most, and of one row at the origin, which keeps the centre small while few rows are known.
func (s *clusters) centre(unit []float32, d int) []float32 {
	out, total := make([]float32, d), 1.
	for _, c := range s.list {
		kernel.Axpy(float32(c.mass), c.mean, out)
		total += c.mass
	}
	if n := float64(len(unit) / d); n > 0 {
		weight := min(n, lateItems)
		for from := 0; from < len(unit); from += d {
			kernel.Axpy(float32(weight/n), unit[from:from+d], out)
		}
		total += weight
	}
	kernel.Scale(float32(1/total), out)
	return out
}

// centred fills out with the row at length 1, minus the centre, scaled to length 1 again.
func centred(out, row, centre []float32) {
	vector.Unit(out, row)
	kernel.Axpy(-1, centre, out)
	vector.Unit(out, out)
}

// centred returns the means of the clusters minus the centre, each at length 1.
func (s *clusters) centred(centre []float32) [][]float32 {
	out := make([][]float32, len(s.list))
	for k, c := range s.list {
		out[k] = slices.Clone(c.mean)
		kernel.Axpy(-1, centre, out[k])
		vector.Unit(out[k], out[k])
	}
	return out
}

// learn moves the means of clusters towards the items that the episode assigns to them.
func (s *clusters) learn(members []int, unit []float32, d int, episode int64) {
	count := make([]float64, len(s.list))
	for _, at := range members {
		count[at]++
	}
	for k, c := range s.list {
		if count[k] == 0 {
			continue
		}
		mean := make([]float32, d)
		kernel.Axpy(float32(c.mass/(c.mass+count[k])), c.mean, mean)
		for i, at := range members {
			if at == k {
				kernel.Axpy(float32(1/(c.mass+count[k])), unit[i*d:i*d+d], mean)
			}
		}
		c.mean, c.mass = mean, min(lateItems, c.mass+count[k])
		if c.seen != episode {
			c.itemsBefore, c.seenBefore = c.items, c.seen
		}
		c.items += int64(count[k])
		c.seen = episode
	}
}

// grouping is a part of an episode whose items are linked at once, with the items before it.
type grouping struct {
	before int // the first items are earlier ones, which have their clusters
	items  []linkedItem
	unit   []float32 // n x d
	rows   []float32 // n x d, centred, of length 1
	alike  []float32 // n x n: cosines
	apart  []bool    // n x n: different objects of one frame
	track  []bool    // n x n: one track
	lag    []float32 // subtracted from the cosine of items 0, 1, ... positions apart; nil: nothing

	smoothed []float32 // n x d
	groups   [][]int   // those that hold an item of the episode
}

// linkedItem is what linking needs of an item.
type linkedItem struct {
	row          []int16 // at length 1, by vector.Shorts; nil where no later item is linked with it
	frame, track string
	at           int64 // position in the episode; below zero: before it
}
