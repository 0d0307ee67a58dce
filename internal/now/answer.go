package now

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// scratch is memory that is used again.
type scratch struct {
	z                         []float32 // raised
	tile                      view.Tile
	labelled, classes, window []float32   // products of a tile with labelled rows, sums of classes, last rows
	nearest                   []int32     // labelled row of each item of the tile
	likely                    []float32   // softmax of what prototypes and nearest labelled rows say of an item
	near                      []neighbour // of an item, with their squared distances
	minima                    [kernel.Groups]float32
	positions                 []int32 // of labelled rows, or of last rows
	scores, likeness          []float32
	rejections                taught.Scratch
	others                    []stream.Alternative // of the answers that are being given, which keep them
}

// neighbour is a row, or a labelled row: these come after all rows.
type neighbour = vector.Near[int32]

// Answer answers items that come next, in order, and keeps them among the rows: each knows the answers to
// those before it. It returns nil where nothing is known to answer by, and for items of another model or dimension.
func (n *Now) Answer(items []stream.Item) []stream.Answer { return n.answer(items, true) }

// Ask is Answer for items that are no part of the stream.
func (n *Now) Ask(items []stream.Item) []stream.Answer { return n.answer(items, false) }

func (n *Now) answer(items []stream.Item, keep bool) []stream.Answer {
	k := n.view
	if k == nil || len(k.Names) == 0 {
		return nil
	}
	if d, err := stream.Check(items); err != nil || d != k.Dimension || items[0].Model != k.Model {
		return nil
	}
	answers := make([]stream.Answer, 0, len(items))
	n.scratch.others = make([]stream.Alternative, 0, len(items)*min(view.MostOthers, len(k.Names)-1))
	defer func() { n.scratch.others = nil }()
	for some := range slices.Chunk(items, atOnce) {
		if keep {
			n.trim(spare)
		}
		before := len(n.rows)
		n.tile(some)
		for i := range some {
			answers = append(answers, n.item(before+i, i, &some[i], keep))
		}
		if !keep {
			n.rows, n.soft = n.rows[:before], n.soft[:before*len(k.Names)]
			k.Resize(&n.coded, before)
			continue
		}
		for i := before; i < len(n.rows); i++ {
			n.gather(i)
		}
	}
	return answers
}

// tile takes items to the end of the rows, and multiplies them with all that may be near them.
func (n *Now) tile(items []stream.Item) {
	k, x := n.view, &n.scratch
	d, m, classes, most, before := k.Dimension, len(k.Class), len(k.Names), len(items), len(n.rows)
	all, first := before+most, max(0, before-k.Reach)
	n.soft = slices.Grow(n.soft, most*classes)[:all*classes]
	x.z = vector.Resize(x.z, most*d)
	for i := range items {
		n.rows = append(n.rows, newKept(&items[i]))
		k.Raise(x.z[i*d:i*d+d], items[i].Vector)
	}
	k.Resize(&n.coded, all)
	k.PutTile(&x.tile, &n.coded, x.z)
	x.labelled, x.classes = vector.Resize(x.labelled, most*m), vector.Resize(x.classes, most*classes)
	x.window = vector.Resize(x.window, most*(all-first))
	k.Products(x.labelled, &x.tile, &k.Labelled, 0)
	x.nearest = x.nearest[:0]
	for i := range items {
		x.nearest = append(x.nearest, nearest(k, x.labelled[i*m:i*m+m]))
	}
	k.Products(x.classes, &x.tile, &n.sums.Rows, 0)
	k.Products(x.window, &x.tile, &n.coded, first)
	for i := range items {
		n.rows[before+i].far = n.far(i)
	}
}

// item answers the item of row at, which is number tiled of its tile.
func (n *Now) item(at, tiled int, item *stream.Item, keep bool) stream.Answer {
	k, x := n.view, &n.scratch
	m, classes := len(k.Class), len(k.Names)
	first := max(0, at-tiled-k.Reach)
	window, scores := x.window[tiled*(len(n.rows)-first):][:at-first], n.row(at)
	copy(scores, x.classes[tiled*classes:][:classes])
	n.sums.Of(scores)
	n.weigh(at, window, x.labelled[tiled*m:][:m], scores)
	x.likely = append(x.likely[:0], scores...)
	kernel.Softmax(x.likely)
	kernel.Axpy(float32(k.Solve.Beta), n.logs, scores)
	n.near(at, window, x.labelled[tiled*m:][:m])
	unknown := n.neighbours(at, scores)
	n.related(at, item, window, scores)
	n.reject(item, scores)
	kernel.Softmax(scores)
	a := n.finish(at, unknown, keep)
	if keep && item.Label != "" {
		clear(scores)
		if c, ok := k.Numbers[item.Label]; ok {
			certain(scores, c)
		}
		a = stream.Answer{
			Label: k.Labels.Called(item.Label), Class: item.Label, Confidence: 1, Calibrated: a.Calibrated,
		}
	}
	if keep {
		for c, weight := range scores {
			n.counts[c] += float64(weight)
			if float64(weight) > 1e-3*n.counts[c] { // less hardly moves the log
				n.logs[c] = logCount(n.counts[c])
			}
		}
	}
	return a
}

// weigh turns an item's scores by prototypes into those by prototypes and likeness.
func (n *Now) weigh(at int, window, labelled, scores []float32) {
	k, x := n.view, &n.scratch
	if k.Weights == (solver.Weights{Prototypes: 1}) {
		return
	}
	kernel.Scale(float32(k.Weights.Prototypes), scores)
	x.likeness = vector.Resize(x.likeness, len(scores))
	for c := range x.likeness {
		x.likeness[c] = solver.LeastLikeness
	}
	for j, like := range labelled {
		c := k.Class[j]
		x.likeness[c] = max(x.likeness[c], like)
	}
	for j, like := range window {
		before := at - len(window) + j
		if r := &n.rows[before]; r.given && !r.settled {
			c := slices.Index(n.row(before), 1)
			if c >= 0 {
				x.likeness[c] = max(x.likeness[c], like+solver.Recency(at-before))
			}
		}
	}
	kernel.Axpy(float32(k.Weights.Nearest), x.likeness, scores)
}

// reject adds what rejections say of an item.
func (n *Now) reject(item *stream.Item, scores []float32) {
	k, x := n.view, &n.scratch
	if k.Rejections.None() {
		return
	}
	x.scores = vector.Zeroed(x.scores, len(k.Names))
	if k.Rejections.Speak(x.scores, []taught.Row{{Vector: item.Vector, Track: item.Track, Given: item.Label != ""}}, &x.rejections) {
		kernel.Axpy(float32(k.Solve.Lambda), x.scores, scores)
	}
}

// nearest is the labelled row with the largest of these products that counts as known; -1: none does.
func nearest(k *view.View, products []float32) int32 {
	best, most := -1, float32(-math.MaxFloat32)
	for j, v := range products {
		if v > most && (k.Class[j] != k.Nobody || len(k.Names) == 1) {
			best, most = j, v
		}
	}
	return int32(best)
}

// largest is the place of the first of the largest of these numbers.
func largest(values []float32) (at int) {
	most := values[0]
	for i, v := range values {
		if v > most {
			at, most = i, v
		}
	}
	return at
}

// far is about the distance of an item of the tile to the nearest labelled item, see unknownScores, or that
// to the nearest cluster: without the metric, it is that of the item that is nearest with it.
func (n *Now) far(tiled int) float64 {
	k, x := n.view, &n.scratch
	if k.ByClusters {
		best := math.Inf(1)
		for c, v := range x.classes[tiled*len(k.Names):][:len(k.Names)] {
			mass := k.Sums.Masses[c]
			best = min(best, 1+k.Sums.Squares[c]/(mass*mass)-2*float64(v)/mass)
		}
		return math.Sqrt(max(0, best))
	}
	best := int(x.nearest[tiled])
	if best < 0 {
		return view.Farthest
	}
	far := view.Distance(x.labelled[tiled*len(k.Class)+best])
	if k.Learned != nil {
		far = (far + k.Plainly(&x.tile, tiled, &k.Labelled, best)) / 2
	}
	return far
}

// near finds the neighbours of an item among labelled rows and those before it.
func (n *Now) near(at int, window, labelled []float32) {
	k, x, rho := n.view, &n.scratch, n.view.Solve.Rho
	row, first, lags := &n.rows[at], at-len(window), n.lags[len(n.lags)-len(window):]
	if len(window) > 0 {
		row.closest = max(0, 2-2*window[largest(window)])
	}
	x.near = x.near[:0]
	limit := float32(math.MaxFloat32) // of the rho nearest and one more, as that may be the item itself
	if rho < kernel.Groups {
		for g := range x.minima {
			x.minima[g] = limit
		}
		kernel.GroupMinima(&x.minima, k.Twos, labelled)
		kernel.GroupMinima(&x.minima, lags, window)
		for _, v := range x.minima {
			x.near = vector.Nearest(x.near, neighbour{Distance: v}, rho+1)
		}
		limit, x.near = x.near[rho].Distance, x.near[:0]
	}
	x.positions = vector.Resize(x.positions, max(len(labelled), len(window)))
	for _, j := range x.positions[:kernel.Below(x.positions, k.Twos, labelled, limit)] {
		x.near = vector.Nearest(x.near, neighbour{Node: int32(len(n.rows)) + j, Distance: 2 - 2*labelled[j]}, rho)
	}
	for _, j := range x.positions[:kernel.Below(x.positions, lags, window, limit)] {
		if row.id == "" || n.rows[first+int(j)].id != row.id {
			x.near = vector.Nearest(x.near, neighbour{Node: int32(first) + j, Distance: lags[j] - 2*window[j]}, rho)
		}
	}
}

// neighbours adds lambda (W S + b), and returns the unknown score, smoothed.
func (n *Now) neighbours(at int, scores []float32) (unknown float64) {
	k := n.view
	degree, sum := 1., n.rows[at].far
	for rank, l := range n.scratch.near {
		weight := float32(k.Solve.Lambda) * k.Ranked[rank]
		if over := int(l.Node) - len(n.rows); over >= 0 {
			scores[k.Class[over]] += weight
			continue
		}
		if r := &n.rows[l.Node]; !r.given && r.far >= 0 {
			degree++
			sum += r.far
		}
		kernel.Axpy(weight, n.row(int(l.Node)), scores)
	}
	if k.ByClusters { // what is new is near nothing, and its neighbours are of known clusters
		return n.rows[at].far
	}
	return sum / degree
}

// related adds what frames and tracks say.
func (n *Now) related(at int, item *stream.Item, window, scores []float32) {
	k := n.view
	if item.Frame != "" {
		for j := range window {
			if before := at - len(window) + j; n.rows[before].frame == item.Frame {
				apart := min(1, float64(max(0, 2-2*window[j]))/max(n.middle, 1e-12))
				kernel.Axpy(-float32(k.Frames*apart), n.row(before), scores)
			}
		}
	}
	if c, ok := k.Numbers[k.Tracks[item.Track]]; ok {
		scores[c] += float32(k.Solve.Lambda * float64(k.Solve.Rho))
	}
}

// finish is the answer to an item whose block is solved.
func (n *Now) finish(at int, unknown float64, keep bool) stream.Answer {
	k, x, soft := n.view, &n.scratch, n.row(at)
	label := int32(largest(soft))
	z, degree := x.likely[label], float32(1)
	for _, l := range x.near {
		if int(l.Node) < len(n.rows) && !n.rows[l.Node].given {
			degree++
			z += n.row(int(l.Node))[label]
		}
	}
	z = k.Limit.Confidence(z/degree, unknown)
	names, class := k.Names, label
	if n.called != nil {
		names = n.called.Names
		label, class, soft, z = n.called.Answer(label, soft, z)
	}
	a := stream.Answer{
		Label: names[label], Class: k.Names[class], Confidence: n.fit.confidence(float64(z)),
		Calibrated: k.Fitted, UnknownScore: unknown,
	}
	a.Unknown = unknown > k.Limit.At
	others := view.Alternatives(soft, label, a.Confidence)
	from := len(x.others)
	for _, other := range others.All() {
		x.others = append(x.others, stream.Alternative{Label: names[other.Class], Confidence: other.Confidence})
	}
	if to := len(x.others); to > from {
		a.Alternatives = x.others[from:to:to]
	}
	if keep {
		n.rows[at].said, n.rows[at].first = z, a.Label
	}
	return a
}
