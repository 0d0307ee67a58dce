package stream

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// Consecutive items of a stream often show the same object. How far that holds is the coherence of the
// stream, 0 where its order means nothing. As far as the stream is coherent, the neighbours in the graph are
// chosen by time as well as by distance, and a given label is evidence for the items around it. The stream's
// own answers are not: mistakes would reinforce themselves.
const (
	lagWeight = .5             // of the order, in median nearest distances, for lagUnit positions
	lagMost   = solvedTogether // items further apart than this many positions count as this far apart
	lagUnit   = lagMost / 3    // how far two of so many items are apart on average; evidence reaches as far
)

// timeline is what a stream learns of the order of its items, and the labels of its tracks.
type timeline struct {
	distance float64 // mean distance in time of nearest neighbours, 1 in a random order: sum over episodes ...
	weight   float64 // ... and their weights
	tracks   map[string]labelledTrack
	items    int64 // seen in all, by which the age of tracks is counted
}

// labelledTrack is a track that was given a label: the newest one counts.
type labelledTrack struct {
	label string
	seen  int64 // the number of its last item
}

// tracksKept bounds the labelled tracks kept; the one longest unseen is dropped first.
const tracksKept = 1024

// Coherence is 1 where nearest neighbours are consecutive items, 0 where the order is random. An episode in
// random order is added to those seen.
func (t *timeline) Coherence() float64 {
	return max(0, 1-(t.distance+1)/(t.weight+1))
}

// surroundings are the distances and the nearest neighbours among an episode's items, in reused memory.
type surroundings struct {
	n         int       // rows
	earlier   int       // the last ones come before the first one
	distances []float32 // squared, n x n
	nearest   []float32 // distance to the nearest other item
	sorted    []float32
	position  []int32 // of that item
	middle    float64 // median of nearest
}

// measure fills in distances and nearest neighbours.
func (a *surroundings) measure(x *solver.Space, n, earlier int) {
	a.distances, a.earlier = vector.Resize(a.distances, n*n), earlier
	x.Distances(a.distances, n)
	a.find(n)
}

// find fills in nearest neighbours by distances.
func (a *surroundings) find(n int) {
	a.n, a.nearest, a.position = n, vector.Resize(a.nearest, n), vector.Resize(a.position, n)
	for i := range n {
		nearest, position, row := float32(math.MaxFloat32), 0, a.distances[i*n:i*n+n]
		row[i] = nearest
		for j, v := range row {
			if v < nearest {
				nearest, position = v, j
			}
		}
		row[i] = 0
		a.nearest[i], a.position[i] = nearest, int32(position)
	}
	a.sorted = append(a.sorted[:0], a.nearest...)
	a.middle = float64(vector.Median(a.sorted))
}

// relate adds to an embedded problem what follows from the order, the frames and the tracks of the episode's
// items: edges and lags.
func (t *timeline) relate(e *episode) {
	p, set := e.problem, &e.stream.settings
	if timed := e.timed(); timed || e.paired() && related(e.rows) {
		p.around.measure(e.space, len(e.rows), p.Earlier)
		p.edges = edges(p.edges[:0], &p.around, e.rows, set)
		if p.Edges = p.edges; timed {
			t.learnOrder(&p.around)
			p.lag = t.lag(p.lag, &p.around)
			p.Graph = solver.Lagged(p.lag)
		}
	}
}

// paired reports whether the episode's rows are so few that all pairs of them are compared.
func (e *episode) paired() bool { return len(e.rows) > 1 && len(e.rows) <= lagRows }

// timed reports whether the order of the episode's rows is used.
func (e *episode) timed() bool { return e.stream.settings.Time && !e.cold && e.paired() }

// lagRows bounds the items of an episode whose order, frames and tracks are used.
const lagRows = 2048

// related reports whether any item has a frame or a track.
func related(items []Item) bool {
	return slices.ContainsFunc(items, func(i Item) bool { return i.Frame != "" || i.Track != "" })
}

// time returns the position in time of a row, 0 for the first item of the episode.
func (a *surroundings) time(row int) int {
	if row >= a.n-a.earlier {
		return row - a.n
	}
	return row
}

// row returns the row at a position in time.
func (a *surroundings) row(time int) int {
	if time < 0 {
		return time + a.n
	}
	return time
}

// learnOrder learns how far apart in time an episode's items and their nearest neighbours are, in relation to
// a random order of all rows.
func (t *timeline) learnOrder(a *surroundings) {
	items := a.n - a.earlier
	sum, all := 0., 0. // over the items: of the distances to the nearest, and to every other row
	for i, j := range a.position[:items] {
		sum += math.Abs(float64(a.time(int(j)) - i))
		before, after := i+a.earlier, items-1-i
		all += float64((before*(before+1) + after*(after+1)) / 2)
	}
	apart := sum / float64(items) / (all / float64(items*(a.n-1)))
	t.distance = episodeKept*t.distance + apart
	t.weight = episodeKept*t.weight + 1
}

// Learn learns from the distances between an episode's items, n x n.
func (t *timeline) Learn(distances []float32, n int) {
	a := surroundings{distances: distances}
	a.find(n)
	t.learnOrder(&a)
}

// Lags are those of clusters of items 0, 1, ... positions apart.
func (t *timeline) Lags() []float64 {
	out := make([]float64, lagMost+1)
	for positions := range out {
		out[positions] = float64(positions)/lagUnit - 1
	}
	return out
}

// lag returns what the order adds to the squared distance of items 1, 2, ... positions apart. Its mean over
// the episode's pairs is zero, so that labelled items outside of it stay as far as they were. nil: nothing.
func (t *timeline) lag(out []float32, a *surroundings) []float32 {
	c := t.Coherence()
	if c == 0 || a.middle == 0 {
		return nil
	}
	most := min(a.n-1, lagMost)
	var mean float64
	for k := 1; k < a.n; k++ {
		mean += float64((a.n - k) * min(k, lagMost))
	}
	mean /= float64(a.n*(a.n-1)) / 2
	out = vector.Resize(out, most)
	for k := range out {
		out[k] = float32(lagWeight * c * a.middle * (float64(k+1) - mean) / lagUnit)
	}
	return out
}

// evidence returns the evidence for rows, n x K: from rejections, from labels of the episode's items around
// them, and from those of earlier items of their tracks. A certain one weighs as much as all rho neighbours
// together. nil: none.
func (t *timeline) evidence(e *episode) []float32 {
	p, rows, rho := e.problem, e.rows, e.stream.settings.Solver.Rho
	if !e.timed() {
		return p.against
	}
	values, classes := t.spread(&p.around, rows, rho)
	k, c := len(classes), t.Coherence()
	if (k == 0 || c == 0) && len(t.tracks) == 0 {
		return p.against
	}
	out := make([]float32, p.Rows.N()*p.K)
	for i := range rows {
		for j, class := range classes {
			out[i*p.K+int(p.numbers[class])] = float32(float64(rho)*c) * values[i*k+j]
		}
		if class, ok := p.numbers[t.tracks[rows[i].Track].label]; ok && rows[i].Label == "" {
			out[i*p.K+int(class)] += float32(rho)
		}
	}
	kernel.Axpy(1, p.against, out[:len(p.against)])
	return out
}

// spread propagates labels: e_p = sum w_pq e_q / sum w_pq over the rho nearest items within reach, w =
// exp(-d2/s1). Labelled items keep theirs. It returns e, with a column for each class that items
// are labelled with.
func (t *timeline) spread(a *surroundings, rows []Item, rho int) (values []float32, classes []string) {
	if !teaches(rows) {
		return nil, nil
	}
	number, counts := numbered(rows, func(i *Item) string { return i.Label })
	n, k := len(rows), len(counts)
	values, classes = make([]float32, n*k), make([]string, k)
	for i, c := range number {
		if c >= 0 {
			values[i*k+int(c)], classes[c] = 1, rows[i].Label
		}
	}
	type link struct {
		node   int32
		weight float32
	}
	links := make([]link, 0, n*rho)
	ends := make([]int, n)
	near := make([]vector.Near[int32], 0, rho)
	width := float32(max(a.middle, 1e-12))
	for i := range n {
		if rows[i].Label == "" {
			near = near[:0]
			first, last := max(-a.earlier, a.time(i)-lagUnit), min(n-a.earlier-1, a.time(i)+lagUnit)
			for at := first; at <= last; at++ {
				if j := a.row(at); j != i {
					near = vector.Nearest(near, vector.Near[int32]{Node: int32(j), Distance: a.distances[i*n+j]}, rho)
				}
			}
			for _, x := range near {
				links = append(links, link{x.Node, float32(math.Exp(-float64(x.Distance / width)))})
			}
		}
		ends[i] = len(links)
	}
	sum := make([]float32, k)
	for range graphSweeps {
		from := 0
		for i, end := range ends {
			clear(sum)
			total := float32(0)
			for _, x := range links[from:end] {
				total += x.weight
				for c, v := range values[int(x.node)*k : int(x.node)*k+k] {
					sum[c] += x.weight * v
				}
			}
			for c, v := range sum {
				if total > 0 {
					values[i*k+c] = v / total
				}
			}
			from = end
		}
	}
	return values, classes
}

func (t *timeline) detach() { t.tracks = maps.Clone(t.tracks) }

func (t *timeline) reset(class string) bool {
	maps.DeleteFunc(t.tracks, func(_ string, x labelledTrack) bool { return x.label == class })
	return false
}

func (t *timeline) bytes(int) int { return overhead * len(t.tracks) }

func (t *timeline) kinds() []string { return []string{"time"} }

func (t *timeline) fields(f *piece.Fields) {
	if f.Kind != "time" || f.Writes && t.weight == 0 && len(t.tracks) == 0 {
		return
	}
	piece.Number(f, piece.OrderDistance, &t.distance)
	piece.Number(f, piece.OrderWeight, &t.weight)
	piece.Integer(f, piece.ItemCount, &t.items)
	names := slices.Sorted(maps.Keys(t.tracks))
	piece.List(f, piece.Track, &names, func(f *piece.Fields, number int, name *string) {
		f.Group(number, func(f *piece.Fields) {
			piece.Text(f, piece.Name, name)
			x := t.tracks[*name]
			piece.Integer(f, piece.Episode, &x.seen)
			piece.Text(f, piece.TrackLabel, &x.label)
			if f.Check(*name != "" && x.label != "", "track"); f.Err == nil {
				t.keep(*name, x)
			}
		})
	})
	f.Check(t.distance >= 0 && t.weight >= 0, "coherence")
}

func (t *timeline) keep(name string, x labelledTrack) {
	if t.tracks == nil {
		t.tracks = map[string]labelledTrack{}
	}
	t.tracks[name] = x
}

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
