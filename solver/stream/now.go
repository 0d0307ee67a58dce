package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Now answers the items of one stream when they come, before their episode closes. An answer is the update of one
// block of the objective, that of the item's own row, with all else fixed: the prototypes, the labelled rows, and the
// last nowRows rows, with the answers of their episode where it is over and their first ones where it is not.
// Nothing of this reaches the stream. One goroutine uses a Now at a time.
type Now struct {
	knows  *Knowledge
	rows   []nowRow
	raised []float32 // rows x d, see Knowledge.raise
	u      []float32 // rows x d, in the space of knows

	sums    []float32 // of each class: those of knows, and rows that items labelled since
	summed  bool      // sums is a copy
	masses  []float64
	squares []float64
	counts  []float64 // cpi pi0, and the sum of S over the rows since the last episode
	logs    []float32 // log of counts: of pi, but for what all classes share
	middle  float64   // median squared distance of the rows to their nearest

	prototypes []nowPrototype

	heldOut []heldOut // first answers to items and examples whose labels came with them or later
	fit     confidenceFit
	pairs   settledPairs
	said    float32 // the confidence of the last item of Ask, before calibration
	scratch nowScratch
}

const (
	nowRows    = 100 // rows that came before an item count for it, and up to nowAtOnce more
	nowAtOnce  = 32  // items in one tile of products
	nowClasses = 8   // of a row: the likeliest
	// nowLeak stands for evidenceLeak: an item knows those before it only, and where things change none of them is
	// like it.
	nowLeak = 1
)

// nowRow is an item that came before.
type nowRow struct {
	id           string
	position     Position
	frame, track string
	given        bool // it carries its label
	settled      bool // its episode is over
	s            classWeights
	likely       classWeights // softmax(-tau d2(u, C))
	speaks       classWeights // what taught labels around it say
	said         float32      // the confidence of its first answer before calibration; 0: it had none
	first        int32        // the class of its first answer
	far          float64      // unknown score before it is smoothed
	nearest      float32      // squared distance to the nearest other row
	around       [evidenceNearest]link
	arounds      int // those of around, each with how many rows further on it is
}

// classWeights are the largest weights of classes by their numbers.
type classWeights struct {
	count int
	of    [nowClasses]struct {
		class  int32
		weight float32
	}
}

func (w *classWeights) add(class int32, weight float32) {
	at := w.count
	if at == nowClasses {
		at = 0
		for i := range w.of {
			if w.of[i].weight < w.of[at].weight {
				at = i
			}
		}
		if w.of[at].weight >= weight {
			return
		}
	} else {
		w.count++
	}
	w.of[at].class, w.of[at].weight = class, weight
}

func (w *classWeights) weight(class int32) float32 {
	for _, x := range w.of[:w.count] {
		if x.class == class {
			return x.weight
		}
	}
	return 0
}

// addTo adds the weights, times by, to a row of one value a class.
func (w *classWeights) addTo(row []float32, by float32) {
	for _, x := range w.of[:w.count] {
		row[x.class] += by * x.weight
	}
}

// largest are the weights of a row that count for anything.
func largest(row []float32) (out classWeights) {
	for c, v := range row {
		if v >= .01 {
			out.add(int32(c), v)
		}
	}
	return out
}

// certain is all the weight on one class.
func certain(class int32) (out classWeights) {
	out.add(class, 1)
	return out
}

// Follow takes over what the stream knows after an episode, with the episode's items and what they were answered; nil
// for what is known before the first. Items that were not answered when they came are taken in as well.
func (n *Now) Follow(k *Knowledge, items []Item, answers []Answer) {
	n.test(k)
	old := n.knows
	if n.knows = k; old != nil && (old.model != k.model || old.dimension != k.dimension || old.clusters != k.clusters) {
		n.rows, n.raised, n.u = n.rows[:0], n.raised[:0], n.u[:0]
	}
	n.settle(old, items, answers)
	moved := len(n.u) < len(n.raised) || !k.besideSame(old)
	if moved {
		n.embed()
		n.measure()
	}
	n.count(moved)
	n.fit = n.pairs.fit()
	n.fit.fitted = k.fit.fitted
	if !k.clusters && len(n.heldOut) >= enoughHeldOut {
		n.fit = (&calibration{answers: n.heldOut}).fit(k.labels)
	}
}

// test answers the stream's own examples of the labels topic that are new, by what was known without them.
func (n *Now) test(k *Knowledge) {
	if n.knows == nil || n.knows.clusters || n.knows.model != k.model || n.knows.dimension != k.dimension {
		return
	}
	known := map[uint64]bool{}
	for i := range n.knows.force {
		known[n.knows.force[i].sum] = true
	}
	tested := 0
	for i := range k.force {
		if f := &k.force[i]; f.own && !known[f.sum] && tested < testedAtOnce {
			tested++
			if answers := n.Ask([]Item{{ID: f.ID, Vector: f.Vector, Model: k.model}}); answers != nil {
				n.remember(f.ID, f.Label, answers[0].Label, n.said)
			}
		}
	}
}

// remember keeps what an item was answered without its label, where that might have been right.
func (n *Now) remember(id, label, answered string, z float32) {
	if c, ok := n.knows.numbers[label]; !ok || n.masses[c] == 0 {
		return
	}
	n.heldOut = append(n.heldOut, heldOut{id: id, label: label, answered: answered, z: z})
	if over := len(n.heldOut) - heldOutKept; over > 0 {
		n.heldOut = slices.Delete(n.heldOut, 0, over)
	}
}

// settle gives the rows what they were answered, by the class numbers of today.
func (n *Now) settle(old *Knowledge, items []Item, answers []Answer) {
	k, d := n.knows, n.knows.dimension
	renumbered := old != nil && !slices.Equal(old.names, k.names)
	at := 0
	for i := range items {
		if items[i].Model != k.model || len(items[i].Vector) != d {
			continue
		}
		for at < len(n.rows) && items[i].Position.After(n.rows[at].position) {
			at++
		}
		if at == len(n.rows) || n.rows[at].position != items[i].Position {
			n.rows, n.u = slices.Insert(n.rows, at, newNowRow(&items[i])), n.u[:0]
			n.raised = slices.Insert(n.raised, at*d, make([]float32, d)...)
			k.raise(n.raised[at*d:at*d+d], items[i].Vector)
		} else if renumbered {
			n.rows[at].speaks = k.renumbered(old, &n.rows[at].speaks)
		}
		r := &n.rows[at]
		if r.said > 0 && !r.given && !r.settled && old != nil {
			n.pairs.add(r.said, answers[i].of(old.names[r.first]))
		}
		r.settled, r.s = true, classWeights{}
		if c, ok := k.number(answers[i].Label); ok {
			r.s.add(c, float32(answers[i].Confidence))
		}
		for _, other := range answers[i].Alternatives {
			if c, ok := k.number(other.Label); ok && other.Confidence >= .01 {
				r.s.add(c, float32(other.Confidence))
			}
		}
		at++
	}
	n.trim()
	for i := range n.rows {
		r := &n.rows[i]
		if renumbered && !slices.ContainsFunc(items, func(x Item) bool { return x.Position == r.position }) {
			r.s, r.speaks = k.renumbered(old, &r.s), k.renumbered(old, &r.speaks)
		}
		if label, ok := k.labels.label(r.id); ok && r.id != "" {
			if c, ok := k.numbers[label]; ok {
				r.given, r.s, r.speaks = true, certain(c), certain(c)
			}
		}
	}
}

// number is that of a class by what it is called.
func (k *Knowledge) number(called string) (int32, bool) {
	if c, ok := k.numbers[called]; ok {
		return c, true
	}
	c := slices.IndexFunc(k.names, func(name string) bool { return k.labels.called(name) == called })
	return int32(c), c >= 0
}

func newNowRow(item *Item) nowRow {
	return nowRow{
		id: item.ID, position: item.Position, frame: item.Frame, track: item.Track, given: item.Label != "",
		nearest: math.MaxFloat32,
	}
}

// renumbered are the weights of classes that are known today, by their numbers of today.
func (k *Knowledge) renumbered(old *Knowledge, w *classWeights) (out classWeights) {
	for _, x := range w.of[:w.count] {
		if c, ok := k.numbers[old.names[x.class]]; ok {
			out.add(c, x.weight)
		}
	}
	return out
}

// trim drops the oldest rows once there are nowAtOnce too many, as it moves all others.
func (n *Now) trim() {
	over := len(n.rows) - nowRows
	if over < nowAtOnce {
		return
	}
	d := n.knows.dimension
	n.rows = slices.Delete(n.rows, 0, over)
	n.raised = slices.Delete(n.raised, 0, over*d)
	n.u = slices.Delete(n.u, 0, min(len(n.u), over*d))
}

// embed takes the rows to the space of today.
func (n *Now) embed() {
	z := vector.Resize(n.scratch.z, len(n.raised))
	n.u = vector.Resize(n.u, len(n.raised))
	if n.knows.metric == nil {
		z = n.u
	} else {
		n.scratch.z = z
	}
	n.scratch.shrunk = n.knows.embed(z, n.u, n.raised, n.scratch.shrunk)
}

// count adds up what the rows count for, and says of each what it is like. Where the space and the labelled
// rows have not moved, rows are as far from them as before.
func (n *Now) count(moved bool) {
	k, d := n.knows, n.knows.dimension
	classes := len(k.names)
	n.sums, n.summed = k.sums, false
	n.masses, n.squares = append(n.masses[:0], k.masses...), append(n.squares[:0], k.squares...)
	n.counts, n.logs = vector.Resize(n.counts, classes), vector.Resize(n.logs, classes)
	n.prototypes = vector.Resize(n.prototypes, classes)
	for c, expected := range k.expected {
		n.counts[c] = k.solve.CPI * expected
		n.come(c, 0)
		n.prototype(c)
	}
	for i := range n.rows {
		n.gather(i)
	}
	n.scratch.classes = vector.Resize(n.scratch.classes, classes)
	n.scratch.labelled = vector.Resize(n.scratch.labelled, len(k.class))
	n.scratch.scores = vector.Resize(n.scratch.scores, classes)
	for i := range n.rows {
		r, u := &n.rows[i], n.u[i*d:i*d+d]
		if !r.settled {
			for _, x := range r.s.of[:r.s.count] {
				n.come(int(x.class), float64(x.weight))
			}
		}
		answered := r.settled && !r.given && r.s.count > 0
		if !answered || k.clusters {
			kernel.Products(n.scratch.classes, u, n.sums, 1, classes, d)
		}
		if moved || k.clusters {
			kernel.Products(n.scratch.labelled, u, k.labelled, 1, len(k.class), d)
			r.far = n.far(n.scratch.labelled, n.scratch.classes, -1)
		}
		if answered {
			r.likely = r.s // what its episode was sure of
			continue
		}
		n.costs(n.scratch.scores, n.scratch.classes)
		kernel.Softmax(n.scratch.scores)
		r.likely = largest(n.scratch.scores)
	}
}

// gather counts a row that was labelled since the last episode for its class's prototype, as that of the
// episode will.
func (n *Now) gather(i int) {
	r, d := &n.rows[i], n.knows.dimension
	if !r.given || r.settled || r.s.count != 1 {
		return
	}
	if !n.summed {
		n.sums, n.summed = slices.Clone(n.sums), true
	}
	c := int(r.s.of[0].class)
	sum := n.sums[c*d : c*d+d]
	kernel.Axpy(float32(n.knows.weight), n.u[i*d:i*d+d], sum)
	n.masses[c] += n.knows.weight
	n.squares[c] = float64(kernel.Dot(sum, sum))
	n.prototype(c)
}

// come counts so much of a class for pi.
func (n *Now) come(class int, weight float64) {
	n.counts[class] += weight
	n.logs[class] = float32(math.Log(max(n.counts[class], 1e-30)))
}

// measure finds how near the rows are to their nearest.
func (n *Now) measure() {
	d, m := n.knows.dimension, len(n.rows)
	if m < 2 {
		return
	}
	g := make([]float32, m*m)
	kernel.Gram(g, n.u, m, d)
	kernel.Mirror(g, m)
	for i := range n.rows {
		row := g[i*m : i*m+m]
		row[i] = float32(math.Inf(-1))
		n.rows[i].nearest = max(0, 2-2*slices.Max(row))
	}
	n.median()
}

// median is that of how near the rows are to their nearest.
func (n *Now) median() {
	sorted := vector.Resize(n.scratch.near, len(n.rows))
	for i := range n.rows {
		sorted[i] = n.rows[i].nearest
	}
	slices.Sort(sorted)
	n.middle = float64(sorted[len(sorted)/2])
	n.scratch.near = sorted
}

// distance is that of two unit rows with this product.
func distance(product float32) float64 { return math.Sqrt(max(0, float64(2-2*product))) }

// Bytes is about what a Now and its knowledge hold in memory.
func (n *Now) Bytes() int {
	bytes := 4*(cap(n.raised)+cap(n.u)) + 512*cap(n.rows)
	if k := n.knows; k != nil {
		bytes += 4 * (len(k.labelled) + len(k.labelledZ) + len(k.sums))
	}
	return bytes
}
