package stream

import (
	"maps"
	"math"
	"slices"

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
	lagUnit         = 33  // ... for so many places
	lagMost         = 100 // items further apart than so many places are all as far
	evidenceWeight  = 8   // of a label that is certain
	evidenceSweeps  = 4
	evidenceReach   = 30 // places in the stream
	evidenceNearest = 8  // neighbours within reach that an item takes evidence from
	evidenceLeak    = .05
)

// timeline is what the order of a stream's items tells.
type timeline struct {
	distance float64 // mean distance in time of nearest neighbours, 1 in a random order; the sum over episodes ...
	weight   float64 // ... and their weights
	taught   bool    // a label was given; the last items are kept from then on
	recent   []recentItem
	tracks   map[string]*trackLabels
	items    int64 // seen in all: a track lives for so many items of the stream

	next []recentItem // of the episode that is being answered
}

// recentItem is one of the last items of the stream, with what taught labels say of it.
type recentItem struct {
	id       string
	vector   roundedVector
	evidence []classWeight
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
	n         int       // items; 0: not measured yet
	distances []float32 // squared, n x n; of rows that need it
	nearest   []float32 // squared distance to the nearest other item
	place     []int32   // of that item
	middle    float64   // median of nearest
}

// measure fills in distances and nearest neighbours.
func (a *surroundings) measure(rows *solver.EmbeddedRows, n int) {
	a.n = n
	a.distances = vector.Resize(a.distances, n*n)
	a.nearest, a.place = vector.Resize(a.nearest, n), vector.Resize(a.place, n)
	for i := range n {
		a.nearest[i] = math.MaxFloat32
	}
	for i := range n {
		a.distances[i*n+i] = 0
		for j := range i {
			v := rows.SquaredDistance(i, j)
			a.distances[i*n+j], a.distances[j*n+i] = v, v
			if v < a.nearest[i] {
				a.nearest[i], a.place[i] = v, int32(j)
			}
			if v < a.nearest[j] {
				a.nearest[j], a.place[j] = v, int32(i)
			}
		}
	}
	sorted := slices.Sorted(slices.Values(a.nearest))
	a.middle = float64(sorted[n/2])
}

// relation is what the order, the frames and the tracks of an episode's items, and labels around them, tell the
// solver; nil: nothing.
func (s *Stream) relation(p *problem, items []Item, labels *followedLabels) func(*solver.EmbeddedRows) {
	timed := s.settings.Time && s.settings.Warm
	if !s.relates(items, timed) {
		return nil
	}
	return func(rows *solver.EmbeddedRows) {
		s.measure(p, &p.Problem, rows, items, &s.settings.Solver)
		if timed {
			s.timeline.learnOrder(&p.around)
			s.lag(p, &p.Problem)
			p.Evidence = s.timeline.evidence(p, rows, items, labels)
		}
	}
}

// trialRelation is the same for an episode whose items are answered without their labels, as far as the stream knew
// its order before: nothing is learned. Rows that are no items of the episode have no place in it.
func (s *Stream) trialRelation(p *problem, trial *solver.Problem, items []Item) func(*solver.EmbeddedRows) {
	if !s.settings.Time || trial.N > len(items) || !s.relates(items, true) {
		return nil
	}
	return func(rows *solver.EmbeddedRows) {
		s.measure(p, trial, rows, items, &s.settings.Solver)
		s.lag(p, trial)
	}
}

// clusterRelation is the same for an episode that is clustered. whole: the items are all of the episode's, in order.
func (s *Stream) clusterRelation(p *problem, problem *solver.Problem, items []Item, solve *solver.Settings,
	whole bool,
) func(*solver.EmbeddedRows) {
	timed := s.settings.Time && s.settings.Warm && whole
	if !s.relates(items, timed) {
		return nil
	}
	return func(rows *solver.EmbeddedRows) {
		p.around.n = 0 // other items, in another space
		s.measure(p, problem, rows, items, solve)
		if timed {
			s.timeline.learnOrder(&p.around)
			s.lag(p, problem)
		}
	}
}

// relates tells whether there is anything to be made of how items lie to each other.
func (s *Stream) relates(items []Item, timed bool) bool {
	return len(items) >= 2 && len(items) <= lagRows && (timed || related(items))
}

// measure fills in the surroundings of an episode's items, unless a trial has, and gives the problem the edges of
// frames and tracks.
func (s *Stream) measure(p *problem, to *solver.Problem, rows *solver.EmbeddedRows, items []Item,
	solve *solver.Settings,
) {
	if p.around.n == 0 {
		p.around.measure(rows, len(items))
		p.edges = s.edges(p.edges[:0], &p.around, items, s.settings.FrameWeight, solve.Lambda, solve.Rho)
	}
	to.Edges = p.edges
}

// lag gives the problem what the order adds to distances.
func (s *Stream) lag(p *problem, to *solver.Problem) {
	if to.N+len(to.AnchorLabels) <= lagRows {
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
	for i, j := range a.place {
		sum += math.Abs(float64(int(j) - i))
	}
	apart := sum / float64(a.n) / (float64(a.n+1) / 3)
	m := float64(min(a.n, 100)) / 100
	t.distance = coherenceKept*t.distance + apart*m
	t.weight = coherenceKept*t.weight + m
}

// lag is what the order adds to the squared distance of items 1, 2, ... places apart. Its mean over the episode is zero, so
// that labelled items outside of it are as far as ever. nil: nothing.
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

// evidence is what taught labels say of an episode's items, n x K, and prepares what the last of them carry into the next
// one; nil where nothing taught is near.
func (t *timeline) evidence(p *problem, rows *solver.EmbeddedRows, items []Item, labels *followedLabels) []float32 {
	n := len(items)
	carried := t.carried(labels)
	var classes []string // of the sources
	columns := map[string]int{}
	column := func(class string) int {
		c, ok := columns[class]
		if !ok {
			c = len(classes)
			columns[class] = c
			classes = append(classes, class)
		}
		return c
	}
	type source struct {
		node, column int
		weight       float32
	}
	var sources []source
	for i, x := range carried {
		for _, e := range x.evidence {
			if _, known := p.numbers[e.class]; known {
				sources = append(sources, source{i, column(e.class), e.weight})
			}
		}
	}
	m := len(carried)
	for i := range items {
		if items[i].Label != "" {
			sources = append(sources, source{m + i, column(items[i].Label), 1})
		}
	}
	tracked := t.tracked(p, items)
	k := len(classes)
	values := make([]float32, (m+n)*k)
	for _, x := range sources {
		values[x.node*k+x.column] = x.weight
	}
	if k > 0 {
		t.spread(p, rows, carried, items, values, k)
	}
	t.taught = t.taught || k > 0 || len(p.own.examples) > 0
	t.carry(carried, items, values, classes)
	c := t.coherence()
	if (k == 0 || c == 0) && len(tracked) == 0 {
		return nil
	}
	out := make([]float32, p.N*p.K)
	for i := range n {
		for j, class := range classes {
			out[i*p.K+int(p.numbers[class])] = float32(evidenceWeight*c) * values[(m+i)*k+j]
		}
	}
	for _, x := range tracked {
		out[x.item*p.K+x.class] += trackWeight * x.weight
	}
	return out
}

// carried are the last items, with the labels that they were given since.
func (t *timeline) carried(labels *followedLabels) []recentItem {
	out := slices.Clone(t.recent)
	for i := range out {
		if label, ok := labels.label(out[i].id); ok && out[i].id != "" {
			out[i].evidence = []classWeight{{label, 1}}
		}
	}
	return out
}

// spread passes evidence on: e_p = sum w_pq e_q / (sum w_pq + leak) over the nearest within reach. Items that carry a label
// and items of earlier episodes keep what they have.
func (t *timeline) spread(p *problem, rows *solver.EmbeddedRows, carried []recentItem, items []Item, values []float32, k int) {
	a, n, m := &p.around, len(items), len(carried)
	reach := min(n, evidenceReach)
	var back []float32 // distances of the carried items to the first ones
	if m > 0 {
		raw := make([]float32, 0, m*len(items[0].Vector))
		for _, x := range carried {
			raw = x.vector.appendTo(raw)
		}
		back = rows.SquaredDistances(raw, reach)
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
					near = nearer(near, link{int32(m + j), a.distances[i*n+j]})
				}
			}
			for j := max(0, m-(evidenceReach-i)); j < m; j++ {
				near = nearer(near, link{int32(j), back[j*reach+i]})
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
			if from == end {
				continue
			}
			clear(sum)
			total := float32(evidenceLeak)
			for _, x := range links[from:end] {
				total += x.weight
				for c, v := range values[int(x.node)*k : int(x.node)*k+k] {
					sum[c] += x.weight * v
				}
			}
			for c, v := range sum {
				values[(m+i)*k+c] = v / total
			}
			from = end
		}
	}
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

// carry keeps the last items and what speaks for them.
func (t *timeline) carry(carried []recentItem, items []Item, values []float32, classes []string) {
	k, m := len(classes), len(carried)
	if !t.taught {
		return
	}
	t.next = nil
	for i := max(0, m+len(items)-evidenceReach); i < m+len(items); i++ {
		if i < m {
			t.next = append(t.next, carried[i])
			continue
		}
		x := recentItem{id: items[i-m].ID, vector: roundVector(items[i-m].Vector)}
		for c, class := range classes {
			if v := values[i*k+c]; v > 1e-3 {
				x.evidence = append(x.evidence, classWeight{class, v})
			}
		}
		t.next = append(t.next, x)
	}
}

func (t *timeline) observe(e *answered) {
	if e.cold || !e.stream.settings.Time {
		return
	}
	if t.next != nil {
		t.recent, t.next = t.next, nil
	}
	t.observeTracks(e)
}

func (t *timeline) reset(class string) bool {
	of := func(w classWeight) bool { return w.class == class }
	for i := range t.recent {
		t.recent[i].evidence = slices.DeleteFunc(slices.Clone(t.recent[i].evidence), of)
	}
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
	if t.taught {
		w.integer(fieldOrderTaught, 1)
	}
	evidence := func(w *writer, list []classWeight) {
		for _, x := range list {
			w.text(fieldClass, x.class)
			w.vector(fieldEvidence, []float32{x.weight})
		}
	}
	for _, x := range t.recent {
		w.group(fieldRecent, func(w *writer) {
			w.text(fieldID, x.id)
			w.vector(fieldScale, []float32{x.vector.scale})
			w.bytes(fieldValues, x.vector.bytes())
			evidence(w, x.evidence)
		})
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
	case fieldOrderTaught:
		t.taught = f.integer() != 0
	case fieldRecent:
		var x recentItem
		f.group(func(r *reader) {
			for number := r.next(); number != 0; number = r.next() {
				switch number {
				case fieldID:
					x.id = r.text()
				case fieldScale:
					if v := r.vector(1); v != nil {
						x.vector.scale = v[0]
					}
				case fieldValues:
					x.vector.setBytes(r.value)
				}
				x.evidence = evidence(r, number, x.evidence)
			}
			if len(x.vector.codes) != f.dimension {
				r.fail("recent item")
			}
		})
		t.recent = append(t.recent, x)
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

// roundedVector is a vector in 16 bits a value.
type roundedVector struct {
	scale float32 // of the largest value
	codes []int16
}

func roundVector(x []float32) roundedVector {
	v := roundedVector{codes: make([]int16, len(x))}
	for _, value := range x {
		v.scale = max(v.scale, float32(math.Abs(float64(value))))
	}
	for i, value := range x {
		v.codes[i] = vector.Short(value, v.scale)
	}
	return v
}

func (v *roundedVector) appendTo(out []float32) []float32 {
	for _, code := range v.codes {
		out = append(out, vector.Long(code, v.scale))
	}
	return out
}

func (v *roundedVector) bytes() []byte {
	out := make([]byte, 0, 2*len(v.codes))
	for _, code := range v.codes {
		out = append(out, byte(code), byte(code>>8))
	}
	return out
}

func (v *roundedVector) setBytes(b []byte) {
	v.codes = make([]int16, len(b)/2)
	for i := range v.codes {
		v.codes[i] = int16(b[2*i]) | int16(b[2*i+1])<<8
	}
}
