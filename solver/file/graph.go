package file

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver/communities"
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

// similarity is a graph over which labels are spread. Its rows are in an order in which communities are side
// by side, so that a walk over it finds most neighbours in the cache.
type similarity struct {
	graph  *index.Affinity
	order  []int32 // the row at each position
	levels []level // communities, from those of few rows on
}

// level is a level of nested communities: where each begins among those of the level below, positions for
// the first level, and the number of all of these.
type level []int32

// similarities builds the graph that Poisson learning was published with (Calder et al. 2020): the nearest of
// each row, weighted exp(-4 d2 / d2_k), d2_k the squared distance of the last of them, made symmetric,
// (A + A')/2.
func similarities(lists *index.Neighbours, seed uint64) similarity {
	asGiven := make([]int32, lists.N)
	for i := range asGiven {
		asGiven[i] = int32(i)
	}
	position, levels := sideBySide(communities.Nested(similar(lists, asGiven, asGiven), seed))
	order := make([]int32, lists.N)
	for p, i := range position {
		order[i] = int32(p)
	}
	return similarity{similar(lists, order, position), order, levels}
}

// sideBySide returns a position for each row such that every community of every level is a range of
// positions. parts are as communities.Nested returns them.
func sideBySide(parts [][]int32) (position []int32, levels []level) {
	levels = make([]level, len(parts))
	position = make([]int32, slices.Max(parts[len(parts)-1])+1) // of the communities of the last level
	for c := range position {
		position[c] = int32(c)
	}
	for l, part := range slices.Backward(parts) {
		begins := make(level, len(position)+1)
		for _, c := range part {
			begins[position[c]+1]++
		}
		for c := range position {
			begins[c+1] += begins[c]
		}
		next, below := slices.Clone(begins), make([]int32, len(part))
		for i, c := range part {
			below[i] = next[position[c]]
			next[position[c]]++
		}
		levels[l], position = begins, below
	}
	return position, levels
}

// similar builds the graph for rows in the given order; position is its inverse.
func similar(lists *index.Neighbours, order, position []int32) *index.Affinity {
	width := lists.Rho
	near := &index.Neighbours{N: lists.N, Rho: width, IDs: make([]int32, lists.N*width)}
	weights := make([]float32, lists.N*width)
	eachChunk(lists.N, func(_, from, to int) {
		for i := from; i < to; i++ {
			ids, distances := lists.Row(int(order[i]))
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
	})
	graph := new(index.Affinity)
	near.LabelledInto(graph, lists.N, nil, weights)
	return graph
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
	eachChunk(len(d), func(_, from, to int) {
		for p := from; p < to; p++ {
			_, weights := a.Row(p)
			for _, w := range weights {
				d[p] += w
			}
		}
	})
	return d
}
