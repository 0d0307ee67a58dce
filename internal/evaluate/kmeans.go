package evaluate

import (
	"math"
	"math/rand/v2"
	"runtime"

	"github.com/slkstream/slkstream/internal/parallel"
)

// inParallel runs work over 0 to n-1, in one range per core.
func inParallel(n int, work func(from, to int)) {
	workers := min(n, runtime.GOMAXPROCS(0))
	parallel.Each(workers, workers, func(_, w int) { work(n*w/workers, n*(w+1)/workers) })
}

// kmeans is Lloyd's algorithm from k-means++ starts. It returns the restart with the least sum of squares.
func kmeans(rows []float64, d, k, restarts int, random *rand.Rand) []int32 {
	n := len(rows) / d
	var best []int32
	least := math.Inf(1)
	labels, near := make([]int32, n), make([]float64, n)
	for range restarts {
		centres := spread(rows, d, k, random)
		last := math.Inf(1)
		for range 300 {
			inParallel(n, func(from, to int) {
				for p := from; p < to; p++ {
					near[p] = math.Inf(1)
					for c := range len(centres) / d {
						if v := squared(rows[p*d:p*d+d], centres[c*d:c*d+d]); v < near[p] {
							near[p], labels[p] = v, int32(c)
						}
					}
				}
			})
			var sum float64
			for _, v := range near {
				sum += v
			}
			if sum >= last*(1-1e-9) {
				break
			}
			last = sum
			count := make([]float64, len(centres)/d)
			clear(centres)
			for p, c := range labels {
				count[c]++
				for j, v := range rows[p*d : p*d+d] {
					centres[int(c)*d+j] += v
				}
			}
			for c, m := range count {
				for j := range d {
					centres[c*d+j] /= max(1, m)
				}
			}
		}
		if last < least {
			least, best = last, append(best[:0], labels...)
		}
	}
	return best
}

// spread draws k-means++ centres: rows drawn with probability proportional to the squared distance
// from earlier ones.
func spread(rows []float64, d, k int, random *rand.Rand) []float64 {
	n := len(rows) / d
	near := make([]float64, n)
	next := random.IntN(n)
	var centres []float64
	for {
		centre := rows[next*d : next*d+d]
		centres = append(centres, centre...)
		if len(centres) == k*d {
			return centres
		}
		first := len(centres) == d
		inParallel(n, func(from, to int) {
			for p := from; p < to; p++ {
				if v := squared(rows[p*d:p*d+d], centre); first || v < near[p] {
					near[p] = v
				}
			}
		})
		var total float64
		for _, v := range near {
			total += v
		}
		if total == 0 { // fewer distinct rows than clusters
			return centres
		}
		left := random.Float64() * total
		for next = 0; next < n-1 && left >= near[next]; next++ {
			left -= near[next]
		}
	}
}

func squared(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += (v - b[i]) * (v - b[i])
	}
	return sum
}
