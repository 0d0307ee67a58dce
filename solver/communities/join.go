package communities

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// mostJoined bounds the clusters that are compared pair by pair.
const mostJoined = 4096

// join joins clusters by their rows when the graph no longer ties any. It joins the pair that adds least to
// the squared distances of rows to the mean of their cluster (Ward) until k are left. If there are more than
// mostJoined clusters, and more than k, only the largest are compared; each of the others joins the nearest
// of these. member is the cluster of each row, one of count. join returns the new cluster of each old one,
// and their number.
func join(rows Rows, member []int32, count, k int) ([]int32, int) {
	size, example := make([]float64, count), make([]int, count)
	for p, c := range member {
		size[c]++
		example[c] = p
	}
	large := make([]int, count)
	for c := range large {
		large[c] = c
	}
	if most := max(mostJoined, k); count > most {
		slices.SortStableFunc(large, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
		large = large[:most]
		slices.Sort(large)
	}
	w := ward{mean: vector.New(len(large), rows.D), size: make([]float64, len(large))}
	position := make([]int, count) // among the large
	for c := range position {
		position[c] = -1
	}
	for i, c := range large {
		position[c] = i
	}
	for p, c := range member {
		if i := position[c]; i >= 0 {
			w.add(i, rows.At(p))
		}
	}
	for c, i := range position {
		if i < 0 {
			position[c] = w.nearest(rows.At(example[c]))
		}
	}
	part, left := w.join(k)
	number := make([]int32, count)
	for c, i := range position {
		number[c] = part[i]
	}
	return number, left
}

// ward holds clusters by mean and size.
type ward struct {
	mean vector.Matrix
	size []float64
}

// add adds a row to a cluster.
func (w *ward) add(i int, row []float32) {
	w.size[i]++
	share, mean := float32(1/w.size[i]), w.mean.Row(i)
	for j, v := range row {
		mean[j] += share * (v - mean[j])
	}
}

// nearest returns the cluster whose mean is nearest to a row, the first among equals.
func (w *ward) nearest(row []float32) int {
	best, least := 0, kernel.SquaredDistance(w.mean.Row(0), row)
	for i := 1; i < w.mean.N; i++ {
		if apart := kernel.SquaredDistance(w.mean.Row(i), row); apart < least {
			best, least = i, apart
		}
	}
	return best
}

// cost returns by how much joining two clusters raises the squared distances of rows to their cluster's mean.
func (w *ward) cost(i, j int) float64 {
	apart := float64(kernel.SquaredDistance(w.mean.Row(i), w.mean.Row(j)))
	return apart * w.size[i] * w.size[j] / (w.size[i] + w.size[j])
}

// join returns the cluster of each when k are left, and their number. It follows the chain of nearest
// clusters until two are nearest to each other, joins these, and continues. No join brings clusters nearer to
// each other, so these are the joins of the cheapest pair first, in another order. The memory it needs is no
// more than that of the clusters.
func (w *ward) join(k int) ([]int32, int) {
	n := w.mean.N
	alive, passed := make([]int, n), make([]bool, n)
	for i := range alive {
		alive[i] = i
	}
	joins := make([]tie, 0, n)
	var chain []int
	for len(alive) > 1 {
		if len(chain) == 0 {
			chain = append(chain, alive[0])
			passed[alive[0]] = true
		}
		last, before := chain[len(chain)-1], -1
		least := math.Inf(1)
		if len(chain) > 1 { // prefer the previous one among equals, or the chain would never end
			before = chain[len(chain)-2]
			least = w.cost(last, before)
		}
		next := before
		for _, i := range alive {
			if !passed[i] {
				if cost := w.cost(last, i); cost < least || next < 0 {
					next, least = i, cost
				}
			}
		}
		if next != before {
			chain = append(chain, next)
			passed[next] = true
			continue
		}
		a, b := min(last, before), max(last, before)
		joins = append(joins, tie{-least, int32(a), int32(b)})
		chain = chain[:len(chain)-2]
		passed[a], passed[b] = false, false
		kernel.Scale(float32(w.size[a]/(w.size[a]+w.size[b])), w.mean.Row(a))
		kernel.Axpy(float32(w.size[b]/(w.size[a]+w.size[b])), w.mean.Row(b), w.mean.Row(a))
		w.size[a] += w.size[b]
		at, _ := slices.BinarySearch(alive, b)
		alive = slices.Delete(alive, at, at+1)
	}
	slices.SortStableFunc(joins, func(a, b tie) int { return cmp.Compare(b.worth, a.worth) })
	into, left := separate(n), n
	for _, t := range joins[:max(0, n-k)] {
		a, b := into.of(t.a), into.of(t.b)
		into[max(a, b)] = min(a, b)
		left--
	}
	return into.numbered(), left
}
