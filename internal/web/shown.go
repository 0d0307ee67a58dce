package web

import (
	"slices"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
)

// shown holds the items that were shown last and can still be taught.
type shown struct {
	items map[string]*item // by the result's id
	order []string         // ids, the one shown longest ago first
	bytes int
}

const keptBytes = 48 << 20 // of items that can still be taught: minutes of what is shown

func (r *shown) add(of *item) {
	id := of.Result.ID
	if old, known := r.items[id]; known {
		r.bytes -= old.size()
		of.was = old.was
		for i := len(r.order) - 1; i >= 0; i-- { // it was shown lately
			if r.order[i] == id {
				r.order = slices.Delete(r.order, i, i+1)
				break
			}
		}
	}
	r.order = append(r.order, id)
	r.items[id] = of
	r.bytes += of.size()
	for r.bytes > keptBytes {
		r.bytes -= r.items[r.order[0]].size()
		delete(r.items, r.order[0])
		r.order = r.order[1:]
	}
}

// find returns the item that was shown under the id of its result, or that is taught under id; nil: none.
func (r *shown) find(id string) *item {
	of := r.items[id]
	for _, other := range r.items {
		if of == nil && other.Example == id {
			of = other
		}
	}
	return of
}

// settle replaces the first answer of an item by its result, and returns the item; nil if it was not shown
// with one.
func (r *shown) settle(result *record.Result) *item {
	of := r.items[result.ID]
	if of == nil || of.settled() {
		return nil
	}
	first, attributes := wasView{of.Result.Label, of.Result.Unknown}, of.Result.Attributes
	of.Result = *result
	of.Result.Attributes = attributes // a copy already
	if first != (wasView{result.Label, result.Unknown}) {
		of.was = &first
	}
	return of
}

// forget drops the items with these labels or classes, and the labels from what is known of others.
func (r *shown) forget(labels map[string]bool) {
	r.order = slices.DeleteFunc(r.order, func(id string) bool {
		of := r.items[id]
		if of.was != nil && labels[of.was.Label] {
			of.was = nil
		}
		if !labels[of.Result.Label] && !labels[of.Result.Class] {
			of.Result.Alternatives = without(of.Result.Alternatives, labels)
			return false
		}
		r.bytes -= of.size()
		delete(r.items, id)
		return true
	})
}

// size is the approximate size of the item in memory.
func (i *item) size() int {
	const fixed = 512
	return fixed + 4*len(i.Vector) + len(i.Result.Attributes)
}

// point is a point of the accuracy curve: the shares of the last items that the stage and the nearest example had
// right, after so many items.
type point struct {
	After  int64      `json:"after"`
	Shares [2]float64 `json:"shares"`
}

const keptPoints = 120

// curve is the accuracy so far over the number of items answered. When it has too many points, every second
// one is dropped, so that it spans the whole run.
type curve struct {
	points []point
	stride int64 // items between points
}

func (c *curve) add(scores demo.Pair) {
	after := scores[0].All
	if after == 0 {
		return
	}
	if n := len(c.points); n > 0 && after < c.points[n-1].After+max(1, c.stride) {
		return
	}
	c.points = append(c.points, point{after, [2]float64{scores[0].LateShare(), scores[1].LateShare()}})
	if len(c.points) <= keptPoints {
		return
	}
	kept := c.points[:0]
	for i := range c.points {
		if i%2 == 0 {
			kept = append(kept, c.points[i])
		}
	}
	c.points = kept
	c.stride = (kept[len(kept)-1].After - kept[0].After) / int64(len(kept)-1)
}
