package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// An embedder replaced behind the same dimension and model name gives vectors to which no label and nothing
// learned applies, and yet some label is always nearest. What all vectors of one embedder have in common
// shows the change: which coordinates are large on average, and which vary. Other objects, another site or
// another light change little of that; another network, a rotation or another order of the coordinates leaves
// nothing of it.
const (
	correlationChance = 3.5 // standard deviations of the correlation of two vectors that have nothing in common
	changeTold        = 2   // consecutive judgements after which the embedder counts as changed
)

// unrelated returns a correlation that two vectors of d numbers hardly have by chance. What one embedder has
// made correlates by more than twice as much, or nothing can be told.
func unrelated(d int) float64 { return correlationChance / math.Sqrt(float64(d)) }

// embedder is what all vectors of a stream's embedder have in common, their shape: the mean and the spread of the
// unit rows, coordinate by coordinate.
type embedder struct {
	mean, spread []int16 // vector.Shorts at scale unitRow; nil: nothing was judged yet
	mass         float64 // of the judgements that made it
	usual        float64 // likeness of earlier judgements, the latest first: 1/2, 1/4 ...
	unlike       int     // consecutive judgements by which rows are of another one

	sum, squares []float32 // of rows that are not judged yet
	count        int
}

// judge adds an episode's rows and reports whether they are of another embedder: means and spreads are unlike, and
// usually are not. Where embeddings have little in common, other objects alone change the shape: items that
// resemble labelled ones are of the embedder of before.
func (h *embedder) judge(p *problem, items []Item) (other bool) {
	d := len(items[0].Vector)
	if 2*unrelated(d) >= 1 { // up to 49 numbers: chance may make any two alike
		return false
	}
	w := &p.shapes
	sum, squares, row := vector.Zeroed(w[0], d), vector.Zeroed(w[1], d), vector.Resize(w[2], d)
	w[0], w[1], w[2] = sum, squares, row
	copy(sum, h.sum)
	copy(squares, h.squares)
	judged := addShape(sum, squares, row, items)
	if h.count += judged; h.count < enough {
		h.sum, h.squares = slices.Clone(sum), slices.Clone(squares)
		return h.unlike > 0
	}
	mean, spread := sum, squares
	shapeOf(mean, spread, h.count)
	h.sum, h.squares, h.count = nil, nil, 0
	if h.mean == nil {
		h.mass = 1
	} else {
		for i := 3; i < len(w); i++ {
			w[i] = vector.Resize(w[i], d)
		}
		usualMean, usualSpread := w[4], w[5]
		vector.Longs(usualMean, h.mean, unitRow)
		vector.Longs(usualSpread, h.spread, unitRow)
		alike := max(correlation(usualMean, mean, row, w[3]), correlation(usualSpread, spread, row, w[3]))
		if alike < unrelated(d) && h.usual > 2*unrelated(d) && !p.resembled(items) {
			h.unlike++
			return true
		}
		h.usual = (h.usual + alike) / 2
		h.mass = episodeKept*h.mass + 1
		kept := float32(1 - 1/h.mass)
		mix(mean, usualMean, kept)
		mix(spread, usualSpread, kept)
	}
	h.unlike = 0
	h.mean, h.spread = vector.Shorts(nil, mean, unitRow), vector.Shorts(nil, spread, unitRow)
	return false
}

// unitRow is the scale of values of unit rows that are stored in 16 bits.
const unitRow = 1

// addShape adds unit rows of items, up to enough, and returns how many. It overwrites row.
func addShape(sum, squares, row []float32, items []Item) (count int) {
	count = min(len(items), enough)
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

// shapeOf replaces the sum of so many rows by their mean, and that of their squares by their spread.
func shapeOf(sum, squares []float32, count int) {
	n := float64(count)
	for i := range sum {
		m := float64(sum[i]) / n
		sum[i], squares[i] = float32(m), float32(math.Sqrt(max(0, float64(squares[i])/n-m*m)))
	}
}

// mix replaces a part of each number of a row by that of another.
func mix(row, other []float32, part float32) {
	for i, v := range other {
		row[i] = part*v + (1-part)*row[i]
	}
}

// correlation returns that of a and b over their coordinates. It overwrites x and y.
func correlation(a, b, x, y []float32) float64 {
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

// resembled reports whether any item is so near to a labelled example of the episode that one embedder has
// made both.
func (p *problem) resembled(items []Item) bool {
	d := len(items[0].Vector)
	rows, row := make([]float32, len(items)*d), make([]float32, d)
	for i := range items {
		level(rows[i*d:i*d+d], items[i].Vector)
	}
	products := make([]float32, len(items))
	for _, set := range p.sets {
		for _, x := range set.Entries {
			level(row, x.Vector)
			kernel.Products(products, rows, row, len(items), 1, d)
			if float64(slices.Max(products)) > 2*unrelated(d) {
				return true
			}
		}
	}
	return false
}

// answer makes answers to unlabelled items of another embedder unknown, with at most the
// confidence of chance.
func (h *embedder) answer(e *episode) {
	if !e.otherEmbedder {
		return
	}
	report := &e.report
	report.Unknown = 0
	for i := range e.answers {
		a := &e.answers[i]
		if e.items[i].Label != "" {
			continue
		}
		a.Unknown, a.Review, a.Calibrated, a.UnknownScore = true, false, false, view.Farthest
		a.Confidence = min(a.Confidence, 1/float64(len(e.problem.names)))
		a.Alternatives = nil
		report.Unknown++
	}
	h.tell(report)
}

// tell reports a changed embedder. The episode whose rows were judged so has an event and a note; with rows
// that wait to be judged it is a later one.
func (h *embedder) tell(report *Report) {
	report.EmbeddingChanged = h.unlike >= changeTold
	if h.unlike != changeTold || h.count > 0 {
		return
	}
	report.Events = append(report.Events, Event{Kind: "embedding changed"})
	report.note("embedding changed: nothing in these vectors is like those before. Answers are unknown until " +
		"they are as before, or --model names the new embedder, or somebody teaches its items")
}

func (h *embedder) bytes(int) int {
	return 2*(len(h.mean)+len(h.spread)) + 4*(len(h.sum)+len(h.squares))
}

func (h *embedder) kinds() []string { return []string{"embedder"} }

func (h *embedder) fields(f *piece.Fields) {
	if f.Kind != "embedder" || f.Writes && h.mean == nil && h.count == 0 {
		return
	}
	piece.Number(f, piece.Mass, &h.mass)
	piece.Integer(f, piece.Count, &h.count)
	piece.Integer(f, piece.ItemCount, &h.unlike)
	piece.Number(f, piece.Usual, &h.usual)
	piece.Slice(f, piece.Mean, &h.mean, -1)
	piece.Slice(f, piece.Spread, &h.spread, -1)
	piece.Slice(f, piece.Sum, &h.sum, -1)
	piece.Slice(f, piece.Pending, &h.squares, -1)
	fits := func(n int, there bool) bool { return n == 0 && !there || there && n == f.Dimension }
	f.Check(h.count >= 0 && h.unlike >= 0 && h.mass >= 0, "number in a shape")
	f.Check(fits(len(h.mean), h.mass > 0) && fits(len(h.spread), h.mass > 0), "shape")
	f.Check(fits(len(h.sum), h.count > 0) && fits(len(h.squares), h.count > 0), "sum of rows")
}
