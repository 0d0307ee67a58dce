package index

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// ranker makes an answer of a candidate list. Where the bounds of two candidates overlap it reads
// the original rows, first in float32 differences, then in float64: the order of an answer is that
// of the true distances.
type ranker struct {
	ids   []int32
	exact []float64
	kept  nearestList
	low   []float32
}

// mostExact is the number of candidates at one distance that are ordered in float64. Larger crowds keep the order
// of float32 differences, so that a million equidistant rows take no longer than one pass each.
const mostExact = 64

// reportedError is the relative error above which a reported squared distance is computed anew.
const reportedError = 1e-3

// rankExactly writes the answer of list i, to which all rows were offered.
func (r *ranker) rankExactly(p *points, l *candidateLists, i int, out *Neighbours) {
	if l.dropped[i] <= l.limits[i] {
		answer, distances := out.Row(i)
		r.rankCrowd(p, l.rho, int32(l.row(i)), answer, distances)
		return
	}
	r.rank(p, l, i, out)
}

// rank writes the nearest of list i.
func (r *ranker) rank(p *points, l *candidateLists, i int, out *Neighbours) {
	from, count := i*l.length, int(l.counts[i])
	values, ids := l.values[from:from+count], l.ids[from:from+count]
	answer, distances := out.Row(i)
	row := l.row(i)
	own := p.norms[row]
	wanted := min(l.rho, count)
	inverse := 1 / (p.scale * p.scale)
	r.lowest(p, values, ids)
	for k := 0; k < wanted; {
		// The order of the candidates from k to end is open among them, but not against all others.
		highest, end := -infinity, k
		for end < count && (end == k || r.low[end] <= highest) {
			highest = max(highest, values[end]+p.relative*(p.norms[ids[end]]+2*own)+2*p.absolute)
			end++
		}
		if end-k > 1 {
			r.kept.reset(end - k)
			for _, id := range ids[k:end] {
				r.kept.offer(p.squaredExactly(int32(row), id), id)
			}
			r.kept.answer(p, wanted-k, answer[k:], distances[k:])
		} else {
			id := ids[k]
			d2 := values[k] + own
			if d2*reportedError < p.rounding(row, int(id)) {
				distances[k] = p.report(p.squared(int32(row), id))
			} else {
				distances[k] = p.report(float64(d2) * inverse)
			}
			answer[k] = id
		}
		k = end
	}
}

// lowest fills in, for each position of a list, a lower bound of the true value of any candidate
// from there on.
func (r *ranker) lowest(p *points, values []float32, ids []int32) {
	r.low = vector.Resize(r.low, len(values))
	least := infinity
	for k := len(values) - 1; k >= 0; k-- {
		least = min(least, values[k]-p.relative*p.norms[ids[k]]-p.absolute)
		r.low[k] = least
	}
}

// rankCrowd compares row i, by id, with every other one: too many are equally near for a candidate list.
func (r *ranker) rankCrowd(p *points, rho int, i int32, answer []int32, distances []float32) {
	r.kept.reset(rho + mostExact)
	for j := range int32(p.n) {
		if j == i {
			continue
		}
		r.kept.offer(p.squared(i, j), j)
		if r.kept.count >= rho && r.kept.values[rho-1] == 0 {
			r.kept.answer(p, rho, answer, distances) // no row is nearer than equal rows of lower id
			return
		}
	}
	_, dot := kernel.Roundings(p.d)
	slack := 2 * dot * epsilon
	reach := r.kept.values[rho-1] * (1 + slack)
	if r.kept.dropped*(1-slack) > reach {
		count := r.kept.count
		r.ids = append(r.ids[:0], r.kept.ids[:count]...)
		r.exact = append(r.exact[:0], r.kept.values[:count]...)
		r.kept.reset(rho + mostExact)
		for k, id := range r.ids {
			if r.exact[k]*(1-slack) <= reach {
				r.kept.offer(p.squaredExactly(i, id), id)
			}
		}
	}
	r.kept.answer(p, rho, answer, distances)
}

// nearestList is a list in the order of squared distance, ties by id.
type nearestList struct {
	values  []float64
	ids     []int32
	count   int
	dropped float64 // smallest value that was not kept
}

func (c *nearestList) reset(length int) {
	c.values, c.ids, c.count, c.dropped = vector.Resize(c.values, length), vector.Resize(c.ids, length), 0, math.Inf(1)
}

func (c *nearestList) offer(value float64, id int32) {
	at := c.count
	if at == len(c.values) {
		at--
		if value > c.values[at] || value == c.values[at] && id > c.ids[at] {
			c.dropped = min(c.dropped, value)
			return
		}
		c.dropped = min(c.dropped, c.values[at])
	} else {
		c.count++
	}
	for at > 0 && (c.values[at-1] > value || c.values[at-1] == value && c.ids[at-1] > id) {
		c.values[at], c.ids[at] = c.values[at-1], c.ids[at-1]
		at--
	}
	c.values[at], c.ids[at] = value, id
}

// answer copies the nearest rho candidates out.
func (c *nearestList) answer(p *points, rho int, ids []int32, distances []float32) {
	for k := range min(rho, c.count) {
		ids[k], distances[k] = c.ids[k], p.report(c.values[k])
	}
}
