package file

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// stretch is the number of consecutive rows with prototypes of their own, as far as the order of the rows
// means something. A stream's episode has as many rows.
const stretch = 100

// coherence returns how much the order of the file's rows means, 0 to 1: the square root of the share, beyond
// chance, of a row's nearest neighbours that are within half a stretch of it. The root is taken because it
// takes two rows to be side by side. A share within three standard errors of chance counts as 0.
func coherence(lists *index.Neighbours, n int) float64 {
	const nearest, window = 4, stretch / 2
	near, all := 0., 0.
	for p := range n {
		ids, _ := lists.Row(p)
		found := 0
		for _, q := range ids {
			if q < 0 || int(q) >= n {
				continue
			}
			if found++; found > nearest {
				break
			}
			all++
			if q := int(q); q >= p-window && q <= p+window {
				near++
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

// If the order of a file means something, the squared distance of rows far apart in the file is increased
// when neighbours are chosen: by up to apart x coherence x the median squared distance to the nearest,
// reached at lag rows. For the support it is increased by half of that.
const (
	apart = 1.8
	lag   = 100
)

// mostScanned bounds the labelled rows with which each row is compared, beside those that the search
// for neighbours found.
const mostScanned = 2048

// candidate is a possible neighbour.
type candidate struct {
	id       int32
	distance float64 // squared, plus what the order adds
}

// affinity returns the graph of R: the rho nearest of each unlabelled row among all rows. A labelled
// neighbour weighs 1, an unlabelled pair (A + A')/2. The rows of labelled rows must not be read. c
// is the coherence.
func (l *loaded) affinity(lists *index.Neighbours, class []int32, rho int, c float64) *index.Affinity {
	rho = min(rho, l.all-1)
	pick := func(p, j int) (int32, float32) {
		if class[p] >= 0 {
			return -1, 0
		}
		q := lists.IDs[p*lists.Rho+j]
		return q, pairWeight(class, q)
	}
	if c > 0 {
		chosen := l.inOrder(lists, class, rho, c)
		pick = func(p, j int) (int32, float32) {
			if q := chosen[p*rho+j]; q >= 0 && class[p] < 0 {
				return q, pairWeight(class, q)
			}
			return -1, 0
		}
	}
	return symmetric(l.all, min(rho, lists.Rho), pick)
}

// pairWeight returns 1 for an unlabelled neighbour and 2 for a labelled one, of which symmetric takes half.
func pairWeight(class []int32, q int32) float32 {
	if q >= 0 && class[q] >= 0 {
		return 2
	}
	return 1
}

// inOrder chooses the rho nearest of each unlabelled row by distance and by how far apart rows are
// in the file.
func (l *loaded) inOrder(lists *index.Neighbours, class []int32, rho int, c float64) []int32 {
	first := make([]float32, l.all)
	for p := range first {
		first[p] = lists.Distances[p*lists.Rho] * lists.Distances[p*lists.Rho]
	}
	scale := apart * c * float64(vector.Median(first))
	var labelled []int32
	for q, y := range class {
		if y >= 0 && len(labelled) < mostScanned {
			labelled = append(labelled, int32(q))
		}
	}
	chosen := make([]int32, l.all*rho)
	for i := range chosen {
		chosen[i] = -1
	}
	for p := l.n; p < l.all; p++ { // support has no order
		ids, _ := lists.Row(p)
		copy(chosen[p*rho:(p+1)*rho], ids)
	}
	d := l.points.D
	eachChunk(l.n, func(_, from, to int) {
		var found []candidate
		own, other := l.points.Scratch(1), l.points.Scratch(2*lag+chunk)
		begin := max(0, from-lag)
		side := l.points.Rows(begin, min(l.n, to+lag), other)
		for p := from; p < to; p++ {
			if class[p] >= 0 {
				continue
			}
			found = found[:0]
			add := func(q int32, squared float32) {
				away := .5
				if int(q) < l.n {
					away = min(1, math.Abs(float64(int(q)-p))/lag)
				}
				found = append(found, candidate{q, float64(squared) + scale*away})
			}
			row := side[(p-begin)*d : (p-begin+1)*d]
			lo, hi := max(0, p-lag), min(l.n, p+lag+1)
			for q := lo; q < hi; q++ {
				if q != p {
					add(int32(q), kernel.SquaredDistance(row, side[(q-begin)*d:(q-begin+1)*d]))
				}
			}
			for _, q := range labelled {
				if int(q) < lo || int(q) >= hi {
					add(q, kernel.SquaredDistance(row, l.points.Rows(int(q), int(q)+1, own)))
				}
			}
			ids, distances := lists.Row(p)
			for j, q := range ids {
				if q < 0 || int(q) >= lo && int(q) < hi {
					continue
				}
				if _, compared := slices.BinarySearch(labelled, q); !compared {
					add(q, distances[j]*distances[j])
				}
			}
			slices.SortFunc(found, func(a, b candidate) int {
				switch {
				case a.distance < b.distance:
					return -1
				case a.distance > b.distance:
					return 1
				}
				return int(a.id) - int(b.id)
			})
			for j := range min(rho, len(found)) {
				chosen[p*rho+j] = found[j].id
			}
		}
	})
	return chosen
}
