package stream

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Before anything is taught, examples for all streams that are held out say how much each source of an answer counts:
// one of a class at once, where that leaves leastLeft, is a row without a label beside an episode's items.
const (
	leastLeft     = 2
	heldAtOnce    = 64 // at once
	enoughHeldOut = 32 // in up to heldOutTimes solves
	heldOutTimes  = 3

	// An example is of other moments than the rest, as items are, where it is as far from them as an item is. Of
	// copies of one moment, which say nothing of later items, the median is nearer than nearly all items: below this
	// share of them held-out examples count less, by the square.
	leastNearer = .25
)

// holdOut fits the weights to held-out examples, when there are twice as many as when it did so last.
func (e *episode) holdOut(ctx context.Context) error {
	s, p := e.stream, e.problem
	set, v := p.sets[1], &s.weights
	if e.cold || e.number == 1 || !e.paired() || set.Len() == 0 || float64(set.Len()) < 2*v.heldOutOf {
		return nil
	}
	v.heldOutOf = float64(set.Len())
	said, near, items := &trialSources{}, []float32(nil), []float32(nil)
	for n := 0; n < heldOutTimes && len(near) < enoughHeldOut; n++ {
		t := &trial{labels: p.labels, fresh: p.every(set, n)}
		if len(t.fresh) == 0 {
			break
		}
		_, x, r, err := t.apart(ctx, e, set)
		if err != nil {
			return err
		}
		given, rows := x.Given(t.labels), len(p.each)
		for i, held := range t.fresh {
			given.Sources(rows+i, &said.item)
			said.add(p.numbers[held.Label])
			near = append(near, r.Distance[rows+i])
		}
		for i, c := range p.labels {
			if c < 0 {
				items = append(items, r.Distance[i])
			}
		}
	}
	if len(near) == 0 || len(items) == 0 {
		return nil
	}
	middle, nearer := vector.Median(near), 0.
	for _, d := range items {
		if d < middle {
			nearer++
		}
	}
	v.holdOut(said, math.Pow(min(1, nearer/float64(len(items))/leastNearer), 2))
	return nil
}

// every lists the n-th third's example of each class in a set that has enough of them, at most heldAtOnce.
func (p *problem) every(set *taught.Prepared, n int) (out []*taught.Entry) {
	from := 0
	for c, name := range set.Names {
		count := int(set.Counts[c])
		if name != Nobody && count > leastLeft && len(out) < heldAtOnce {
			x := set.Entries[from+(c+n*(count/heldOutTimes))%count]
			if row, _ := set.Row(x); !p.corrected(row) {
				out = append(out, x)
			}
		}
		from += count
	}
	return out
}
