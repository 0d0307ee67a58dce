package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// nowScratch is memory that is used again.
type nowScratch struct {
	z                         []float32     // before the metric
	labelled, classes, window []float32     // products of a tile of items with labelled rows, with the classes' sums, and with the rows
	shrunk                    []float32     // of the metric
	likely                    []float32     // softmax(-tau d2(u, C)) of an item
	near                      []link[int32] // of an item, with their squared distances; labelled rows come after all rows
	scores                    []float32
}

// Answer answers items that come next, in order, and keeps them among the rows: each knows the answers to those
// before it. It returns nil where nothing is known to answer by, and for items of another model or dimension.
func (n *Now) Answer(items []Item) []Answer { return n.answer(items, true) }

// Ask is Answer for items that are no part of the stream.
func (n *Now) Ask(items []Item) []Answer { return n.answer(items, false) }

func (n *Now) answer(items []Item, keep bool) []Answer {
	k := n.knows
	if k == nil || len(k.names) == 0 {
		return nil
	}
	if d, err := checkItems(items); err != nil || d != k.dimension || items[0].Model != k.model {
		return nil
	}
	answers := make([]Answer, 0, len(items))
	for some := range slices.Chunk(items, nowAtOnce) {
		if keep {
			n.trim()
		}
		before := len(n.rows)
		n.tile(some)
		for i := range some {
			answers = append(answers, n.item(before+i, i, &some[i], keep))
		}
		if !keep {
			n.rows, n.soft = n.rows[:before], n.soft[:before*len(k.names)]
			n.raised, n.u = n.raised[:before*k.dimension], n.u[:before*k.dimension]
			continue
		}
		for i := before; i < len(n.rows); i++ {
			n.gather(i)
		}
	}
	return answers
}

// tile takes items to the end of the rows, and multiplies them with all that may be near them.
func (n *Now) tile(items []Item) {
	k, x := n.knows, &n.scratch
	d, m, classes, most, before := k.dimension, len(k.class), len(k.names), len(items), len(n.rows)
	all := before + most
	n.raised, n.u = slices.Grow(n.raised, most*d)[:all*d], slices.Grow(n.u, most*d)[:all*d]
	n.soft = slices.Grow(n.soft, most*classes)[:all*classes]
	u := n.u[before*d:]
	z := u
	if k.metric != nil {
		x.z = vector.Resize(x.z, most*d)
		z = x.z
	}
	for i := range items {
		n.rows = append(n.rows, newNowRow(&items[i]))
		k.raise(n.raised[(before+i)*d:(before+i)*d+d], items[i].Vector)
	}
	x.shrunk = k.embed(z, u, n.raised[before*d:], x.shrunk)
	x.labelled, x.classes = vector.Resize(x.labelled, most*m), vector.Resize(x.classes, most*classes)
	x.window = vector.Resize(x.window, most*all)
	kernel.Products(x.labelled, u, k.labelled, most, m, d)
	kernel.Products(x.classes, u, n.sums.values, most, classes, d)
	kernel.Products(x.window, u, n.u, most, all, d)
	for i := range items {
		n.rows[before+i].far = n.far(z[i*d:i*d+d], x.labelled[i*m:i*m+m], x.classes[i*classes:i*classes+classes])
	}
}

// item answers the item of row at, which is number tiled of its tile.
func (n *Now) item(at, tiled int, item *Item, keep bool) Answer {
	k, x := n.knows, &n.scratch
	m, classes := len(k.class), len(k.names)
	window, scores := x.window[tiled*len(n.rows):][:at], n.row(at)
	copy(scores, x.classes[tiled*classes:][:classes])
	n.sums.of(scores)
	x.likely = append(x.likely[:0], scores...)
	kernel.Softmax(x.likely)
	kernel.Axpy(float32(k.solve.Beta), n.logs, scores)
	n.near(at, window, x.labelled[tiled*m:][:m])
	unknown := n.neighbours(at, scores)
	n.related(at, item, window, scores)
	n.reject(item, scores)
	kernel.Softmax(scores)
	a := n.finish(at, unknown, keep)
	if keep && item.Label != "" {
		clear(scores)
		if c, ok := k.numbers[item.Label]; ok {
			certain(scores, c)
		}
		a = Answer{Label: k.labels.called(item.Label), Confidence: 1, Calibrated: a.Calibrated}
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

// reject adds what rejections say of an item.
func (n *Now) reject(item *Item, scores []float32) {
	k, x := n.knows, &n.scratch
	if len(k.not) == 0 {
		return
	}
	x.z, x.scores = vector.Resize(x.z, k.dimension), vector.Zeroed(x.scores, len(k.names))
	if speakAgainst(x.scores, k.not, item, x.z) {
		kernel.Axpy(float32(k.solve.Lambda), x.scores, scores)
	}
}

// far is about the distance of a row to the nearest labelled item, see unknownScores, or that to the nearest
// cluster: without the metric, it is that of the item that is nearest with it.
func (n *Now) far(z, labelled, products []float32) float64 {
	k := n.knows
	if k.clusters {
		best := math.Inf(1)
		for c, v := range products {
			mass := k.sums.masses[c]
			best = min(best, 1+k.sums.squares[c]/(mass*mass)-2*float64(v)/mass)
		}
		return math.Sqrt(max(0, best))
	}
	best := -1
	for j, v := range labelled {
		if (best < 0 || v > labelled[best]) && (k.class[j] != k.nobody || len(k.names) == 1) {
			best = j
		}
	}
	switch d := k.dimension; {
	case best < 0:
		return mostDistance
	case k.metric == nil:
		return distance(labelled[best])
	default:
		return (distance(labelled[best]) + distance(kernel.Dot(z, k.labelledZ[best*d:best*d+d]))) / 2
	}
}

// near finds the neighbours of an item among labelled rows and those before it.
func (n *Now) near(at int, window, labelled []float32) {
	k, x, rho := n.knows, &n.scratch, n.knows.solve.Rho
	x.near = x.near[:0]
	limit := float32(math.MaxFloat32) // of what is among the nearest
	add := func(node int, square float32) {
		x.near = nearest(x.near, link[int32]{int32(node), square}, rho)
		if len(x.near) == rho {
			limit = x.near[rho-1].weight
		}
	}
	for j, product := range labelled {
		if square := 2 - 2*product; square < limit {
			add(len(n.rows)+j, square)
		}
	}
	lag := float32(0)
	if k.coherence > 0 {
		lag = float32(lagWeight * k.coherence * n.middle / lagUnit)
	}
	const middling = 100. / 3 // the mean of how far two of a hundred items are apart
	row, closest := &n.rows[at], float32(math.MaxFloat32)
	for j, product := range window {
		square := max(0, 2-2*product)
		timed := square + lag*(float32(min(at-j, lagMost))-middling)
		if timed >= limit && square >= closest || row.id != "" && n.rows[j].id == row.id { // the item itself
			continue
		}
		closest = min(closest, square)
		row.closest = closest
		add(j, timed)
	}
}

// neighbours adds lambda (W S + b), and returns the unknown score, smoothed.
func (n *Now) neighbours(at int, scores []float32) (unknown float64) {
	k := n.knows
	degree, sum := 1., n.rows[at].far
	for rank, l := range n.scratch.near {
		weight := float32(k.solve.Lambda) * k.ranked[rank]
		if over := int(l.node) - len(n.rows); over >= 0 {
			scores[k.class[over]] += weight
			continue
		}
		if r := &n.rows[l.node]; !r.given && r.far >= 0 {
			degree++
			sum += r.far
		}
		kernel.Axpy(weight, n.row(int(l.node)), scores)
	}
	if k.clusters { // what is new is near nothing, and its neighbours are of known clusters
		return n.rows[at].far
	}
	return sum / degree
}

// related adds what frames and tracks say.
func (n *Now) related(at int, item *Item, window, scores []float32) {
	k := n.knows
	for j := range window {
		if item.Frame != "" && n.rows[j].frame == item.Frame {
			apart := min(1, float64(max(0, 2-2*window[j]))/max(n.middle, 1e-12))
			kernel.Axpy(-float32(k.frames*apart), n.row(j), scores)
		}
	}
	if c, ok := k.numbers[k.tracks[item.Track]]; ok {
		scores[c] += float32(k.solve.Lambda) * evidenceWeight
	}
}

// finish is the answer to an item whose block is solved.
func (n *Now) finish(at int, unknown float64, keep bool) Answer {
	k, x, soft := n.knows, &n.scratch, n.row(at)
	label := int32(slices.Index(soft, slices.Max(soft)))
	z, degree := x.likely[label], float32(1)
	for _, l := range x.near {
		if int(l.node) < len(n.rows) && !n.rows[l.node].given {
			degree++
			z += n.row(int(l.node))[label]
		}
	}
	z = k.limit.confidence(z/degree, unknown)
	names := k.names
	if n.called != nil {
		names = n.called.names
		label, soft, z = n.called.answer(label, soft, z)
	}
	a := Answer{
		Label: names[label], Confidence: n.fit.confidence(float64(z)), Calibrated: n.fit.fitted, UnknownScore: unknown,
	}
	k.limit.judge(&a)
	a.Alternatives = alternatives(nil, names, soft, label, a.Confidence)
	if keep {
		n.rows[at].said, n.rows[at].first = z, a.Label
	}
	return a
}
