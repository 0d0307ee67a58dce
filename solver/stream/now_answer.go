package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// nowScratch is memory that is used again.
type nowScratch struct {
	z                         []float32 // before the metric
	labelled, classes, window []float32 // products of a tile of items with labelled rows, with the classes' sums, and with the rows
	items                     []nowItem // of a record
	pairs                     []nowPair
	shrunk                    []float32 // of the metric
	scores, against           []float32 // against: what rejections say
}

// nowItem is an item of a record that is being answered.
type nowItem struct {
	row     int       // where it is among the rows
	fixed   []float32 // its scores but for what the others of its record say
	likely  []float32 // softmax(-tau d2(u, C))
	nearest []link    // with their squared distances; labelled rows come after all rows
	unknown float64
}

// nowPair is what one item of a record counts for another, or below zero against it.
type nowPair struct {
	to, from int
	weight   float32
}

// Answer answers items that come next, in order, those of one record together, and keeps them among the rows. It
// returns nil where nothing is known to answer by, and for items of another model or dimension.
func (n *Now) Answer(items []Item) []Answer { return n.answer(items, true) }

// Ask is Answer for items that are no part of the stream; all of them are of one record.
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
	for len(items) > 0 {
		most := min(len(items), nowAtOnce)
		if keep {
			n.trim()
		}
		before := len(n.rows)
		n.tile(items[:most])
		for from := 0; from < most; {
			to := from + 1
			for to < most && (!keep || items[to].Position.Offset == items[from].Position.Offset) {
				to++
			}
			answers = n.record(answers, items[:to], from, before, keep)
			from = to
		}
		if keep {
			for i := before; i < len(n.rows); i++ {
				n.gather(i)
			}
		} else {
			n.rows, n.raised, n.u = n.rows[:before], n.raised[:before*k.dimension], n.u[:before*k.dimension]
		}
		items = items[most:]
	}
	return answers
}

// tile takes items to the end of the rows, and multiplies them with all that may be near them.
func (n *Now) tile(items []Item) {
	k, x := n.knows, &n.scratch
	d, m, classes, most, before := k.dimension, len(k.class), len(k.names), len(items), len(n.rows)
	all := before + most
	n.raised, n.u = slices.Grow(n.raised, most*d)[:all*d], slices.Grow(n.u, most*d)[:all*d]
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
	kernel.Products(x.classes, u, n.sums, most, classes, d)
	kernel.Products(x.window, u, n.u, most, all, d)
	for i := range items {
		n.rows[before+i].far = n.far(z[i*d:i*d+d], x.labelled[i*m:i*m+m], x.classes[i*classes:i*classes+classes])
	}
}

// record answers the last items of a tile from number first on, which are of one record. before is the number of rows
// before the tile.
func (n *Now) record(answers []Answer, items []Item, first, before int, keep bool) []Answer {
	x, k := &n.scratch, n.knows
	count := len(items) - first
	for len(x.items) < count {
		x.items = append(x.items, nowItem{})
	}
	x.pairs = x.pairs[:0]
	x.scores = vector.Resize(x.scores, len(k.names))
	for i := range count {
		it := &x.items[i]
		it.row = before + first + i
		n.score(it, first+i, before+first, keep)
		n.reject(it, &items[first+i])
		n.solve(i)
	}
	if len(x.pairs) > 0 {
		for range 2 { // what comes first in a record has not heard the rest
			for i := range count {
				n.solve(i)
			}
		}
	}
	for i := range count {
		answers = append(answers, n.finish(&x.items[i], &items[first+i], keep))
	}
	return answers
}

// solve is the update of an item's block.
func (n *Now) solve(i int) {
	x := &n.scratch
	it := &x.items[i]
	copy(x.scores, it.fixed)
	for _, p := range x.pairs {
		if p.to == i {
			n.rows[x.items[p.from].row].s.addTo(x.scores, p.weight)
		}
	}
	kernel.Softmax(x.scores)
	n.rows[it.row].s = largest(x.scores)
}

// score fills in an item's scores, by all that is fixed: what is before the row record. tiled is where the item is
// in the tile.
func (n *Now) score(it *nowItem, tiled, record int, keep bool) {
	k, x := n.knows, &n.scratch
	m, classes := len(k.class), len(k.names)
	labelled, products := x.labelled[tiled*m:][:m], x.classes[tiled*classes:][:classes]
	window := x.window[tiled*len(n.rows):][:it.row]
	it.fixed, it.likely = vector.Resize(it.fixed, classes), vector.Resize(it.likely, classes)
	n.costs(it.fixed, products)
	copy(it.likely, it.fixed)
	kernel.Softmax(it.likely)
	kernel.Axpy(float32(k.solve.Beta), n.logs, it.fixed)
	n.near(it, window, labelled, keep)
	n.neighbours(it, record)
	n.related(it, window, record)
}

// reject adds what rejections say of an item.
func (n *Now) reject(it *nowItem, item *Item) {
	k, x := n.knows, &n.scratch
	if len(k.not) == 0 {
		return
	}
	x.z, x.against = vector.Resize(x.z, k.dimension), vector.Zeroed(x.against, len(k.names))
	if speakAgainst(x.against, k.not, item, x.z) {
		kernel.Axpy(float32(k.solve.Lambda), x.against, it.fixed)
	}
}

// costs fills out with -a, but for what all classes share, by a row's products with the sums.
func (n *Now) costs(out, products []float32) {
	for c, p := range n.prototypes {
		out[c] = p.by*products[c] - p.less
	}
}

// nowPrototype is what a class's cost is made of: by times a row's product with the class's sum, less the rest.
type nowPrototype struct{ by, less float32 }

// prototype works out a class's cost anew.
func (n *Now) prototype(c int) {
	s := &n.knows.solve
	if n.masses[c] == 0 || n.squares[c] <= 0 {
		n.prototypes[c] = nowPrototype{0, float32(math.Inf(1))}
		return
	}
	length := n.squares[c] / (n.masses[c] * n.masses[c]) // |mean|^2
	pulled := math.Pow(length, -s.U/2)
	square := length * pulled * pulled // |C|^2
	psi := 0.
	if s.U < 1 {
		psi = 2 * (1 - s.U) / (2 - s.U) * math.Pow(square, (2-s.U)/(2-2*s.U))
	}
	n.prototypes[c] = nowPrototype{float32(2 * s.Tau / n.masses[c] * pulled), float32(s.Tau * psi)}
}

// far is about the distance of a row to the nearest labelled item, see unknownScores, or that to the nearest
// cluster: without the metric, it is that of the item that is nearest with it.
func (n *Now) far(z, labelled, products []float32) float64 {
	k := n.knows
	if k.clusters {
		best := math.Inf(1)
		for c, v := range products {
			best = min(best, 1+k.squares[c]/(k.masses[c]*k.masses[c])-2*float64(v)/k.masses[c])
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
func (n *Now) near(it *nowItem, window, labelled []float32, keep bool) {
	k, rho := n.knows, n.knows.solve.Rho
	it.nearest = it.nearest[:0]
	limit := float32(math.MaxFloat32) // of what is among the nearest
	add := func(at int, square float32) {
		it.nearest = nearest(it.nearest, link{int32(at), square}, rho)
		if len(it.nearest) == rho {
			limit = it.nearest[rho-1].weight
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
	id, closest := n.rows[it.row].id, float32(math.MaxFloat32)
	for j, product := range window {
		square := max(0, 2-2*product)
		timed := square + lag*(float32(min(it.row-j, lagMost))-middling)
		if timed >= limit && square >= closest || id != "" && n.rows[j].id == id { // the item itself
			continue
		}
		closest = min(closest, square)
		add(j, timed)
	}
	if !keep || closest == math.MaxFloat32 {
		return
	}
	switch at := float64(closest); {
	case n.middle == 0:
		n.middle = at
	case at > n.middle:
		n.middle *= nowFollowed
	default:
		n.middle /= nowFollowed
	}
}

// nearest keeps the most nearest of the links that it is given, in order; of two at one distance the first.
func nearest(near []link, x link, most int) []link {
	if len(near) < most {
		near = append(near, x)
	} else if most == 0 || x.weight >= near[most-1].weight {
		return near
	}
	at := len(near) - 1
	for ; at > 0 && x.weight < near[at-1].weight; at-- {
		near[at] = near[at-1]
	}
	near[at] = x
	return near
}

// neighbours adds lambda (W S + b) and smooths the unknown score.
func (n *Now) neighbours(it *nowItem, record int) {
	k, x := n.knows, &n.scratch
	degree, sum := 1., n.rows[it.row].far
	for at, l := range it.nearest {
		weight := float32(k.solve.Lambda) * k.ranked[at]
		if over := int(l.node) - len(n.rows); over >= 0 {
			it.fixed[k.class[over]] += weight
			continue
		}
		r := &n.rows[l.node]
		if !r.given && r.far >= 0 {
			degree++
			sum += r.far
		}
		if int(l.node) >= record {
			x.pairs = append(x.pairs, nowPair{it.row - record, int(l.node) - record, weight})
		} else {
			r.s.addTo(it.fixed, weight)
		}
	}
	it.unknown = sum / degree
	if k.clusters { // what is new is near nothing, and its neighbours are of known clusters
		it.unknown = n.rows[it.row].far
	}
}

// related adds what frames and tracks say.
func (n *Now) related(it *nowItem, window []float32, record int) {
	k, x, row := n.knows, &n.scratch, &n.rows[it.row]
	if row.frame == "" && row.track == "" {
		return
	}
	tracked := 0
	for j := range window {
		if row.track != "" && n.rows[j].track == row.track {
			tracked++
		}
	}
	lambda := float32(k.solve.Lambda)
	for j := range window {
		r := &n.rows[j]
		weight, both := float32(0), false
		switch {
		case row.frame != "" && r.frame == row.frame:
			apart := min(1, float64(max(0, 2-2*window[j]))/max(n.middle, 1e-12))
			weight, both = -float32(k.frames*apart), true
		case row.track != "" && r.track == row.track:
			weight = lambda * trackEdges * float32(k.solve.Rho) / float32(tracked)
		default:
			continue
		}
		if j < record {
			r.s.addTo(it.fixed, weight)
			continue
		}
		x.pairs = append(x.pairs, nowPair{it.row - record, j - record, weight})
		if both {
			x.pairs = append(x.pairs, nowPair{j - record, it.row - record, weight})
		}
	}
	if c, ok := k.numbers[k.tracks[row.track]]; ok {
		it.fixed[c] += lambda * trackWeight
	}
}

// finish is the answer to an item whose block is solved; keep makes the item one of the rows.
func (n *Now) finish(it *nowItem, item *Item, keep bool) Answer {
	k, x, row := n.knows, &n.scratch, &n.rows[it.row]
	label := int32(0)
	for _, v := range row.s.of[:row.s.count] {
		if v.weight > row.s.weight(label) {
			label = v.class
		}
	}
	z, degree := it.likely[label], float32(1)
	for _, l := range it.nearest {
		if int(l.node) < len(n.rows) && !n.rows[l.node].given {
			degree++
			z += n.rows[l.node].s.weight(label)
		}
	}
	z = k.limit.confidence(z/degree, it.unknown)
	clear(x.scores)
	row.s.addTo(x.scores, 1)
	names, soft := k.names, x.scores
	if n.called != nil {
		names = n.called.names
		label, soft, z = n.called.answer(label, soft, z)
	}
	a := Answer{
		Label: names[label], Confidence: n.fit.confidence(float64(z)), Calibrated: n.fit.fitted,
		UnknownScore: it.unknown,
	}
	k.limit.judge(&a)
	a.Alternatives = alternatives(nil, names, soft, label, a.Confidence)
	if !keep {
		return a
	}
	row.said, row.first = z, a.Label
	if item.Label != "" {
		row.s = classWeights{}
		if c, ok := k.numbers[item.Label]; ok {
			row.s = certain(c)
		}
		a = Answer{Label: k.labels.called(item.Label), Confidence: 1, Calibrated: a.Calibrated}
	}
	for _, v := range row.s.of[:row.s.count] {
		n.come(int(v.class), float64(v.weight))
	}
	return a
}
