// Package now answers the items of a stream when they come, before their episode closes.
package now

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Now answers the items of one stream when they come, before their episode closes. An answer is the update of
// one block of the objective, that of the item's own row, with all else fixed: the prototypes, the labelled
// rows, and the last rows, with the answers of their episode where it is over and their first ones
// where it is not. Nothing of this reaches the stream. One goroutine uses a Now at a time. It keeps the
// vectors of the last items.
type Now struct {
	view   *view.View
	rows   []kept
	coded  view.Rows // rows in the space of view; fewer: to be made
	soft   []float32 // rows x classes: S
	middle float64   // median squared distance of a row to the nearest before it
	lags   []float32 // 2, and the lag of each age of a row, the oldest first

	sums   view.Sums // those of view, and rows that items labelled since
	copied bool      // the sums are a copy of those of view
	counts []float64 // cpi pi0, and the sum of S over the rows since the last episode
	logs   []float32 // log of counts: of pi, but for what all classes share

	pairs   settledPairs
	fit     settledFit
	called  *taught.Renamed // the names in use; nil: the classes' own
	scratch scratch
}

const (
	atOnce = 32 // items in one tile of products
	spare  = 96 // more rows are kept than count, so that they move rarely
)

// kept is an item that came before.
type kept struct {
	vector   []float32
	id       string
	position stream.Position
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
func (n *Now) Follow(k *view.View, items []stream.Item, answers []stream.Answer) {
	old := n.view
	if n.view = k; old != nil && (old.Model != k.Model || old.Dimension != k.Dimension || old.ByClusters != k.ByClusters) {
		n.rows, n.coded, n.soft = n.rows[:0], view.Rows{}, n.soft[:0]
	}
	n.called = k.Labels.Rename(k.Names)
	n.settle(old, items, answers)
	if n.coded.Len() < len(n.rows) || !k.SameMap(old) {
		n.embed()
	}
	n.count()
	n.fit = n.pairs.fit()
}

// settle gives the rows their settled answers, by the present class numbers.
func (n *Now) settle(old *view.View, items []stream.Item, answers []stream.Answer) {
	k, d := n.view, n.view.Dimension
	if old != nil && !slices.Equal(old.Names, k.Names) {
		n.renumber(old)
	}
	classes, at := len(k.Names), 0
	for i := range items {
		if items[i].Model != k.Model || len(items[i].Vector) != d {
			continue
		}
		for at < len(n.rows) && items[i].Position.After(n.rows[at].position) {
			at++
		}
		if at == len(n.rows) || n.rows[at].position != items[i].Position {
			if len(n.rows)-at >= k.Reach || len(items)-i > k.Reach {
				continue // older than all that are kept
			}
			n.rows, n.coded = slices.Insert(n.rows, at, newKept(&items[i])), view.Rows{}
			n.soft = slices.Insert(n.soft, at*classes, make([]float32, classes)...)
		}
		r := &n.rows[at]
		if r.said > 0 && !r.given && !r.settled {
			n.pairs.add(r.said, confidenceOf(&answers[i], r.first))
		}
		r.settled = true
		soft(k, n.row(at), &answers[i])
		at++
	}
	n.trim(0)
	for i := range n.rows {
		r := &n.rows[i]
		if label, ok := k.Labels.Label(r.id); ok && r.id != "" {
			if c, ok := k.Numbers[label]; ok {
				r.given = true
				certain(n.row(i), c)
			}
		}
	}
}

// row is S of a row.
func (n *Now) row(i int) []float32 {
	classes := len(n.view.Names)
	return n.soft[i*classes : i*classes+classes]
}

// certain puts all the weight of a row on one class.
func certain(row []float32, class int32) {
	clear(row)
	row[class] = 1
}

// soft fills a row with the confidences of an answer.
func soft(k *view.View, row []float32, a *stream.Answer) {
	clear(row)
	set := func(label string, confidence float64) {
		if c, ok := number(k, label); ok {
			row[c] = float32(confidence)
		}
	}
	set(a.Label, a.Confidence)
	for _, other := range a.Alternatives {
		set(other.Label, other.Confidence)
	}
}

// number returns the number of the class with a name.
func number(k *view.View, called string) (int32, bool) {
	if c, ok := k.Numbers[called]; ok {
		return c, true
	}
	c := slices.IndexFunc(k.Names, func(name string) bool { return k.Labels.Called(name) == called })
	return int32(c), c >= 0
}

func newKept(item *stream.Item) kept {
	return kept{
		vector: item.Vector, id: item.ID, position: item.Position, frame: item.Frame, given: item.Label != "",
		far: -1, closest: -1,
	}
}

// renumber gives the classes of the rows that are known today their numbers of today.
func (n *Now) renumber(old *view.View) {
	from, to := len(old.Names), len(n.view.Names)
	soft := make([]float32, len(n.rows)*to)
	for c, name := range old.Names {
		if at, ok := n.view.Numbers[name]; ok {
			for i := range n.rows {
				soft[i*to+int(at)] = n.soft[i*from+c]
			}
		}
	}
	n.soft = soft
}

// trim drops the oldest rows if more than spare are kept beside those that count: it moves all others.
func (n *Now) trim(spare int) {
	over := len(n.rows) - n.view.Reach
	if over <= spare {
		return
	}
	n.rows = slices.Delete(n.rows, 0, over)
	n.soft = slices.Delete(n.soft, 0, over*len(n.view.Names))
	n.coded.Delete(min(n.coded.Len(), over))
}

// embed takes all rows to the space of today.
func (n *Now) embed() {
	k := n.view
	k.Resize(&n.coded, len(n.rows))
	n.scratch.z = vector.Resize(n.scratch.z, k.Dimension)
	for i := range n.rows {
		k.Raise(n.scratch.z, n.rows[i].vector)
		k.Put(&n.coded, i, n.scratch.z)
	}
}

// count adds up the weights of the rows since the last episode.
func (n *Now) count() {
	k := n.view
	classes := len(k.Names)
	n.sums, n.copied = k.Sums, false
	n.counts, n.logs = vector.Resize(n.counts, classes), vector.Resize(n.logs, classes)
	for c, expected := range k.Expected {
		n.counts[c] = k.Solve.PriorCounts * expected
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
	reach := float64(k.Reach)
	for age := k.Reach + atOnce; age > 0; age-- {
		n.lags = append(n.lags, 2+float32(k.Lag*n.middle/reach*(float64(age)-reach)))
	}
	for c := range n.counts {
		n.logs[c] = logCount(n.counts[c])
	}
}

// gather counts a row that was labelled since the last episode for its class's prototype, as that of the
// episode will.
func (n *Now) gather(i int) {
	r := &n.rows[i]
	c := slices.Index(n.row(i), 1)
	if !r.given || r.settled || c < 0 {
		return
	}
	if !n.copied {
		n.sums, n.copied = n.sums.Clone(), true
	}
	n.sums.Add(c, &n.coded, i, float32(n.view.Weight), n.view.Weight)
	n.sums.Weigh(c)
}

func logCount(count float64) float32 { return float32(math.Log(max(count, 1e-30))) }

// Bytes is the approximate size of a Now and its view.
func (n *Now) Bytes() int {
	bytes := n.coded.Bytes() + 4*cap(n.soft) + 200*cap(n.rows)
	if k := n.view; k != nil {
		bytes += 4*k.Reach*k.Dimension + k.Bytes()
	}
	return bytes
}
