package evaluate

import (
	"math"

	"github.com/slkstream/slkstream/index"
)

// kernelKMeans is weighted kernel k-means from a given start, in the form whose objective is the normalised
// cut (Dhillon, Guan and Kulis): weights are the degrees and the kernel is D^-1 + D^-1 W D^-1. The kernel is
// positive, so the objective falls with every step. It allocates nothing larger than the graph.
func kernelKMeans(graph *index.Affinity, k int, start []int32) []int32 {
	n := graph.N()
	degree := make([]float64, n)
	for p := range n {
		_, weights := graph.Row(p)
		for _, w := range weights {
			degree[p] += float64(w)
		}
	}
	labels := append([]int32(nil), start...)
	next := make([]int32, n)
	for range 300 {
		// For a cluster of volume v and inner weight i, the squared distance of p in feature space is
		// k_pp - 2 (w(p, cluster)/d_p + [p in cluster]) / v + (i + v) / v^2.
		volume, inside := make([]float64, k), make([]float64, k)
		for p, c := range labels {
			volume[c] += degree[p]
			columns, weights := graph.Row(p)
			for j, q := range columns {
				if labels[q] == c {
					inside[c] += float64(weights[j])
				}
			}
		}
		inParallel(n, func(from, to int) {
			near := make([]float64, k)
			for p := from; p < to; p++ {
				clear(near)
				columns, weights := graph.Row(p)
				for j, q := range columns {
					near[labels[q]] += float64(weights[j])
				}
				best, least := labels[p], math.Inf(1)
				for c := range k {
					if volume[c] == 0 || degree[p] == 0 {
						continue
					}
					share := near[c] / degree[p]
					if int32(c) == labels[p] {
						share++
					}
					distance := (inside[c]+volume[c])/(volume[c]*volume[c]) - 2*share/volume[c]
					if distance < least || distance == least && int32(c) == labels[p] {
						best, least = int32(c), distance
					}
				}
				next[p] = best
			}
		})
		moved := 0
		for p := range labels {
			if labels[p] != next[p] {
				moved++
			}
		}
		copy(labels, next)
		if moved == 0 {
			break
		}
	}
	return labels
}
