package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Now answers the items of one stream when they come, before their episode closes. An answer is the update of
// one block of the objective, that of the item's own row, with all else fixed: the prototypes, the labelled
// rows, and the last nowRows rows, with the answers of their episode where it is over and their first ones
// where it is not. Nothing of this reaches the stream. One goroutine uses a Now at a time. It keeps the
// vectors of the last items.
type Now struct {
	view   *View
	rows   []nowRow
	u      []float32 // rows x d, in the space of view
	soft   []float32 // rows x classes: S
	middle float64   // median squared distance of a row to the nearest before it
	lags   []float32 // 2, and the lag of each age of a row, the oldest first

	sums   classSums // those of view, and rows that items labelled since
	copied bool      // the sums are a copy of those of view
	counts []float64 // cpi pi0, and the sum of S over the rows since the last episode
	logs   []float32 // log of counts: of pi, but for what all classes share

	pairs   settledPairs
	fit     settledFit
	called  *taught.Renamed // the names in use; nil: the classes' own
	scratch nowScratch
}

const (
	nowRows   = lagUnit // rows that came before a tile count for its items: as far as evidence reaches
	nowAtOnce = 32      // items in one tile of products
	nowSpare  = 96      // more rows are kept, so that they move rarely
)

// nowRow is an item that came before.
type nowRow struct {
	vector   []float32
	id       string
	position Position
	frame    string
	given    bool    // it carries its label
	settled  bool    // its episode is over
	said     float32 // the confidence of its first answer before calibration; 0: it had none
	first    string  // the class of its first answer
	far      float64 // unknown score before it is smoothed; below 0: not known
	closest  float32 // squared distance to the nearest row before it; below 0: not known
}

// Follow takes over the stream's view after an episode, with the episode's items and their answers; nil
// before the first episode. Items without a first answer are taken over as well.
func (n *Now) Follow(k *View, items []Item, answers []Answer) {
	old := n.view
	if n.view = k; old != nil && (old.model != k.model || old.dimension != k.dimension || old.clusters != k.clusters) {
		n.rows, n.u, n.soft = n.rows[:0], n.u[:0], n.soft[:0]
	}
	n.called = k.labels.Rename(k.names)
	n.settle(old, items, answers)
	if len(n.u) < len(n.rows)*k.dimension || !k.sameMap(old) {
		n.embed(0)
	}
	n.count()
	n.fit = n.pairs.fit()
}

// settle gives the rows their settled answers, by the present class numbers.
func (n *Now) settle(old *View, items []Item, answers []Answer) {
	k, d := n.view, n.view.dimension
	if old != nil && !slices.Equal(old.names, k.names) {
		n.renumber(old)
	}
	classes, at := len(k.names), 0
	for i := range items {
		if items[i].Model != k.model || len(items[i].Vector) != d {
			continue
		}
		for at < len(n.rows) && items[i].Position.After(n.rows[at].position) {
			at++
		}
		if at == len(n.rows) || n.rows[at].position != items[i].Position {
			if len(n.rows)-at >= nowRows || len(items)-i > nowRows {
				continue // older than all that are kept
			}
			n.rows, n.u = slices.Insert(n.rows, at, newNowRow(&items[i])), n.u[:0]
			n.soft = slices.Insert(n.soft, at*classes, make([]float32, classes)...)
		}
		r := &n.rows[at]
		if r.said > 0 && !r.given && !r.settled {
			n.pairs.add(r.said, answers[i].of(r.first))
		}
		r.settled = true
		k.soft(n.row(at), &answers[i])
		at++
	}
	n.trim(0)
	for i := range n.rows {
		r := &n.rows[i]
		if label, ok := k.labels.Label(r.id); ok && r.id != "" {
			if c, ok := k.numbers[label]; ok {
				r.given = true
				certain(n.row(i), c)
			}
		}
	}
}

// row is S of a row.
func (n *Now) row(i int) []float32 {
	classes := len(n.view.names)
	return n.soft[i*classes : i*classes+classes]
}

// certain puts all the weight of a row on one class.
func certain(row []float32, class int32) {
	clear(row)
	row[class] = 1
}

// soft fills a row with the confidences of an answer.
func (k *View) soft(row []float32, a *Answer) {
	clear(row)
	set := func(label string, confidence float64) {
		if c, ok := k.number(label); ok {
			row[c] = float32(confidence)
		}
	}
	set(a.Label, a.Confidence)
	for _, other := range a.Alternatives {
		set(other.Label, other.Confidence)
	}
}

// number returns the number of the class with a name.
func (k *View) number(called string) (int32, bool) {
	if c, ok := k.numbers[called]; ok {
		return c, true
	}
	c := slices.IndexFunc(k.names, func(name string) bool { return k.labels.Called(name) == called })
	return int32(c), c >= 0
}

func newNowRow(item *Item) nowRow {
	return nowRow{
		vector: item.Vector, id: item.ID, position: item.Position, frame: item.Frame, given: item.Label != "",
		far: -1, closest: -1,
	}
}

// renumber gives the classes of the rows that are known today their numbers of today.
func (n *Now) renumber(old *View) {
	from, to := len(old.names), len(n.view.names)
	soft := make([]float32, len(n.rows)*to)
	for c, name := range old.names {
		if at, ok := n.view.numbers[name]; ok {
			for i := range n.rows {
				soft[i*to+int(at)] = n.soft[i*from+c]
			}
		}
	}
	n.soft = soft
}

// trim drops the oldest rows if more than spare are kept beside those that count: it moves all others.
func (n *Now) trim(spare int) {
	over := len(n.rows) - nowRows
	if over <= spare {
		return
	}
	n.rows = slices.Delete(n.rows, 0, over)
	n.soft = slices.Delete(n.soft, 0, over*len(n.view.names))
	n.u = slices.Delete(n.u, 0, min(len(n.u), over*n.view.dimension))
}

// embed takes the rows from the given one on to the space of today, and returns them before the metric.
func (n *Now) embed(from int) (z []float32) {
	k, d := n.view, n.view.dimension
	n.u = slices.Grow(n.u[:from*d], (len(n.rows)-from)*d)[:len(n.rows)*d]
	u := n.u[from*d:]
	if z = u; k.metric != nil {
		n.scratch.z = vector.Resize(n.scratch.z, len(u))
		z = n.scratch.z
	}
	for i := range n.rows[from:] {
		k.raise(z[i*d:i*d+d], n.rows[from+i].vector)
	}
	n.scratch.shrunk = k.embed(z, u, n.scratch.shrunk)
	return z
}

// count adds up the weights of the rows since the last episode.
func (n *Now) count() {
	k := n.view
	classes := len(k.names)
	n.sums, n.copied = k.sums, false
	n.counts, n.logs = vector.Resize(n.counts, classes), vector.Resize(n.logs, classes)
	for c, expected := range k.expected {
		n.counts[c] = k.solve.PriorCounts * expected
	}
	closest := n.scratch.scores[:0]
	for i := range n.rows {
		n.gather(i)
		if n.rows[i].closest >= 0 {
			closest = append(closest, n.rows[i].closest)
		}
		if !n.rows[i].settled {
			for c, weight := range n.row(i) {
				n.counts[c] += float64(weight)
			}
		}
	}
	n.middle, n.scratch.scores = float64(vector.Median(closest)), closest
	n.lags = n.lags[:0]
	for age := nowRows + nowAtOnce; age > 0; age-- {
		n.lags = append(n.lags, 2+float32(lagWeight*k.coherence*n.middle/lagUnit*(float64(age)-lagUnit)))
	}
	for c := range n.counts {
		n.logs[c] = logCount(n.counts[c])
	}
}

// gather counts a row that was labelled since the last episode for its class's prototype, as that of the
// episode will.
func (n *Now) gather(i int) {
	r, d := &n.rows[i], n.view.dimension
	c := slices.Index(n.row(i), 1)
	if !r.given || r.settled || c < 0 {
		return
	}
	if !n.copied {
		n.sums, n.copied = n.sums.clone(), true
	}
	n.sums.add(c, n.u[i*d:i*d+d], float32(n.view.weight), n.view.weight)
	n.sums.weigh(c)
}

func logCount(count float64) float32 { return float32(math.Log(max(count, 1e-30))) }

// distance is that of two unit rows with this product.
func distance(product float32) float64 { return math.Sqrt(max(0, float64(2-2*product))) }

// Bytes is the approximate size of a Now and its view.
func (n *Now) Bytes() int {
	bytes := 4*(cap(n.u)+cap(n.soft)) + 200*cap(n.rows)
	if k := n.view; k != nil {
		bytes += 4 * (nowRows*k.dimension + 2*len(k.labelled) + 2*len(k.sums.values))
	}
	return bytes
}
