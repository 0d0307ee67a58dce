package memory

import (
	"math"
	"slices"

	"slkstream/internal/kernel"
	"slkstream/solver"
)

// enoughDistances is how many left-out items the unknown limit must rest on; fewer are joined by the distances among the
// labelled items.
const enoughDistances = 20

// probed bounds the labelled items whose distance to the next of their class is taken.
const probed = 256

// novelty is the unknown score of each row of a solved problem: its distance to the nearest labelled item, smoothed over the
// graph, (W h + h)/(deg + 1). The distance is the mean of those with and without the metric: the metric, learned on the
// classes that are labelled, sharpens what is like them and may blind to what is not.
func novelty(p *solver.Problem, r *solver.Result) []float64 {
	d := p.D
	labelled := slices.Clone(r.AnchorZ)
	for i, c := range p.Labels {
		if c >= 0 {
			labelled = append(labelled, r.Z[i*d:i*d+d]...)
		}
	}
	m := len(labelled) / d
	products := make([]float32, p.N*m)
	kernel.Products(products, r.Z, labelled, p.N, m, d)
	h := make([]float64, p.N)
	for i := range h {
		if p.Labels[i] >= 0 {
			continue
		}
		h[i] = unitDistance(slices.Max(products[i*m : i*m+m]))
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
			if int(q) < p.N && p.Labels[q] < 0 {
				sum += float64(weights[j]) * h[q]
				degree += float64(weights[j])
			}
		}
		out[i] = sum / degree
	}
	return out
}

// unitDistance is the distance of two unit rows with a dot product.
func unitDistance(dot float32) float64 { return math.Sqrt(max(0, 2-2*float64(dot))) }

// limit is the score above which an item is called unknown, kept until something it rests on changes.
type limit struct {
	settled bool
	known   bool // there is anything to set it by
	score   float64
}

// setLimit settles the limit where something changed.
func (s *Stream) setLimit(p *problem, r *solver.Result) {
	if !s.limit.settled {
		s.limit.score, s.limit.known = s.unknownLimit(p, r)
		s.limit.settled = true
	}
}

// unknownLimit is the score above which an item is called unknown: the distance that all but the chosen share of known items
// stay below. Left-out items are the best witnesses, as they were scored as any item is. Until there are enough of them,
// labelled items say how far the next of their class is; and with one item a class, nothing but the distances between
// classes can be gone by.
func (s *Stream) unknownLimit(p *problem, r *solver.Result) (score float64, known bool) {
	var distances []float64
	for i := range s.verdicts {
		distances = append(distances, float64(s.verdicts[i].distance))
	}
	rate := 1 - s.settings.UnknownRate
	if len(distances) < enoughDistances {
		same, other := s.labelledDistances(p, r)
		if distances = append(distances, same...); len(distances) == 0 {
			distances, rate = other, s.settings.UnknownRate
		}
	}
	if len(distances) == 0 {
		return 0, false
	}
	slices.Sort(distances)
	return quantile(distances, rate), true
}

// labelledDistances are the distances from labelled items, evenly chosen where there are many, to the next of their own
// class and to the next of another.
func (s *Stream) labelledDistances(p *problem, r *solver.Result) (same, other []float64) {
	d, m := p.D, len(p.classes)
	n := min(m, probed)
	if n == 0 {
		return nil, nil
	}
	chosen := make([]int, n)
	gather := func(z []float32) []float32 {
		out := make([]float32, 0, n*d)
		for i := range chosen {
			chosen[i] = i * m / n
			out = append(out, z[chosen[i]*d:chosen[i]*d+d]...)
		}
		return out
	}
	z := make([]float32, n*m)
	kernel.Products(z, gather(r.AnchorZ), r.AnchorZ, n, m, d)
	var u []float32
	if metric := s.metric.current; metric != nil && s.settings.Warm {
		rows := slices.Clone(r.AnchorZ)
		metric.Apply(rows)
		u = make([]float32, n*m)
		kernel.Products(u, gather(rows), rows, n, m, d)
	}
	for i, at := range chosen {
		nearest := func(products []float32, own bool) float64 {
			best := float32(math.Inf(-1))
			for j, v := range products[i*m : i*m+m] {
				if j != at && (p.classes[j] == p.classes[at]) == own {
					best = max(best, v)
				}
			}
			return unitDistance(best)
		}
		add := func(list []float64, own bool) []float64 {
			h := nearest(z, own)
			if u != nil {
				h = (h + nearest(u, own)) / 2
			}
			if math.IsInf(h, 1) {
				return list
			}
			return append(list, h)
		}
		same, other = add(same, true), add(other, false)
	}
	return same, other
}

// quantile interpolates between the sorted values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}
