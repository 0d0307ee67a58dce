package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/internal/view"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// Nobody is the class of items without an identity: false detections, passers-by. Similarity to one of them
// does not make an item one of a known class.
const Nobody = "nobody"

// novelty holds the scores from which the limit of the unknown is derived.
type novelty struct {
	scores  scoreDensity // of the stream's own items
	leftOut []float64    // of labelled items without their labels, ascending; nil: too few can be left out
}

func (v *novelty) observe(e *episode) {
	if e.solved != nil {
		v.scores = *e.scores
	}
}

func (v *novelty) fields(f *piece.Fields) {
	if f.Kind != "head" {
		return
	}
	scores := v.scores[:]
	piece.Slice(f, piece.Spread, &scores, len(v.scores))
	copy(v.scores[:], scores)
	if f.Writes && v.leftOut == nil {
		return
	}
	if piece.Slice(f, piece.LeftOut, &v.leftOut, -1); v.leftOut != nil {
		f.Check(len(v.leftOut) >= enough && slices.IsSorted(v.leftOut), "scores of labelled items")
	}
}

// graphSweeps is the number of times that scores are smoothed, or labels passed on, over the graph: unknown
// items seldom come alone.
const graphSweeps = 3

// A walk over the graph.
const (
	walkEnds   = 4.     // the weight of its end beside those of a row's neighbours
	walkCounts = 2. / 3 // as much nearer than its distance is a row from which all walks come to labelled ones
)

// unknownScores returns the unknown score of each row of a solved problem, 0 for labelled ones: its distance
// to the nearest labelled item, smoothed over the graph graphSweeps times, (W h + h)/(deg + 1). The distance
// is the mean of those with and without the metric: the metric is learned on the labelled classes, separates
// items like these, and may not separate others. In the distance without it, items of class nobody (-1: none)
// do not count, unless it is the only class. A row from which a walk over the graph comes to labelled ones more often
// than from most is nearer by that, and one from which it seldom does is farther: strangers have their own kind about
// them. They are valid until the engine's next episode.
func (p *problem) unknownScores(of *solver.Problem, x *solver.Space, r *solver.Result) []float64 {
	nobody := p.nobody()
	if of.K == 1 {
		nobody = -1
	}
	n, w := of.Rows.N(), &p.unknown
	w.distances, w.scores, w.next = vector.Resize(w.distances, n), vector.Resize(w.scores, n), vector.Resize(w.next, n)
	w.reached, w.sorted = vector.Zeroed(w.reached, n), w.sorted[:0]
	for range graphSweeps {
		walk(w.next, of.Labels, x.Affinity(), w.reached)
		w.reached, w.next = w.next, w.reached
	}
	for i, reached := range w.reached {
		if of.Labels[i] < 0 {
			w.sorted = append(w.sorted, reached)
		}
	}
	slices.Sort(w.sorted)
	by, usual := walkCounts*p.again(), 1.
	if len(w.sorted) > 0 {
		usual -= by * vector.Quantile(w.sorted, bulk)
	}
	r.Distances(w.distances, nobody)
	for i := range n {
		if w.scores[i] = 0; of.Labels[i] >= 0 {
			continue
		}
		h := float64(w.distances[i])
		if of.Embedding != nil && of.Embedding.Metric != nil {
			h = (h + float64(r.Distance[i])) / 2
		}
		w.scores[i] = min(view.Farthest, h*(1-by*w.reached[i])/usual)
	}
	for range graphSweeps {
		smooth(w.next, of.Labels, x.Affinity(), w.scores)
		w.scores, w.next = w.next, w.scores
	}
	return w.scores
}

// again is the share of labelled items that have another one of their class before them: where all classes have one
// example, an item of a class may be as far from it in the graph as a stranger.
func (p *problem) again() float64 {
	var all, classes float64
	for _, n := range p.labelCounts {
		all, classes = all+n, classes+min(1, n)
	}
	return (all - classes) / max(1, all)
}

// unknownWork is memory for unknown scores.
type unknownWork struct {
	distances                     []float32
	scores, reached, next, sorted []float64
}

// smooth fills out with the scores of unlabelled rows after one smoothing step over the graph.
func smooth(out []float64, labels []int32, graph *index.Affinity, scores []float64) {
	for i := range out {
		if out[i] = 0; labels[i] >= 0 {
			continue
		}
		sum, degree := scores[i], 1.
		columns, weights := graph.Row(i)
		for j, q := range columns { // items held apart are not averaged
			if w := float64(weights[j]); w > 0 && unlabelled(labels, q, len(out)) {
				sum, degree = sum+w*scores[q], degree+w
			}
		}
		out[i] = sum / degree
	}
}

// walk fills out with the chance that a walk over the graph from an unlabelled row comes to a labelled one before it ends,
// if it does so from its neighbours with the chances of before.
func walk(out []float64, labels []int32, graph *index.Affinity, before []float64) {
	for i := range out {
		if out[i] = 0; labels[i] >= 0 {
			continue
		}
		sum, degree := 0., walkEnds
		columns, weights := graph.Row(i)
		for j, q := range columns {
			w := float64(weights[j])
			if w <= 0 { // an item held apart
				continue
			}
			chance := 1.
			if unlabelled(labels, q, len(out)) {
				chance = before[q]
			}
			sum, degree = sum+w*chance, degree+w
		}
		out[i] = sum / degree
	}
}

// unlabelled says whether a neighbour has no label: it is one of the n rows, behind which examples come, and not labelled.
func unlabelled(labels []int32, q int32, n int) bool { return int(q) < n && labels[q] < 0 }

// scoreDensity is a histogram of unknown scores, in equal bins from 0 to view.Farthest.
type scoreDensity [128]float64

// quantile returns the score that a fraction q of those counted stays below; false: too few are counted.
func (s *scoreDensity) quantile(q float64) (score float64, known bool) {
	var total, below float64
	for _, v := range s {
		total += v
	}
	if total < enough {
		return 0, false
	}
	for i, v := range s {
		if v > 0 && below+v >= q*total {
			return view.Farthest * (float64(i) + (q*total-below)/v) / float64(len(s)), true
		}
		below += v
	}
	return view.Farthest, true
}

// with returns the density decayed by one episode, plus the scores of its unlabelled items.
func (s scoreDensity) with(items []Item, scores []float64) scoreDensity {
	for i := range s {
		s[i] *= episodeKept
	}
	for i := range items {
		if items[i].Label == "" {
			s[min(len(s)-1, int(scores[i]/view.Farthest*float64(len(s))))]++
		}
	}
	return s
}

// The limit of the unknown.
const (
	bulk          = .4  // quantile: most items below are of known classes, whatever else comes
	leftOutSpread = .6  // of the spread of labelled items' scores: others are smoothed over the graph
	bulkExcess    = 1.2 // of the unknown rate: unknown items, where there are any, are above the limit
)

// unknownLimit returns the score above which an item is called unknown. The bulk of the stream's own scores
// shows how far its items are from labelled ones, and labelled items that are left out show how far known
// items spread above it. Left-out items count less if they are nearer to each other than the bulk is to them,
// as copies of one picture are. Then, and where too few can be left out, the quantile of the stream's own
// scores that follows from Settings.UnknownRate counts instead. With too few scores nothing is unknown.
// Items that people labelled are of the stream and of known classes: the more of them were answered before
// their label came, the more the limit is the score that the allowed share of them exceeds.
func (s *Stream) unknownLimit(scores *scoreDensity) view.Limit {
	rate := s.settings.UnknownRate
	limit, known := scores.quantile(1 - min(1-bulk, bulkExcess*rate))
	left := s.novelty.leftOut
	if !known {
		return view.Limit{At: math.Inf(1), Taught: s.calibration.fitted()}
	}
	low, _ := scores.quantile(bulk)
	if left != nil {
		middle := vector.Quantile(left, .5)
		weight := min(1, middle/low)
		spread := leftOutSpread * (vector.Quantile(left, max(.5, 1-rate)) - middle)
		limit = max(low, middle) + weight*spread + (1-weight)*(limit-low)
	}
	if heldOut := s.calibration.scores(); len(heldOut) > 0 {
		n := float64(len(heldOut))
		limit += n / (n + enough) * (float64(vector.Quantile(heldOut, 1-rate)) - limit)
	}
	return view.Limit{At: limit, Low: low, Taught: s.calibration.fitted()}
}

// leftOutMost bounds the labelled items that are left out; they are chosen evenly.
const leftOutMost = 128

// learn leaves out labelled items that have another one of their class, each by itself, whenever the metric
// is refreshed, and scores them against all others. Items of class Nobody are not used.
func (v *novelty) learn(s *Stream, of *lesson) {
	if !s.turn.Refreshes(of.number) {
		return
	}
	d, k := s.dimension, of.rows.K
	z, classes, nobody, count := of.z, of.classes, of.nobody, make([]int, k)
	for _, c := range classes {
		count[c]++
	}
	var chosen []int
	for i, c := range classes {
		if count[c] > 1 && c != nobody {
			chosen = append(chosen, i)
		}
	}
	if v.leftOut = nil; len(chosen) < enough {
		return
	}
	spaces := [][]float32{z}
	if m := s.metric.current; m != nil {
		about := new(metric.Map)
		m.About(of.rows.Mean, about)
		of.u = append(of.u[:0], z...)
		about.Apply(of.u, nil)
		spaces = append(spaces, of.u)
	}
	chosen = evenly(chosen, leftOutMost)
	v.leftOut = make([]float64, len(chosen))
	for _, rows := range spaces {
		for i, product := range of.nearestOther(rows, chosen, d) {
			v.leftOut[i] += view.Distance(product) / float64(len(spaces))
		}
	}
	slices.Sort(v.leftOut)
}

// nearestOther returns the largest product of each chosen one of the labelled rows with another one that is not of class
// nobody.
func (of *lesson) nearestOther(rows []float32, chosen []int, d int) []float32 {
	const some = 256 // rows at once, so that the products stay in the cache
	classes, best := of.classes, make([]float32, len(chosen))
	of.chosen = of.chosen[:0]
	for i, at := range chosen {
		of.chosen, best[i] = append(of.chosen, rows[at*d:at*d+d]...), -1
	}
	products := make([]float32, len(chosen)*min(some, len(classes)))
	for from := 0; from < len(classes); from += some {
		part := classes[from:min(from+some, len(classes))]
		kernel.Products(products, of.chosen, rows[from*d:], len(chosen), len(part), d)
		for i, at := range chosen {
			for j, product := range products[i*len(part) : (i+1)*len(part)] {
				if product > best[i] && from+j != at && part[j] != of.nobody {
					best[i] = product
				}
			}
		}
	}
	return best
}
