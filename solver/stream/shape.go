package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// An embedder replaced behind the same dimension and model name gives vectors to which no label and nothing
// learned applies, and yet some label is always nearest. What all vectors of one embedder have in common
// shows the change: which coordinates are large on average, and which vary. Other objects, another site or
// another light change little of that; another network, a rotation or another order of the coordinates leaves
// nothing of it.
const (
	shapeDimensions = 64  // fewer are not judged
	shapeItems      = 16  // judged together, at least
	shapeKnown      = 50  // items that must have been judged before
	shapeMass       = 500 // items that the known shape counts for at most
	shapeClasses    = 3   // that must be labelled: one class has a shape of its own
	shapeLikeness   = .3  // a shape is broken if means and spreads both correlate less than this ...
	shapeUsual      = .5  // ... where they usually correlate more: without a common shape none can break
	shapeTold       = 2   // consecutive judgements after which the embedder counts as changed
	shapeNear       = .6  // correlation of two vectors that only one embedder gives
	shapeSearched   = 5000
)

// shape is the mean and the spread of a stream's unit rows, coordinate by coordinate.
type shape struct {
	mean, spread []float32 // nil: nothing was judged yet
	mass         float64
	usual        float64 // likeness of earlier judgements, the latest first: 1/2, 1/4 ...; 0: none yet
	breaks       int     // consecutive judgements by which it is broken

	sum, squares []float32 // of rows that are not judged yet
	count        int
}

// judge adds an episode's rows and reports whether the shape is broken. Rows are judged shapeItems or more at
// a time. Where embeddings have little in common, other objects alone change the shape: items that resemble
// labelled ones are of the embedder of before.
func (h *shape) judge(p *problem, items []Item) (broken bool) {
	d := len(items[0].Vector)
	if d < shapeDimensions {
		return false
	}
	sum, squares := make([]float32, d), make([]float32, d)
	if h.count > 0 {
		copy(sum, h.sum)
		copy(squares, h.squares)
	}
	judged := addShape(sum, squares, items)
	h.sum, h.squares, h.count = sum, squares, h.count+judged
	if h.count < shapeItems {
		return h.breaks > 0
	}
	mean, spread := shapeOf(sum, squares, h.count)
	n := float64(h.count)
	h.sum, h.squares, h.count = nil, nil, 0
	if h.mass >= shapeKnown {
		alike := shapesAlike(h.mean, h.spread, mean, spread)
		if alike < shapeLikeness && h.usual >= shapeUsual && len(p.names) >= shapeClasses && !p.resembled(items) {
			h.breaks++
			return true
		}
		if h.usual == 0 {
			h.usual = alike
		}
		h.usual = (h.usual + alike) / 2
	}
	h.breaks = 0
	if h.mean == nil {
		h.mean, h.spread, h.mass = mean, spread, n
	} else {
		kept := float32(h.mass / (h.mass + n))
		h.mean, h.spread = mixed(h.mean, mean, kept), mixed(h.spread, spread, kept)
		h.mass = min(shapeMass, h.mass+n)
	}
	vector.Rounded(h.mean, unitRow)
	vector.Rounded(h.spread, unitRow)
	return false
}

// unitRow is the scale of values of unit rows that are stored in 16 bits.
const unitRow = 1

// addShape adds unit rows of items and returns how many: no more than make a shape known.
func addShape(sum, squares []float32, items []Item) (count int) {
	count = min(len(items), shapeKnown)
	row := make([]float32, len(sum))
	squares = squares[:len(sum)]
	for i := range count {
		vector.Unit(row, items[i*len(items)/count].Vector)
		kernel.Axpy(1, row, sum)
		for j, v := range row[:len(squares)] {
			squares[j] += v * v
		}
	}
	return count
}

func shapeOf(sum, squares []float32, count int) (mean, spread []float32) {
	mean, spread = make([]float32, len(sum)), make([]float32, len(sum))
	n := float64(count)
	for i := range sum {
		m := float64(sum[i]) / n
		mean[i], spread[i] = float32(m), float32(math.Sqrt(max(0, float64(squares[i])/n-m*m)))
	}
	return mean, spread
}

func mixed(a, b []float32, part float32) []float32 {
	out := make([]float32, len(a))
	for i := range a {
		out[i] = part*a[i] + (1-part)*b[i]
	}
	return out
}

// shapesAlike returns the larger of two correlations over the coordinates: of two shapes' means and
// of their spreads.
func shapesAlike(mean, spread, otherMean, otherSpread []float32) float64 {
	return max(correlation(mean, otherMean), correlation(spread, otherSpread))
}

func correlation(a, b []float32) float64 {
	x, y := make([]float32, len(a)), make([]float32, len(b))
	level(x, a)
	level(y, b)
	return float64(kernel.Dot(x, y))
}

// level fills out with a vector less the mean of its coordinates, at length 1: products are then correlations.
func level(out, v []float32) {
	var sum float64
	for _, x := range v {
		sum += float64(x)
	}
	mean := float32(sum / float64(len(v)))
	for i, x := range v {
		out[i] = x - mean
	}
	vector.Unit(out, out)
}

// resembled reports whether any item is so near to any of the labelled examples, of shapeSearched at most,
// that one embedder has made both.
func (p *problem) resembled(items []Item) bool {
	d := len(items[0].Vector)
	rows, row := make([]float32, len(items)*d), make([]float32, d)
	for i := range items {
		level(rows[i*d:i*d+d], items[i].Vector)
	}
	searched, products := 0, make([]float32, len(items))
	for _, set := range []*exampleSet{p.own, p.everyone, p.force.taught} {
		for x := range set.all() {
			if len(x.Vector) != d {
				continue
			}
			if searched++; searched > shapeSearched {
				return false
			}
			level(row, x.Vector)
			kernel.Products(products, rows, row, len(items), 1, d)
			if slices.Max(products) > shapeNear {
				return true
			}
		}
	}
	return false
}

// taughtNow reports whether an episode of a broken stream carries labels, or whether labels have changed and
// resemble its items: these are of the new embedder.
func (p *problem) taughtNow(items []Item, relabels bool) bool {
	return teaches(items) || relabels && p.resembled(items)
}

// answer makes answers to unlabelled items of another embedder unknown, with at most the
// confidence of chance.
func (h *shape) answer(e *episode) {
	if !e.broken {
		return
	}
	report := e.report
	report.Unknown = 0
	for i := range e.answers {
		a := &e.answers[i]
		if e.items[i].Label != "" {
			continue
		}
		a.Unknown, a.Review, a.Calibrated, a.UnknownScore = true, false, false, mostDistance
		a.Confidence = min(a.Confidence, 1/float64(len(e.problem.names)))
		a.Alternatives = nil
		report.Unknown++
	}
	h.tell(report)
}

// tell reports a changed embedder. The episode whose rows were judged so has an event and a note; with rows
// that wait to be judged it is a later one.
func (h *shape) tell(report *Report) {
	report.EmbeddingChanged = h.breaks >= shapeTold
	if h.breaks != shapeTold || h.count > 0 {
		return
	}
	report.Events = append(report.Events, Event{Kind: "embedding changed"})
	report.note("embedding changed: nothing in these vectors is like those before. Answers are unknown until " +
		"they are as before, or --model names the new embedder, or somebody teaches its items")
}

func (h *shape) fields(f *fields) {
	if f.kind != "shape" || f.writes && h.mean == nil && h.count == 0 {
		return
	}
	number(f, fieldMass, &h.mass)
	integer(f, fieldCount, &h.count)
	integer(f, fieldItemCount, &h.breaks)
	if !f.writes {
		h.usual = 1 // older states have none: their shapes were always judged
	}
	number(f, fieldUsual, &h.usual)
	shorts(f, fieldMean, &h.mean, unitRow)
	shorts(f, fieldSpread, &h.spread, unitRow)
	slice(f, fieldSum, &h.sum, -1)
	slice(f, fieldPending, &h.squares, -1)
	fits := func(v []float32, there bool) bool { return len(v) == 0 && !there || there && len(v) == f.dimension }
	f.check(h.count >= 0 && h.breaks >= 0 && h.mass >= 0, "number in a shape")
	f.check(fits(h.mean, h.mass > 0) && fits(h.spread, h.mass > 0), "shape")
	f.check(fits(h.sum, h.count > 0) && fits(h.squares, h.count > 0), "sum of rows")
}
