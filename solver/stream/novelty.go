package stream

import (
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver"
)

// Nobody is the class of what is no one thing: false detections, people in passing. An item like one of them is not for
// that reason of a known class.
const Nobody = "nobody"

// enoughScores is how many unknown scores a limit must rest on.
const enoughScores = 20

// novelty is what unknown scores the stream's own items have.
type novelty struct {
	scores scoreDensity
}

func (v *novelty) observe(e *answered) {
	if e.scores != nil {
		v.scores = *e.scores
	}
}

func (v *novelty) reset(string) bool { return false }

func (v *novelty) encode(e *encoder) { e.head.doubles(fieldSpread, v.scores[:]) }

func (v *novelty) decode(f *field) {
	if f.is("head", fieldSpread) {
		copy(v.scores[:], f.doubles(len(v.scores)))
	}
}

// unknownScores is the unknown score of each row of a solved problem: its distance to the nearest labelled
// item, smoothed over the graph, (W h + h)/(deg + 1). The distance is the mean of those with and without
// the metric: the metric, learned on the classes that are labelled, sharpens what is like them and may
// blind to what is not. Without it items of class nobody (-1: there is none) do not count, unless it is the only class.
func unknownScores(p *solver.Problem, r *solver.Result, nobody int32) []float64 {
	var counted []int32
	for i := range p.N + len(p.AnchorLabels) {
		c := int32(-1)
		if i < p.N {
			c = p.Labels[i]
		} else {
			c = p.AnchorLabels[i-p.N]
		}
		if c >= 0 && (c != nobody || p.K == 1) {
			counted = append(counted, int32(i))
		}
	}
	distances := make([]float32, p.N)
	r.Distances(distances, counted)
	h := make([]float64, p.N)
	for i := range h {
		if p.Labels[i] >= 0 {
			continue
		}
		h[i] = float64(distances[i])
		if p.Embedding != nil && p.Embedding.Metric != nil {
			h[i] = (h[i] + float64(r.Distance[i])) / 2
		}
	}
	out := make([]float64, p.N)
	for i := range out {
		if p.Labels[i] >= 0 {
			continue
		}
		sum, degree := h[i], 1.
		columns, weights := r.Affinity.Row(i)
		for j, q := range columns {
			if int(q) < p.N && p.Labels[q] < 0 && weights[j] > 0 { // what is held apart does not average
				sum += float64(weights[j]) * h[q]
				degree += float64(weights[j])
			}
		}
		out[i] = sum / degree
	}
	return out
}

// scoreDensity is how unknown scores lie, in equal bins from 0 to mostDistance.
type scoreDensity [128]float64

// mostDistance is the largest distance that two unit rows can have.
const mostDistance = 2

// add counts a score.
func (s *scoreDensity) add(score, weight float64) {
	s[min(len(s)-1, int(score/mostDistance*float64(len(s))))] += weight
}

// quantile is the score that a part q of what was counted stays below, to the upper edge of its bin; false
// where too little was counted.
func (s *scoreDensity) quantile(q float64) (score float64, known bool) {
	var total, below float64
	for _, v := range s {
		total += v
	}
	if total < enoughScores {
		return 0, false
	}
	for i, v := range s {
		if below += v; below >= q*total {
			return mostDistance * float64(i+1) / float64(len(s)), true
		}
	}
	return mostDistance, true
}

// scoresKept is what an episode's scores still count for one episode later: the last ten or so say where
// the stream is now.
const scoresKept = .9

// with adds the scores of an episode's unlabelled items. An item counts fully where its answer is sure and
// half where it is not at all: a doubtful item may be of no known class, but most are of a known one that
// was mistaken for another, and without them the limit would be too low.
func (s scoreDensity) with(r *solver.Result, items []Item, scores []float64) *scoreDensity {
	for i := range s {
		s[i] *= scoresKept
	}
	for i := range items {
		if items[i].Label == "" {
			s.add(scores[i], (1+float64(r.Confidence[i]))/2)
		}
	}
	return &s
}

// unknownLimit is the score above which an item is called unknown: what all but the chosen part of known
// items stay below. Left-out items are the best witnesses, as their class is known. Until there are enough
// of them it is the stream's own items: labelled ones cannot say how far the stream lies from them, as
// they may be almost the same picture, or one a class.
func (s *Stream) unknownLimit(scores *scoreDensity) (score float64, known bool) {
	below := 1 - s.settings.UnknownRate
	var distances []float64
	for _, a := range s.calibration.answers {
		if a.label != Nobody {
			distances = append(distances, float64(a.distance))
		}
	}
	if len(distances) < enoughScores {
		return scores.quantile(below)
	}
	slices.Sort(distances)
	return vector.Quantile(distances, below), true
}
