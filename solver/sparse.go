package solver

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// A large problem of many classes keeps few values of each row of S: those within sparseReach of its largest score, and of
// these the sparseWidth largest. The softmax over any classes is the exact minimiser of R on them. Where the sparseWidth
// lowest costs of all are taken it is no worse than the old row, which had no more; where fewer are, what the old row had of
// the others is below what the rounding of a row's sum hides. So R falls at every half-step. What is lost is the tail of rows
// that hesitate between more than sparseWidth classes.
const (
	sparseClasses = 64 // more classes than this
	sparseWidth   = 8  // a row is one line of the cache
	sparseReach   = 16 // -log of 1e-7
)

// element is one value of a sparse row of S.
type element struct {
	class int32
	value float32
}

// elements are the values kept of row p, classes ascending. A row that is all in one class, as most are after a few sweeps,
// lies in heads alone: what a point asks of its neighbours comes from little memory then. Of another its head says, below
// zero, how many entries there are.
func (s *assignments) elements(p int) []element {
	if head := s.heads[p].class; head < 0 {
		return s.entries[p*sparseWidth : p*sparseWidth-int(head)]
	}
	return s.heads[p : p+1]
}

// write replaces row p and returns the L1 change.
func (s *assignments) write(p int, next []element) float64 {
	var change float32
	before := s.elements(p)
	i := 0
	for _, v := range next {
		for ; i < len(before) && before[i].class < v.class; i++ {
			change += before[i].value
		}
		if i < len(before) && before[i].class == v.class {
			change += max(v.value-before[i].value, before[i].value-v.value)
			i++
		} else {
			change += v.value
		}
	}
	for ; i < len(before); i++ {
		change += before[i].value
	}
	if len(next) == 1 {
		s.heads[p] = next[0]
		return float64(change)
	}
	s.heads[p].class = int32(-copy(s.entries[p*sparseWidth:(p+1)*sparseWidth], next))
	return float64(change)
}

// updateSparse updates the listed points of a tile from their scores and returns the L1 change.
func (e *episode) updateSparse(w *worker, listed []int32, scores []float32) float64 {
	k := e.k
	var change float64
	for i, p := range listed {
		change += e.s.write(int(p), w.choice.elements(scores[i*k:i*k+k]))
	}
	return change
}

// choice is what a worker needs to find the classes that count for a point.
type choice struct {
	zeros  []float32 // k
	places []int32   // k
	kept   [sparseWidth]element
	values [sparseWidth]float32
}

func (c *choice) size(k int) {
	c.places, c.zeros = vector.Resize(c.places, k), vector.Zeroed(c.zeros, k)
}

// elements returns the softmax of a row of scores over the classes that count, ascending. It is valid until the next call.
func (c *choice) elements(scores []float32) []element {
	var minima [kernel.Groups]float32
	for g := range minima {
		minima[g] = float32(math.Inf(1))
	}
	kernel.GroupMinima(&minima, c.zeros, scores)               // of -2 scores
	least, most := float32(math.Inf(1)), float32(math.Inf(-1)) // of sparseWidth groups, so that so many scores are among the candidates
	for g := range sparseWidth {
		lowest := min(minima[g], minima[g+sparseWidth])
		least, most = min(least, lowest), max(most, lowest)
	}
	limit := min(least+2*sparseReach, most)
	places := c.places[:kernel.Below(c.places, c.zeros, scores, limit)]
	if len(places) > sparseWidth {
		places = largest(places, scores)
	}
	values := c.values[:len(places)]
	for i, class := range places {
		values[i] = scores[class]
	}
	kernel.Softmax(values)
	for i, class := range places {
		c.kept[i] = element{class, values[i]}
	}
	return c.kept[:len(places)]
}

// largest keeps, in their order, the sparseWidth places with the largest scores, the first of equals.
func largest(places []int32, scores []float32) []int32 {
	var top [sparseWidth]float32 // descending
	for i, class := range places {
		v, at := scores[class], min(i, sparseWidth-1)
		if i >= sparseWidth && v <= top[at] {
			continue
		}
		for ; at > 0 && top[at-1] < v; at-- {
			top[at] = top[at-1]
		}
		top[at] = v
	}
	least, room := top[sparseWidth-1], 0 // of those equal to the least
	for _, v := range top {
		if v == least {
			room++
		}
	}
	kept := places[:0]
	for _, class := range places {
		switch v := scores[class]; {
		case v > least:
			kept = append(kept, class)
		case v == least && room > 0:
			kept = append(kept, class)
			room--
		}
	}
	return kept
}
