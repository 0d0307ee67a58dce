package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// evidence adds what taught labels say of an item, over the rows before it that are within reach; see
// timeline.spread.
func (n *Now) evidence(it *nowItem, window []float32, keep bool) {
	k, row := n.knows, &n.rows[it.row]
	if k.coherence == 0 || k.clusters {
		return
	}
	around := row.around[:0]
	for j := max(0, it.row-evidenceReach); j < it.row; j++ {
		square := max(0, 2-2*window[j])
		around = nearest(around, link{int32(j - it.row), square}, evidenceNearest)
		if r := &n.rows[j]; keep {
			r.arounds = len(nearest(r.around[:r.arounds], link{int32(it.row - j), square}, evidenceNearest))
		}
	}
	row.arounds = len(around)
	n.spread(it.row, keep)
	row.speaks.addTo(it.fixed, float32(k.solve.Lambda*evidenceWeight*k.coherence))
}

// spread passes what labels say on among the rows within reach of the newest, the last of them.
func (n *Now) spread(last int, keep bool) {
	x := &n.scratch
	from := max(0, last-evidenceReach)
	first := max(0, from-evidenceReach) // they give, and take no more
	x.speakers = x.speakers[:0]
	for j := first; j < last; j++ {
		for _, v := range n.rows[j].speaks.of[:n.rows[j].speaks.count] {
			if !slices.Contains(x.speakers, v.class) {
				x.speakers = append(x.speakers, v.class)
			}
		}
	}
	classes := len(x.speakers)
	if classes == 0 {
		return
	}
	x.values, x.sum = vector.Zeroed(x.values, (last-first+1)*classes), vector.Resize(x.sum, classes)
	for j := first; j < last; j++ {
		for _, v := range n.rows[j].speaks.of[:n.rows[j].speaks.count] {
			x.values[(j-first)*classes+slices.Index(x.speakers, v.class)] = v.weight
		}
	}
	width := max(n.middle, 1e-12)
	for range evidenceSweeps {
		for j := from; j <= last; j++ {
			if n.rows[j].given && j < last {
				continue
			}
			clear(x.sum)
			total := float32(nowLeak)
			for _, l := range n.rows[j].around[:n.rows[j].arounds] {
				at := j + int(l.node)
				if at < first || at > last {
					continue
				}
				by := float32(math.Exp(-float64(l.weight) / width))
				total += by
				kernel.Axpy(by, x.values[(at-first)*classes:(at-first+1)*classes], x.sum)
			}
			for c, v := range x.sum {
				x.values[(j-first)*classes+c] = v / total
			}
		}
	}
	for j := from; j <= last; j++ {
		r := &n.rows[j]
		if j < last && (r.given || !keep) {
			continue
		}
		r.speaks = classWeights{}
		for c, v := range x.values[(j-first)*classes : (j-first+1)*classes] {
			if v > 1e-3 {
				r.speaks.add(x.speakers[c], v)
			}
		}
	}
}
