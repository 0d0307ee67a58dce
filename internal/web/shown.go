package web

import (
	"slices"
	"time"
)

// shown holds the items that were shown last and can still be taught.
type shown struct {
	items map[string]*Item // by the result's id
	order []string         // ids, the one shown longest ago first
	bytes int
}

func (r *shown) add(item *Item) {
	id := item.Result.ID
	if old, known := r.items[id]; known {
		r.bytes -= old.size()
		for i := len(r.order) - 1; i >= 0; i-- { // it was shown lately
			if r.order[i] == id {
				r.order = slices.Delete(r.order, i, i+1)
				break
			}
		}
	}
	r.order = append(r.order, id)
	r.items[id] = item
	r.bytes += item.size()
	for r.bytes > keptBytes {
		r.bytes -= r.items[r.order[0]].size()
		delete(r.items, r.order[0])
		r.order = r.order[1:]
	}
}

// forget drops the items with these labels, and the labels from the alternatives of others.
func (r *shown) forget(labels map[string]bool) {
	r.order = slices.DeleteFunc(r.order, func(id string) bool {
		item := r.items[id]
		if !labels[item.Result.Label] {
			item.Result.Alternatives = without(item.Result.Alternatives, labels)
			return false
		}
		r.bytes -= item.size()
		delete(r.items, id)
		return true
	})
}

// size is the approximate size of the item in memory.
func (i *Item) size() int {
	const fixed = 512
	return fixed + 4*len(i.Vector) + len(i.Result.Attributes)
}

// point is a point of the accuracy curve: the scores after so many items.
type point struct {
	After  int64   `json:"after"`
	Scores []Score `json:"scores"`
}

// curve is the accuracy so far over the number of items answered. When it has too many points, every second
// one is dropped, so that it spans the whole run.
type curve struct {
	points []point
	stride int64 // items between points
}

func (c *curve) add(scores []Score) {
	if len(scores) == 0 || scores[0].All == 0 {
		return
	}
	after := scores[0].All
	if n := len(c.points); n > 0 && after < c.points[n-1].After+max(1, c.stride) {
		return
	}
	c.points = append(c.points, point{after, scores})
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

// speed is the rate of answers over the last five seconds.
type speed struct {
	at    []time.Time
	count []int64
}

func (s *speed) add(now time.Time, items int64) {
	const seconds = 5
	if n := len(s.count); n > 0 && items < s.count[n-1] { // the stage has restarted
		s.at, s.count = nil, nil
	}
	s.at, s.count = append(s.at, now), append(s.count, items)
	if len(s.at) > seconds+1 {
		s.at, s.count = s.at[1:], s.count[1:]
	}
}

func (s *speed) perSecond() float64 {
	n := len(s.at)
	if n < 2 {
		return 0
	}
	return float64(s.count[n-1]-s.count[0]) / s.at[n-1].Sub(s.at[0]).Seconds()
}
