package clusters

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

// Item is what clustering needs of an item.
type Item struct {
	Vector       []float32
	Frame, Track string
}

// Episode is a stream's episode whose items are assigned.
type Episode struct {
	Number   int64
	Items    []Item
	Chosen   []int   // those to be assigned, ascending
	Distance float64 // an item further than this from every cluster, by 1 - cosine, makes a new one
	Tau      float64 // how sharply items are shared among clusters
	Framed   bool    // items of one frame are different things
	Together bool    // it is noted which clusters were in one frame
	Order    Order   // nil: the order means nothing

	Born, Retired func(label string)
}

// Order is what a stream knows of the order of its items.
type Order interface {
	Learn(distances []float32, n int) // between an episode's items, n x n
	Coherence() float64               // 1: nearest neighbours are consecutive, 0: at random
	Lags() []float64                  // of items 0, 1, ... positions apart, and of all that are further apart
}

// Member is an item's cluster.
type Member struct {
	Of         *Cluster
	Confidence float64
}

// Assign assigns each of the chosen items, at least one, to a cluster.
func (s *Set) Assign(e *Episode) []Member {
	var out []Member
	parts := (len(e.Chosen) + clusterChunk - 1) / clusterChunk
	for part := range slices.Chunk(e.Chosen, (len(e.Chosen)+parts-1)/parts) {
		out = append(out, s.assign(e, part)...)
		s.Retire(clustersMost, e.Retired)
	}
	s.Retire(clustersKept, e.Retired)
	return out
}

// assign is Assign for items that are linked at once.
func (s *Set) assign(e *Episode, chosen []int) []Member {
	d := len(e.Items[chosen[0]].Vector)
	p := s.gather(e.Items, chosen, d)
	unit := p.unit[p.before*d:] // of the chosen items
	centre := s.centre(unit, d)
	for i := range p.items {
		centred(p.rows[i*d:i*d+d], p.unit[i*d:i*d+d], centre)
	}
	kernel.Gram(p.alike, p.rows, len(p.items), d)
	kernel.Mirror(p.alike, len(p.items))
	p.relate(e.Framed)
	if e.Order != nil {
		p.order(e.Order, len(e.Chosen) == len(e.Items))
	}
	p.smooth(d)
	p.link(d, e.Distance)
	found := p.match(s, centre, 1-e.Distance)
	born := len(s.list)
	members := make([]int, len(chosen)) // each item's cluster
	for g, at := range found {
		if at < 0 { // unlike all clusters
			at = len(s.list)
			s.list = append(s.list, &Cluster{id: s.next, Mean: make([]float32, d)})
			s.next++
		}
		for _, i := range p.groups[g] {
			if i >= p.before {
				members[i-p.before] = at
			}
		}
	}
	s.learn(members, unit, d, e.Number)
	if e.Together {
		s.together(p.items[p.before:], members)
	}
	s.before = slices.Clone(p.items[max(0, len(p.items)-lateItems):])
	for _, c := range s.list[born:] {
		e.Born(c.Label())
	}
	n, k := len(chosen), len(s.list)
	likely := make([]float32, n*k)
	kernel.Products(likely, p.rows[p.before*d:], slices.Concat(s.means(centre)...), n, k, d)
	kernel.Scale(float32(2*e.Tau), likely) // a squared distance is 2 less twice the cosine
	kernel.SoftmaxRows(likely, n, k)
	out := make([]Member, n)
	for i, at := range members {
		out[i] = Member{s.list[at], float64(likely[i*k+at])}
	}
	return out
}

// gather returns a grouping of the chosen items, with the last ones before them.
func (s *Set) gather(items []Item, chosen []int, d int) *grouping {
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

// centre is the mean of the clusters, by mass, of the episode's unit rows, with lateItems rows' weight at
// most, and of one row at the origin, which keeps the centre small while few rows are known.
func (s *Set) centre(unit []float32, d int) []float32 {
	out, total := make([]float32, d), 1.
	for _, c := range s.list {
		kernel.Axpy(float32(c.mass), c.Mean, out)
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

// means returns those of the clusters minus the centre, each at length 1.
func (s *Set) means(centre []float32) [][]float32 {
	out := make([][]float32, len(s.list))
	for k, c := range s.list {
		out[k] = slices.Clone(c.Mean)
		kernel.Axpy(-1, centre, out[k])
		vector.Unit(out[k], out[k])
	}
	return out
}

// learn moves the means of clusters towards the items that the episode assigns to them.
func (s *Set) learn(members []int, unit []float32, d int, episode int64) {
	count := make([]float64, len(s.list))
	for _, at := range members {
		count[at]++
	}
	for k, c := range s.list {
		if count[k] == 0 {
			continue
		}
		mean := make([]float32, d)
		kernel.Axpy(float32(c.mass/(c.mass+count[k])), c.Mean, mean)
		for i, at := range members {
			if at == k {
				kernel.Axpy(float32(1/(c.mass+count[k])), unit[i*d:i*d+d], mean)
			}
		}
		c.Mean, c.mass = mean, min(lateItems, c.mass+count[k])
		if c.Seen != episode {
			c.itemsBefore, c.seenBefore = c.Items, c.Seen
		}
		c.Items += int64(count[k])
		c.Seen = episode
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
