package stream

import (
	"maps"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
)

// What comes one after the other in a stream is often the same thing. How far that holds is the coherence of the stream, 0
// where its order means nothing: the neighbours in the graph are chosen by time as well as by distance, and a label that a
// person gives speaks for the items around it, as far as the stream is coherent. The stream's own answers do not: a mistake
// would feed on itself.
const (
	coherenceKept   = .9  // what an episode's coherence still counts for one episode later
	lagWeight       = .45 // of the order beside the distance, in the median distances of nearest neighbours ...
	lagUnit         = 33  // ... for so many positions
	lagMost         = 100 // items further apart than so many positions are all as far
	evidenceWeight  = 8   // of a label that is certain
	evidenceSweeps  = 4
	evidenceReach   = 30 // positions in the stream
	evidenceNearest = 8  // neighbours within reach that an item takes evidence from
)

// timeline is what the order of a stream's items tells.
type timeline struct {
	distance float64 // mean distance in time of nearest neighbours, 1 in a random order; the sum over episodes ...
	weight   float64 // ... and their weights
	tracks   map[string]*trackLabels
	items    int64 // seen in all: a track lives for so many items of the stream
}

// classWeight is how much speaks for a class.
type classWeight struct {
	class  string
	weight float32
}

// trackLabels are the labels that were given to items of a track.
type trackLabels struct {
	labels []classWeight
	seen   int64 // the last of its items
}

// tracksKept bounds the taught tracks remembered; the one longest unseen goes first.
const tracksKept = 1024

// coherence is 1 where neighbours come one after the other, 0 where the order is random.
func (t *timeline) coherence() float64 {
	return max(0, 1-(t.distance+.5)/(t.weight+.5))
}

// surroundings are an episode's items as they lie in time and space, in memory that is used again.
type surroundings struct {
	n         int       // items
	distances []float32 // squared, n x n; of rows that need it
	nearest   []float32 // squared distance to the nearest other item
	sorted    []float32
	position  []int32 // of that item
	middle    float64 // median of nearest
}

// measure fills in distances and nearest neighbours.
func (a *surroundings) measure(space *solver.Space, n int) {
	a.n = n
	a.distances = vector.Resize(a.distances, n*n)
	a.nearest, a.position = vector.Resize(a.nearest, n), vector.Resize(a.position, n)
	space.Distances(a.distances, n)
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
	slices.Sort(a.sorted)
	a.middle = float64(a.sorted[n/2])
}

// relate gives an embedded episode what the order, the frames and the tracks of its items, and labels around
// them, tell of it.
func (s *Stream) relate(p *problem, space *solver.Space, items []Item) {
	timed := s.settings.Time && s.settings.Warm
	if !s.relates(items, timed) {
		return
	}
	s.measure(p, &p.Problem, space, items)
	if !timed {
		return
	}
	s.timeline.learnOrder(&p.around)
	s.lag(p, &p.Problem)
	if evidence := s.timeline.evidence(p, items); evidence != nil {
		kernel.Axpy(1, p.rejected, evidence[:len(p.rejected)])
		p.Evidence = evidence
	}
}

// relateTrial is the same for an episode whose items are answered without their labels, as far as the stream
// knew its order before: nothing is learned. Rows that are no items of the episode are not part of it.
func (s *Stream) relateTrial(p *problem, trial *solver.Problem, space *solver.Space, items []Item) {
	if s.settings.Time && trial.N == len(items) && s.relates(items, true) {
		s.measure(p, trial, space, items)
		s.lag(p, trial)
	}
}

// relates tells whether there is anything to be made of how items lie to each other.
func (s *Stream) relates(items []Item, timed bool) bool {
	return len(items) >= 2 && len(items) <= lagRows && (timed || related(items))
}

// measure fills in the surroundings of an episode's items, and gives the problem the edges of frames and
// tracks. It is done for a trial and again after it: without the hidden labels the mean is another, and so are
// distances.
func (s *Stream) measure(p *problem, to *solver.Problem, space *solver.Space, items []Item) {
	p.around.measure(space, len(items))
	solve := &s.settings.Solver
	p.edges = s.edges(p.edges[:0], &p.around, items, s.settings.FrameWeight, solve.Lambda, solve.Rho)
	to.Edges = p.edges
}

// lag gives the problem what the order adds to distances.
func (s *Stream) lag(p *problem, to *solver.Problem) {
	if to.N <= lagRows {
		p.lag = s.timeline.lag(p.lag, &p.around)
		to.Lag = p.lag
	}
}

// lagRows is how many items an episode may have for its order, frames and tracks to count, and how many rows and anchors a
// graph in time may have.
const lagRows = 2048

// related tells whether any item carries a frame or a track.
func related(items []Item) bool {
	return slices.ContainsFunc(items, func(i Item) bool { return i.Frame != "" || i.Track != "" })
}

// learnOrder takes in how far apart in time an episode's nearest neighbours are.
func (t *timeline) learnOrder(a *surroundings) {
	sum := 0.
	for i, j := range a.position {
		sum += math.Abs(float64(int(j) - i))
	}
	apart := sum / float64(a.n) / (float64(a.n+1) / 3)
	m := float64(min(a.n, 100)) / 100
	t.distance = coherenceKept*t.distance + apart*m
	t.weight = coherenceKept*t.weight + m
}

// lag is what the order adds to the squared distance of items 1, 2, ... positions apart. Its mean over the
// episode is zero, so that labelled items outside of it are as far as ever. nil: nothing.
func (t *timeline) lag(out []float32, a *surroundings) []float32 {
	c := t.coherence()
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

// evidence is what the labels that come with an episode's items, or came with others of their tracks, say of the
// items around them, n x K; nil where there are none.
func (t *timeline) evidence(p *problem, items []Item) []float32 {
	values, classes := t.spread(&p.around, items)
	tracked := t.tracked(p, items)
	k, c := len(classes), t.coherence()
	if (k == 0 || c == 0) && len(tracked) == 0 {
		return nil
	}
	out := make([]float32, p.N*p.K)
	for i := range items {
		for j, class := range classes {
			out[i*p.K+int(p.numbers[class])] = float32(evidenceWeight*c) * values[i*k+j]
		}
	}
	for _, x := range tracked {
		out[x.item*p.K+x.class] += trackWeight * x.weight
	}
	return out
}

// spread passes labels on: e_p = sum w_pq e_q / sum w_pq over the nearest items within reach, w = exp(-d2/s1). Items
// that carry a label keep it. It returns e, a column for each of the classes that items carry.
func (t *timeline) spread(a *surroundings, items []Item) (values []float32, classes []string) {
	number, counts := numbered(items, func(i *Item) string { return i.Label })
	n, k := len(items), len(counts)
	if k == 0 {
		return nil, nil
	}
	values, classes = make([]float32, n*k), make([]string, k)
	for i, c := range number {
		if c >= 0 {
			values[i*k+int(c)], classes[c] = 1, items[i].Label
		}
	}
	links := make([]link, 0, n*evidenceNearest)
	ends := make([]int, n)
	near := make([]link, 0, evidenceNearest)
	width := float32(max(a.middle, 1e-12))
	for i := range n {
		if items[i].Label == "" {
			near = near[:0]
			for j := max(0, i-evidenceReach); j <= min(n-1, i+evidenceReach); j++ {
				if j != i {
					near = nearer(near, link{int32(j), a.distances[i*n+j]})
				}
			}
			for _, x := range near {
				links = append(links, link{x.node, float32(math.Exp(-float64(x.weight / width)))})
			}
		}
		ends[i] = len(links)
	}
	sum := make([]float32, k)
	for range evidenceSweeps {
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

// link is a neighbour in time, with its squared distance or its weight.
type link struct {
	node   int32
	weight float32
}

// nearer keeps the nearest of the links that it is given, in order; of two at one distance the first.
func nearer(near []link, x link) []link {
	if len(near) < evidenceNearest {
		near = append(near, x)
	} else if x.weight >= near[len(near)-1].weight {
		return near
	}
	at := len(near) - 1
	for ; at > 0 && x.weight < near[at-1].weight; at-- {
		near[at] = near[at-1]
	}
	near[at] = x
	return near
}

func (t *timeline) observe(e *answered) {
	if e.cold || !e.stream.settings.Time {
		return
	}
	t.observeTracks(e)
}

func (t *timeline) reset(class string) bool {
	of := func(w classWeight) bool { return w.class == class }
	for _, x := range t.tracks {
		x.labels = slices.DeleteFunc(x.labels, of)
	}
	return false
}

func (t *timeline) encode(e *encoder) {
	if t.weight == 0 {
		return
	}
	w := e.piece("time", "time")
	w.float(fieldOrderDistance, t.distance)
	w.float(fieldOrderWeight, t.weight)
	w.integer(fieldItemCount, t.items)
	evidence := func(w *writer, list []classWeight) {
		for _, x := range list {
			w.text(fieldClass, x.class)
			w.vector(fieldEvidence, []float32{x.weight})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.tracks)) {
		w.group(fieldTrack, func(w *writer) {
			w.text(fieldName, name)
			w.integer(fieldEpisode, t.tracks[name].seen)
			evidence(w, t.tracks[name].labels)
		})
	}
}

func (t *timeline) decode(f *field) {
	if f.kind != "time" {
		return
	}
	evidence := func(r *reader, number int, list []classWeight) []classWeight {
		switch {
		case number == fieldClass:
			list = append(list, classWeight{class: r.text()})
		case number == fieldEvidence && len(list) > 0:
			if v := r.vector(1); v != nil {
				list[len(list)-1].weight = v[0]
			}
		}
		return list
	}
	switch f.number {
	case fieldOrderDistance:
		t.distance = f.float()
	case fieldOrderWeight:
		t.weight = f.float()
	case fieldItemCount:
		t.items = f.integer()
	case fieldTrack:
		name, x := "", &trackLabels{}
		f.group(func(r *reader) {
			for number := r.next(); number != 0; number = r.next() {
				switch number {
				case fieldName:
					name = r.text()
				case fieldEpisode:
					x.seen = r.integer()
				}
				x.labels = evidence(r, number, x.labels)
			}
		})
		if t.tracks == nil {
			t.tracks = map[string]*trackLabels{}
		}
		t.tracks[name] = x
	case 0:
		if !(t.distance >= 0) || !(t.weight >= 0) {
			f.fail("coherence")
		}
	}
}
