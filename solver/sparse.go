package solver

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// A large problem of many classes keeps few values of each row of S: the sparseWidth largest among the
// classes that the row kept before and that score within sparseReach of its best, and those that enter by
// sparseTail. The softmax over any classes is the exact minimiser of R on them. If the sparseWidth classes of
// lowest cost are taken, the new row is no worse than the old one, which had no more classes. If fewer are
// taken, the old row's share in the others is below the rounding of a row's sum, or settle shows that R falls
// without it. So R falls at every half-step. Rows spread over more than sparseWidth classes lose their tail;
// other rows lose less than sparseTail, all classes that do not enter together.
const (
	sparseClasses = 64  // only with more classes than this
	sparseWidth   = 8   // a row fills one line of the cache
	sparseReach   = 16  // -log of 1e-7
	sparseTail    = .03 // a class enters a row with a k-th of this share, relative to the best
)

// element is one value of a sparse row of S.
type element struct {
	class int32
	value float32
}

// elements returns the values kept of row p, classes ascending. A row with a single class, as most are after
// a few sweeps, is in heads alone, so that reading neighbours touches little memory. In the head of any other
// row, class is minus the number of its entries.
func (s *assignments) elements(p int) []element {
	if head := s.heads[p].class; head < 0 {
		return s.entries[p*sparseWidth : p*sparseWidth-int(head)]
	}
	return s.heads[p : p+1]
}

// write replaces row p.
func (s *assignments) write(p int, next []element) {
	if len(next) == 1 {
		s.heads[p] = next[0]
		return
	}
	s.heads[p].class = int32(-copy(s.entries[p*sparseWidth:(p+1)*sparseWidth], next))
}

// l1Distance returns the L1 distance of two rows.
func l1Distance(a, b []element) float64 {
	var sum float32
	for _, v := range b {
		for ; len(a) > 0 && a[0].class < v.class; a = a[1:] {
			sum += a[0].value
		}
		if len(a) > 0 && a[0].class == v.class {
			sum += max(v.value-a[0].value, a[0].value-v.value)
			a = a[1:]
		} else {
			sum += v.value
		}
	}
	for _, v := range a {
		sum += v.value
	}
	return float64(sum)
}

// updateSparse updates the listed points of a colour, or without graph, and so without a list, n points from
// lo on. It returns the L1 change of S.
func (e *episode) updateSparse(w *worker, lo, n int, listed []int32) float64 {
	var change float64
	k := e.classes.k
	scores := e.scores(w, lo, n, listed)
	for i := range n {
		row, p := scores[i*k:i*k+k], lo+i
		if listed != nil {
			p = int(listed[i])
			e.prefetch(listed[i:])
			columns, weights := e.addFixedNeighbours(p, row)
			e.s.add(float32(e.model.lambda), columns, weights, row)
		} else if e.rows.label[p] >= 0 {
			continue
		}
		var before []element
		if e.s.started {
			before = e.s.elements(p)
		}
		kept, moved := w.choice.settle(w.choice.elements(row, before), before)
		e.s.write(p, kept)
		change += moved
	}
	return change
}

// choice is a worker's workspace to choose the classes that a point keeps.
type choice struct {
	zeros   []float32 // k
	minima  [kernel.Groups]float32
	classes []int32   // k: candidates
	scores  []float32 // k: of the candidates
	kept    [sparseWidth]element
	// How far below the best score a class may be to enter; exp(-enters).
	enters, share float32
}

func (c *choice) size(k int) {
	c.zeros = vector.Zeroed(c.zeros, k)
	c.enters, c.share = float32(math.Log(float64(k)/sparseTail)), float32(sparseTail/float64(k))
	c.classes, c.scores = vector.Resize(c.classes, k+sparseWidth), vector.Resize(c.scores, k+sparseWidth)
}

// elements returns the softmax of a row of scores over the classes to keep, ascending. It is valid until
// the next call.
func (c *choice) elements(scores []float32, before []element) []element {
	if len(before) == 1 { // most rows after a few sweeps, and most of them keep their class alone
		only := before[0].class
		if kernel.Below(c.classes, c.zeros, scores, 2*(c.enters-scores[only])) == 1 {
			c.kept[0] = element{only, 1}
			return c.kept[:1]
		}
	}
	infinite(c.minima[:])
	kernel.GroupMinima(&c.minima, c.zeros[:len(scores)], scores)
	limit, groups := slices.Min(c.minima[:])+2*c.enters, 0
	for _, v := range c.minima {
		if v <= limit {
			groups++
		}
	}
	if groups >= sparseWidth { // the sparseWidth best are not above the largest of as many groups' smallest
		limit = min(limit, smallest(&c.minima, sparseWidth))
	}
	classes := c.classes[:kernel.Below(c.classes, c.zeros, scores, limit)]
	if len(classes) < sparseWidth { // with more, the classes kept before are not among the largest
		for _, v := range before {
			if at, found := slices.BinarySearch(classes, v.class); !found {
				classes = slices.Insert(classes, at, v.class)
			}
		}
	}
	values := c.scores[:len(classes)]
	for i, class := range classes {
		values[i] = scores[class]
	}
	return c.keep(classes, values, before)
}

// keep returns the softmax over the classes to keep, ascending: those that the row kept before and that score
// within sparseReach of the best, others within enters of the best; at most the sparseWidth best. classes
// must ascend; classes and scores are overwritten.
func (c *choice) keep(classes []int32, scores []float32, before []element) []element {
	best := scores[0]
	for _, v := range scores[1:] {
		if v > best {
			best = v
		}
	}
	n := 0
	for i, class := range classes {
		for len(before) > 0 && before[0].class < class {
			before = before[1:]
		}
		v := scores[i]
		was := len(before) > 0 && before[0].class == class
		if v >= best-c.enters || was && v >= best-sparseReach {
			classes[n], scores[n] = class, v
			n++
		}
	}
	if n > sparseWidth {
		n = c.largest(classes[:n], scores[:n])
	}
	classes, scores = classes[:n], scores[:n]
	kernel.Softmax(scores)
	for i, class := range classes {
		c.kept[i] = element{class, scores[i]}
	}
	return c.kept[:n]
}

// settle drops from kept, which is to replace before, the classes too small to enter, if R falls
// nevertheless. It returns the row and the L1 change. kept is the minimiser of R on its classes, so R falls
// by the divergence of before from it, which is at least half the square of their L1 distance (Pinsker).
// Dropping a part m raises R by -log(1-m), less than 2m.
func (c *choice) settle(kept, before []element) ([]element, float64) {
	change := l1Distance(before, kept)
	if len(kept) == 1 {
		return kept, change
	}
	var most, part float32
	for _, v := range kept {
		most = max(most, v.value)
	}
	least := most * c.share
	for _, v := range kept {
		if v.value < least {
			part += v.value
		}
	}
	if part == 0 || change*change < 4*float64(part) {
		return kept, change
	}
	n := 0
	for _, v := range kept {
		if v.value >= least {
			kept[n] = element{v.class, v.value / (1 - part)}
			n++
		}
	}
	return kept[:n], change
}

// largest keeps, in their order, the sparseWidth classes with the largest scores, the first among equals, and
// returns their number.
func (c *choice) largest(classes []int32, scores []float32) int {
	least := sparseWidthLargest(scores)
	room := sparseWidth // for those equal to the least
	for _, v := range scores {
		if v > least {
			room--
		}
	}
	n := 0
	for i, v := range scores {
		if v > least || v == least && room > 0 {
			if v == least {
				room--
			}
			classes[n], scores[n] = classes[i], v
			n++
		}
	}
	return n
}

// sparseWidthLargest returns the sparseWidth-th largest of values, which must hold at least as many.
func sparseWidthLargest(values []float32) float32 {
	if len(values) <= 2*sparseWidth {
		var keys [2 * sparseWidth]int32
		n := copyKeys(&keys, values)
		for i := n; i < len(keys); i++ {
			keys[i] = math.MinInt32
		}
		return unkeyed(smallestKey(&keys, sparseWidth+1))
	}
	var top [sparseWidth]float32 // descending
	for i, v := range values {
		at := min(i, sparseWidth-1)
		if i >= sparseWidth && v <= top[at] {
			continue
		}
		for ; at > 0 && top[at-1] < v; at-- {
			top[at] = top[at-1]
		}
		top[at] = v
	}
	return top[sparseWidth-1]
}

// copyKeys writes integers in the same order as the values, and returns their number.
func copyKeys(keys *[2 * sparseWidth]int32, values []float32) int {
	for i, v := range values {
		bits := int32(math.Float32bits(v))
		keys[i&(2*sparseWidth-1)] = bits ^ bits>>31&math.MaxInt32
	}
	return len(values)
}

// unkeyed returns the value of a key.
func unkeyed(key int32) float32 { return math.Float32frombits(uint32(key ^ key>>31&math.MaxInt32)) }

// smallest returns the r-th smallest of 16 values, counted from 1.
func smallest(values *[2 * sparseWidth]float32, r int) float32 {
	var keys [2 * sparseWidth]int32
	copyKeys(&keys, values[:])
	return unkeyed(smallestKey(&keys, r))
}

// smallestKey returns the r-th smallest of 16 keys, which it reorders. It sorts both halves by a sorting
// network, which has no branches to mispredict. i of one half and r - i of the other are the r smallest where
// the larger of their last is least.
func smallestKey(keys *[2 * sparseWidth]int32, r int) int32 {
	low, high := (*[8]int32)(keys[:8]), (*[8]int32)(keys[8:])
	sort8(low)
	sort8(high)
	least := int32(math.MaxInt32)
	for i := max(1, r-8); i <= min(8, r-1); i++ {
		least = min(least, max(low[i-1], high[r-i-1]))
	}
	if r <= 8 {
		least = min(least, low[r-1], high[r-1])
	}
	return least
}

// sort8 sorts ascending: Batcher's network of 19 exchanges.
func sort8(k *[8]int32) {
	a, b, c, d, e, f, g, h := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7]
	a, b = min(a, b), max(a, b)
	c, d = min(c, d), max(c, d)
	e, f = min(e, f), max(e, f)
	g, h = min(g, h), max(g, h)
	a, c = min(a, c), max(a, c)
	b, d = min(b, d), max(b, d)
	e, g = min(e, g), max(e, g)
	f, h = min(f, h), max(f, h)
	b, c = min(b, c), max(b, c)
	f, g = min(f, g), max(f, g)
	a, e = min(a, e), max(a, e)
	b, f = min(b, f), max(b, f)
	c, g = min(c, g), max(c, g)
	d, h = min(d, h), max(d, h)
	c, e = min(c, e), max(c, e)
	d, f = min(d, f), max(d, f)
	b, c = min(b, c), max(b, c)
	d, e = min(d, e), max(d, e)
	f, g = min(f, g), max(f, g)
	k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7] = a, b, c, d, e, f, g, h
}
