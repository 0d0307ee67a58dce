package clusters

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/linkage"
	"github.com/slkstream/slkstream/internal/vector"
)

// relate marks the pairs of items that are different objects, as they are of one frame, and those that are
// one object, as they are of one track.
func (p *grouping) relate(framed bool) {
	n := len(p.items)
	p.apart, p.track = make([]bool, n*n), make([]bool, n*n)
	for i := range n {
		for j := range i {
			a, b, v := &p.items[i], &p.items[j], float64(p.alike[i*n+j])
			if framed && a.frame != "" && a.frame == b.frame {
				p.apart[i*n+j] = v <= twinLikeness
				p.apart[j*n+i] = p.apart[i*n+j]
			} else if a.track != "" && a.track == b.track {
				p.track[i*n+j], p.track[j*n+i] = true, true
			}
		}
	}
}

// order computes the lag. learned: the order is learned from the episode's items, too.
func (p *grouping) order(t Order, learned bool) {
	all, n := len(p.items), len(p.items)-p.before
	if all < 2 {
		return
	}
	distances := make([]float32, n*n) // of the episode's items alone
	nearest := make([]float32, n)     // cosines, with those before
	for i := range n {
		row := slices.Clone(p.alike[(p.before+i)*all:][:all])
		kernel.Axpy(-1, row[p.before:], distances[i*n:i*n+n])
		row[p.before+i] = -1
		nearest[i] = slices.Max(row)
	}
	if learned && n > 1 {
		t.Learn(distances, n)
	}
	middle := 1 - float64(vector.Median(nearest))
	for _, lag := range t.Lags() {
		p.lag = append(p.lag, float32(lagLikeness*t.Coherence()*middle*lag))
	}
}

// timed returns the cosine of two items minus the lag between them.
func (p *grouping) timed(i, j int, cosine float32) float32 {
	if p.lag == nil {
		return cosine
	}
	a, b := p.items[i].at, p.items[j].at
	return cosine - p.lag[min(int64(len(p.lag)-1), max(a-b, b-a))]
}

// smooth adds to each row the mean of its nearest rows, weighted by their cosines.
func (p *grouping) smooth(d int) {
	n := len(p.items)
	p.smoothed = slices.Clone(p.rows)
	near := make([]vector.Near[int32], 0, smoothNearest)
	for i := range n {
		near = near[:0]
		var sum float32
		for j, v := range p.alike[i*n : i*n+n] {
			if j != i && v > 0 && !p.apart[i*n+j] {
				near = vector.Nearest(near, vector.Near[int32]{Node: int32(j), Distance: -p.timed(i, j, v)}, smoothNearest)
			}
		}
		for _, l := range near {
			sum += p.alike[i*n+int(l.Node)]
		}
		row := p.smoothed[i*d : i*d+d]
		for _, l := range near {
			j := int(l.Node)
			kernel.Axpy(p.alike[i*n+j]/sum, p.rows[j*d:j*d+d], row)
		}
		vector.Unit(row, row)
	}
}

// link makes the groups: each item starts as one, and the two most similar merge as long as the mean
// similarity over their pairs of items reaches a limit: that of a group and its cluster, distance, times
// linkReach, and times it once more where frames tell items apart. Groups that hold different objects of a
// frame never merge.
func (p *grouping) link(d int, distance float64) {
	limit := 1 - linkReach*distance
	if slices.Contains(p.apart, true) {
		limit = 1 - linkReach*linkReach*distance
	}
	n := len(p.items)
	alike := make([]float32, n*n)
	kernel.Gram(alike, p.smoothed, n, d)
	kernel.Mirror(alike, n)
	for i := range n {
		for j := range i {
			v := p.timed(i, j, alike[i*n+j])
			if p.track[i*n+j] {
				v = 1
			}
			if p.apart[i*n+j] {
				v = float32(math.Inf(-1))
			}
			alike[i*n+j], alike[j*n+i] = v, v
		}
	}
	p.groups = linkage.Groups(n, linkage.Average(alike, n, nil, limit))
	p.groups = slices.DeleteFunc(p.groups, func(g []int) bool { return slices.Max(g) < p.before })
}

// match returns the cluster of each group, or -1 where it is new; the most similar pairs are matched first.
// Groups that hold different objects of a frame never get the same cluster.
func (p *grouping) match(set *Set, centre []float32, limit float64) []int {
	d := len(centre)
	type pair struct {
		group, cluster int
		alike          float32
	}
	var pairs []pair
	means, sum := set.means(centre), make([]float32, d)
	for g, items := range p.groups {
		clear(sum)
		for _, i := range items {
			kernel.Axpy(1, p.rows[i*d:i*d+d], sum)
		}
		vector.Unit(sum, sum)
		for k := range means {
			if v := kernel.Dot(sum, means[k]); float64(v) >= limit {
				pairs = append(pairs, pair{g, k, v})
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.alike, a.alike) })
	found := slices.Repeat([]int{-1}, len(p.groups))
	members := make([][]int, len(means))
	for _, x := range pairs {
		if found[x.group] < 0 && !p.differ(p.groups[x.group], members[x.cluster]) {
			found[x.group] = x.cluster
			members[x.cluster] = append(members[x.cluster], p.groups[x.group]...)
		}
	}
	return found
}

// differ reports whether two groups hold different objects of one frame.
func (p *grouping) differ(a, b []int) bool {
	return slices.ContainsFunc(a, func(i int) bool {
		return slices.ContainsFunc(b, func(j int) bool { return p.apart[i*len(p.items)+j] })
	})
}
