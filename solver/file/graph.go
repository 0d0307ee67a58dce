package file

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
)

// candidate is a possible neighbour.
type candidate struct {
	id       int32
	distance float64 // squared, plus what the order adds
}

func (c candidate) before(o candidate) bool {
	return c.distance < o.distance || c.distance == o.distance && c.id < o.id
}

// nearest is a list of candidates, the nearest first, ties by id.
type nearest []candidate

// offer inserts a candidate if it is one of the nearest, of which the list keeps so many.
func (n *nearest) offer(c candidate, most int) {
	list := *n
	at := len(list)
	for at > 0 && c.before(list[at-1]) {
		at--
	}
	if at < most {
		list = slices.Insert(list, at, c)
		*n = list[:min(len(list), most)]
	}
}

// similarity is a graph over which labels are spread, with the row at each of its positions.
type similarity struct {
	graph *index.Affinity
	order []int32
}

// similarities builds the graph that Poisson learning was published with (Calder et al. 2020): the nearest of
// each row, weighted exp(-4 d2 / d2_k), d2_k the squared distance of the last of them, made symmetric,
// (A + A')/2.
func similarities(lists *index.Neighbours, order []int32) similarity {
	width := lists.Rho
	position := make([]int32, len(order))
	for i, p := range order {
		position[p] = int32(i)
	}
	near := &index.Neighbours{N: lists.N, Rho: width, IDs: make([]int32, lists.N*width)}
	weights := make([]float32, lists.N*width)
	for i, p := range order {
		ids, distances := lists.Row(int(p))
		last := width - 1
		for last > 0 && ids[last] < 0 {
			last--
		}
		for j := range width {
			at := i*width + j
			near.IDs[at], weights[at] = -1, 1
			if ids[j] >= 0 {
				near.IDs[at] = position[ids[j]]
			}
			if distances[last] > 0 {
				r := float64(distances[j]) / float64(distances[last])
				weights[at] = float32(math.Exp(-4 * r * r))
			}
		}
	}
	graph := new(index.Affinity)
	near.LabelledInto(graph, lists.N, nil, weights)
	return similarity{graph, order}
}

// in returns the values of the rows, each at its position.
func (s *similarity) in(values []int32) []int32 {
	out := make([]int32, len(values))
	for i, p := range s.order {
		out[i] = values[p]
	}
	return out
}

// degrees returns the sums of the rows of a graph.
func degrees(a *index.Affinity) []float32 {
	d := make([]float32, a.N())
	for p := range d {
		_, weights := a.Row(p)
		for _, w := range weights {
			d[p] += w
		}
	}
	return d
}
