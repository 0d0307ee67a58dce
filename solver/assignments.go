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

// assignments is S: dense, or the largest values of each row.
type assignments struct {
	n, k    int
	width   int       // values kept a row; k when dense
	values  []float32 // n x width
	classes []int32   // n x width, ascending; nil when dense
	counts  []int32   // of a sparse row
	dense   bool      // never sparse: tests compare
}

func (s *assignments) size(n, k int) {
	s.n, s.k, s.width = n, k, k
	s.classes = s.classes[:0]
	if n > serial && k > sparseClasses && !s.dense {
		s.width = sparseWidth
		s.classes, s.counts = cleared(s.classes, n*s.width), cleared(s.counts, n)
	}
	s.values = cleared(s.values, n*s.width)
}

func (s *assignments) sparse() bool { return s.width < s.k }

// row returns the values of row p and the classes they belong to; classes are nil when they are 0 to k-1.
func (s *assignments) row(p int) ([]float32, []int32) {
	from := p * s.width
	if !s.sparse() {
		return s.values[from : from+s.k], nil
	}
	to := from + int(s.counts[p])
	return s.values[from:to], s.classes[from:to]
}

// clamp makes row p one-hot.
func (s *assignments) clamp(p int, class int32) {
	if !s.sparse() {
		s.values[p*s.k+int(class)] = 1
		return
	}
	s.counts[p], s.values[p*s.width], s.classes[p*s.width] = 1, 1, class
}

// set replaces row p by a distribution over k classes, whose smallest values it may cut, and returns the L1 change.
func (s *assignments) set(p int, next []float32) float64 {
	if !s.sparse() {
		return replace(s.values[p*s.k:p*s.k+s.k], next)
	}
	keepLargest(next, s.width)
	values, classes := s.row(p)
	left, change := float32(1), float32(0)
	for i, c := range classes {
		left -= next[c]
		change += float32(math.Abs(float64(values[i] - next[c])))
	}
	from, count := p*s.width, 0
	for c, v := range next {
		if v > 0 && count < s.width {
			s.values[from+count], s.classes[from+count] = v, int32(c)
			count++
		}
	}
	s.counts[p] = int32(count)
	return float64(change + max(0, left))
}

// update replaces row p of a sparse S by the softmax of scores over the classes that count, and returns the L1 change.
func (s *assignments) update(w *worker, p int, scores []float32) float64 {
	var minima [kernel.Groups]float32
	for g := range minima {
		minima[g] = float32(math.Inf(1))
	}
	kernel.GroupMinima(&minima, w.zeros, scores) // of -2 score
	top := -slices.Min(minima[:]) / 2
	found := w.places[:kernel.Below(w.places, w.zeros, scores, -2*(top-sparseShare))]
	values, classes := s.row(p)
	var next [sparseWidth]float32
	var kept [sparseWidth]int32
	count, i, j := 0, 0, 0
	for i < len(found) || j < len(classes) {
		var c int32
		switch {
		case j == len(classes) || i < len(found) && found[i] < classes[j]:
			c = found[i]
			i++
		case i == len(found) || classes[j] < found[i]:
			c = classes[j]
			j++
			if scores[c] < top-vanished {
				continue
			}
		default:
			c = found[i]
			i++
			j++
		}
		if count == sparseWidth {
			kernel.Softmax(scores)
			return s.set(p, scores)
		}
		kept[count], next[count] = c, scores[c]
		count++
	}
	kernel.Softmax(next[:count])
	var change float32
	j = 0
	for i, c := range kept[:count] {
		for ; j < len(classes) && classes[j] < c; j++ {
			change += values[j]
		}
		before := float32(0)
		if j < len(classes) && classes[j] == c {
			before = values[j]
			j++
		}
		change += max(next[i]-before, before-next[i])
	}
	for ; j < len(classes); j++ {
		change += values[j]
	}
	from := p * s.width
	copy(s.values[from:], next[:count])
	copy(s.classes[from:], kept[:count])
	s.counts[p] = int32(count)
	return float64(change)
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

// add adds w s_p to a row over k classes.
func (s *assignments) add(w float32, p int, row []float32) {
	values, classes := s.row(p)
	switch {
	case classes != nil:
		for i, c := range classes {
			row[c] += w * values[i]
		}
	case s.k >= 32:
		kernel.Axpy(w, values, row)
	default:
		for c, v := range values {
			row[c] += w * v
		}
	}
}

// product is s_p . row in float64, for a row over k classes.
func (s *assignments) product(p int, row []float32) float64 {
	var sum float64
	values, classes := s.row(p)
	if classes != nil {
		for i, c := range classes {
			sum += float64(values[i]) * float64(row[c])
		}
		return sum
	}
	for c, v := range values {
		sum += float64(v) * float64(row[c])
	}
	return sum
}

// answer is the class of point p: its largest s, the first of equals.
func (s *assignments) answer(p int) int {
	values, classes := s.row(p)
	best := 0
	for i, v := range values {
		if v > values[best] {
			best = i
		}
	}
	if classes != nil {
		return int(classes[best])
	}
	return best
}

// expand writes rows lo to lo+n-1 with all k values each.
func (s *assignments) expand(out []float32, lo, n int) {
	if !s.sparse() {
		copy(out, s.values[lo*s.k:(lo+n)*s.k])
		return
	}
	clear(out[:n*s.k])
	for i := range n {
		values, classes := s.row(lo + i)
		for j, c := range classes {
			out[i*s.k+int(c)] = values[j]
		}
	}
}

// copyFrom makes s a copy of other.
func (s *assignments) copyFrom(other *assignments) {
	s.n, s.k, s.width = other.n, other.k, other.width
	s.values = append(s.values[:0], other.values...)
	s.classes = append(s.classes[:0], other.classes...)
	s.counts = append(s.counts[:0], other.counts...)
}

// replace copies next over s and returns their L1 distance.
func replace(s, next []float32) float64 {
	var change float32
	for c, v := range next {
		if d := v - s[c]; d > 0 {
			change += d
		} else {
			change -= d
		}
		s[c] = v
	}
	return float64(change)
}
