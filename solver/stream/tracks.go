package stream

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// Items of one frame are different objects, as far as they look different; items of one track are one object,
// as far as the tracker is right. Both are edges of the graph. A label given to one item of a track is
// evidence for the others.

// edges appends the edges between items of one frame, with weights below zero, and between items of one
// track, above zero: an item's weigh as much together as those to its rho neighbours.
func edges(out []solver.Edge, a *surroundings, items []Item, set *Settings) []solver.Edge {
	frames, lambda, rho := set.FrameWeight, set.Solver.Lambda, set.Solver.Rho
	if lambda == 0 || !related(items) {
		return out
	}
	frame, _ := numbered(items, func(i *Item) string { return i.Frame })
	track, length := numbered(items, func(i *Item) string { return i.Track })
	for i := range items {
		for j := range i {
			if frames > 0 && frame[i] >= 0 && frame[i] == frame[j] {
				// Two boxes around one object are one object: items nearer than neighbours usually are get less weight.
				far := min(1, float64(a.distances[i*a.n+j])/max(a.middle, 1e-12))
				out = append(out, solver.Edge{P: int32(i), Q: int32(j), Weight: float32(-frames / lambda * far)})
				continue // a frame has no two items of one track
			}
			if t := track[i]; t >= 0 && t == track[j] {
				weight := float64(rho) / float64(length[t]-1)
				out = append(out, solver.Edge{P: int32(i), Q: int32(j), Weight: float32(weight)})
			}
		}
	}
	return out
}

// numbered returns the number of each item's name, -1 if it has none, and how many items have each number.
func numbered(items []Item, name func(*Item) string) (number []int32, counts []int) {
	known := map[string]int32{}
	number = make([]int32, len(items))
	for i := range items {
		n := name(&items[i])
		if n == "" {
			number[i] = -1
			continue
		}
		at, ok := known[n]
		if !ok {
			at = int32(len(counts))
			known[n], counts = at, append(counts, 0)
		}
		number[i] = at
		counts[at]++
	}
	return number, counts
}

// observe keeps the labels given to tracks, until TrackTTL items have come since a track's last one.
func (t *timeline) observe(e *episode) {
	if e.cold || !e.stream.settings.Time {
		return
	}
	for i := range e.items {
		t.items++
		item := &e.items[i]
		label := cmp.Or(item.Label, t.tracks[item.Track].label)
		if item.Track != "" && label != "" {
			t.keep(item.Track, labelledTrack{label, t.items})
		}
	}
	for name, x := range t.tracks {
		if t.items-x.seen > int64(e.stream.settings.TrackTTL) {
			delete(t.tracks, name)
		}
	}
	if over := len(t.tracks) - tracksKept; over > 0 {
		byAge := func(a, b string) int { return cmp.Compare(t.tracks[a].seen, t.tracks[b].seen) }
		for _, name := range slices.SortedFunc(maps.Keys(t.tracks), byAge)[:over] {
			delete(t.tracks, name)
		}
	}
}
