package file

import (
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// stretch is the number of consecutive rows with class proportions of their own, if the order of the rows
// means something. A stream's episode has as many rows.
const stretch = 100

// coherence returns how much the order of the file's rows means, 0 to 1: the square root of the share, beyond
// chance, of a row's nearest neighbours that are within half a stretch of it. The root is taken because it
// takes two rows to be side by side. A share within three standard errors of chance counts as 0.
func coherence(lists *index.Neighbours, n int) float64 {
	const window = stretch / 2
	near, all := 0., 0.
	for p := range n {
		ids, _ := lists.Row(p)
		for _, q := range ids {
			if q := int(q); q >= 0 && q < n {
				all++
				if q >= p-window && q <= p+window {
					near++
				}
			}
		}
	}
	chance := 2 * window / float64(n)
	if all == 0 || chance >= 1 {
		return 0
	}
	share := (near/all - chance) / (1 - chance)
	if share < 3*math.Sqrt(chance/(1-chance)/all) {
		return 0
	}
	return math.Sqrt(share)
}

// orderWeight increases the squared distance of rows far apart in the file when neighbours are chosen, if the order
// of the file means something: by up to orderWeight x coherence x the median squared distance to the nearest,
// reached at a stretch and for the support.
const orderWeight = 1.8

// mixOrder replaces the neighbours of each row by the nearest in distance and in the order of the file, if the order means
// something, and their distances by what both are together: labels spread over them, and R has a graph of them.
func (l *loaded) mixOrder(lists *index.Neighbours, coherence float64) {
	if coherence == 0 {
		return
	}
	first := make([]float32, l.all)
	for p := range first {
		first[p] = lists.Distances[p*lists.Rho] * lists.Distances[p*lists.Rho]
	}
	scale := orderWeight * coherence * float64(vector.Median(first))
	d := l.points.D
	eachChunk(l.all, func(_, from, to int) {
		var found nearest
		scratch := l.points.Scratch(2*stretch + chunk)
		begin, end := min(l.n, max(0, from-stretch)), min(l.n, to+stretch)
		side := l.points.Rows(begin, end, scratch)
		for p := from; p < to; p++ {
			found = found[:0]
			add := func(q int, squared float32) {
				away := 1.
				if p < l.n && q < l.n {
					away = min(1, math.Abs(float64(q-p))/stretch)
				}
				found.offer(candidate{int32(q), float64(squared) + scale*away}, lists.Rho)
			}
			lo, hi := max(0, p-stretch), min(l.n, p+stretch+1)
			if p >= l.n { // a row of the support stands nowhere in the file
				lo, hi = 0, 0
			}
			for q := lo; q < hi; q++ {
				if q != p {
					add(q, kernel.SquaredDistance(side[(p-begin)*d:(p-begin+1)*d], side[(q-begin)*d:(q-begin+1)*d]))
				}
			}
			ids, distances := lists.Row(p)
			for j, q := range ids {
				if q := int(q); q >= 0 && (q < lo || q >= hi) {
					add(q, distances[j]*distances[j])
				}
			}
			for j := range ids {
				ids[j] = -1
			}
			for j, one := range found {
				ids[j], distances[j] = one.id, float32(math.Sqrt(one.distance))
			}
		}
	})
}

// affinity returns the graph of R: the rho nearest of each unlabelled row among all rows. A labelled
// neighbour weighs 1, an unlabelled pair (A + A')/2.
func (l *loaded) affinity(lists *index.Neighbours, class []int32, rho int) *index.Affinity {
	rho = min(rho, lists.Rho)
	near := index.Neighbours{N: l.all, Rho: rho, IDs: make([]int32, l.all*rho)}
	for p := range l.all {
		copy(near.IDs[p*rho:(p+1)*rho], lists.IDs[p*lists.Rho:])
	}
	graph := new(index.Affinity)
	near.LabelledInto(graph, l.all, class, nil)
	return graph
}
