package solver

import (
	"math"
	"slices"

	"slkstream/internal/kernel"
)

// A large problem of many classes keeps few values of each row of S: those above sparseShare of the largest, and those it
// had before unless they have all but vanished; where these are more than sparseWidth, the sparseWidth largest. The softmax
// over any classes is the exact minimiser of R on them. With the old ones among them, or with the sparseWidth lowest costs
// of all, it is no worse than the old row, so that R still falls at every half-step. What is lost is the tail: shares below
// a ten thousandth, and rows that hesitate between more than sparseWidth classes.
const (
	sparseClasses = 64 // more classes than this
	sparseWidth   = 16
	sparseShare   = 9.2 // -log of 1e-4
	vanished      = 23  // -log of 1e-10: less than the rounding of a sum
)

// share is one value of a sparse row of S.
type share struct {
	class int32
	value float32
}

// shares are the values kept of row p, classes ascending. A row that is all in one class, as most are after a few sweeps,
// lies in heads alone: what a point asks of its neighbours comes from little memory then. Of another its head says, below
// zero, how many entries there are.
func (s *assignments) shares(p int) []share {
	if head := s.heads[p].class; head < 0 {
		return s.entries[p*sparseWidth : p*sparseWidth-int(head)]
	}
	return s.heads[p : p+1]
}

// write replaces row p and returns the L1 change.
func (s *assignments) write(p int, next []share) float64 {
	var change float32
	before := s.shares(p)
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

// choice is what a worker needs to find the classes that count for a point.
type choice struct {
	minima [kernel.Groups]float32
	places []int32
	force  []float32 // k: lambda (W S + b)_p; zero but while a point is looked at
	pulled []int32   // classes whose force is not
	kept   [sparseWidth]share
	values [sparseWidth]float32
}

func (c *choice) size(k int) {
	c.places, c.force = grown(c.places, k), cleared(c.force, k)
}

// pull adds to the force towards a class.
func (c *choice) pull(class int32, by float32) {
	if c.force[class] == 0 {
		c.pulled = append(c.pulled, class)
	}
	c.force[class] += by
}

// keep puts a class in its place among count others and returns their new number, sparseWidth + 1 if there is no room.
func (c *choice) keep(count int, class int32, score float32) int {
	at := count
	for at > 0 && c.kept[at-1].class >= class {
		at--
	}
	switch {
	case at < count && c.kept[at].class == class:
		return count
	case count == sparseWidth:
		return sparseWidth + 1
	}
	copy(c.kept[at+1:count+1], c.kept[at:count])
	c.kept[at] = share{class, score}
	return count + 1
}

// costs are how a sweep prices the classes: without its neighbours a point's score is scale (2 products - norms).
type costs struct {
	norms []float32
	scale float32
	ready bool // products are scores already, where there are modes, or means hardly weigh
}

// price sets the costs of a sweep from the part of the scores that is common to all points.
func (e *episode) price(base []float64) {
	e.costs.ready = e.modes || e.tau < 1e-3
	e.costs.norms, e.costs.scale = cleared(e.costs.norms, e.k), .5
	if !e.costs.ready {
		e.costs.scale = float32(e.tau)
		for c, v := range base {
			e.costs.norms[c] = float32(-v / e.tau)
		}
	}
}

// updateShares updates the listed points of a tile, of which no two are neighbours, and returns the L1 change.
func (e *episode) updateShares(w *worker, lo int, listed []int32, graph bool) float64 {
	k := e.k
	var products []float32
	if e.costs.ready {
		products = e.scores(w, lo, len(listed), listed)
	} else {
		products = e.space.dots(w, lo, len(listed), listed)
	}
	var change float64
	for i, p := range listed {
		if graph {
			e.pullShares(&w.choice, int(p))
		}
		change += e.choose(w, int(p), products[i*k:i*k+k])
		for _, c := range w.choice.pulled {
			w.choice.force[c] = 0
		}
		w.choice.pulled = w.choice.pulled[:0]
	}
	return change
}

// pullShares collects lambda (W S + b)_p.
func (e *episode) pullShares(c *choice, p int) {
	columns, weights := e.graph.Row(p)
	for j, q := range columns {
		v := float32(e.lambda) * weights[j]
		if int(q) >= e.n {
			c.pull(e.label[q], v)
			continue
		}
		for _, s := range e.s.shares(int(q)) {
			c.pull(s.class, v*s.value)
		}
	}
}

// choose replaces row p of a sparse S by the softmax over the classes that count, and returns the L1 change.
func (e *episode) choose(w *worker, p int, products []float32) float64 {
	c, norms, scale := &w.choice, e.costs.norms, e.costs.scale
	score := func(class int32) float32 { return scale*(2*products[class]-norms[class]) + c.force[class] }
	for g := range c.minima {
		c.minima[g] = float32(math.Inf(1))
	}
	kernel.GroupMinima(&c.minima, norms, products)
	top := -scale * slices.Min(c.minima[:])
	for _, class := range c.pulled {
		if c.force[class] < 0 { // the best class may be one that is pushed away from
			return e.chooseOfAll(w, p, products)
		}
		top = max(top, score(class))
	}
	count := 0
	for _, class := range c.places[:kernel.Below(c.places, norms, products, (sparseShare-top)/scale)] {
		if count = c.keep(count, class, score(class)); count > sparseWidth {
			return e.chooseOfAll(w, p, products)
		}
	}
	for _, class := range c.pulled {
		if v := score(class); v >= top-sparseShare {
			if count = c.keep(count, class, v); count > sparseWidth {
				return e.chooseOfAll(w, p, products)
			}
		}
	}
	for _, before := range e.s.shares(p) {
		if v := score(before.class); v >= top-vanished {
			if count = c.keep(count, before.class, v); count > sparseWidth {
				return e.chooseOfAll(w, p, products)
			}
		}
	}
	kept := c.kept[:count]
	for i, s := range kept {
		c.values[i] = s.value
	}
	kernel.Softmax(c.values[:count])
	for i := range kept {
		kept[i].value = c.values[i]
	}
	return e.s.write(p, kept)
}

// chooseOfAll is choose with the score of every class.
func (e *episode) chooseOfAll(w *worker, p int, products []float32) float64 {
	row := w.scores[:e.k]
	for c, v := range products {
		row[c] = e.costs.scale*(2*v-e.costs.norms[c]) + w.choice.force[c]
	}
	kernel.Softmax(row)
	keepLargest(row, sparseWidth)
	kept := w.choice.kept[:0]
	for c, v := range row {
		if v > 0 && len(kept) < sparseWidth {
			kept = append(kept, share{int32(c), v})
		}
	}
	return e.s.write(p, kept)
}

// keepLargest zeroes all but the most largest values and makes the rest sum to 1.
func keepLargest(row []float32, most int) {
	var top [sparseWidth]float32 // ascending
	count, positive := 0, 0
	for _, v := range row {
		if v <= 0 {
			continue
		}
		positive++
		if count < most {
			count++
			for i := count - 1; ; i-- {
				if i == 0 || top[i-1] >= v {
					top[i] = v
					break
				}
				top[i] = top[i-1]
			}
			continue
		}
		if v > top[most-1] {
			i := most - 1
			for ; i > 0 && top[i-1] < v; i-- {
				top[i] = top[i-1]
			}
			top[i] = v
		}
	}
	if positive <= most {
		return
	}
	least, ties := top[most-1], 0
	for _, v := range top[:most] {
		if v == least {
			ties++
		}
	}
	var sum float32
	for c, v := range row {
		if v == least && ties > 0 {
			ties--
		} else if v <= least {
			row[c] = 0
			continue
		}
		sum += v
	}
	kernel.Scale(1/sum, row)
}
