package memory

import (
	"math"
	"slices"

	"slkstream/solver"
)

// enoughDistances is how many left-out items the unknown limit must rest on; fewer are joined by the distances among the
// labelled items.
const enoughDistances = 20

// unknownLimit is the score above which an item is called unknown: the distance that all but the chosen share of known items
// stay below. Left-out items are the best witnesses, as they were scored as any item is. Until there are enough of them,
// labelled items say how far the next of their class is; and with one item a class, nothing but the distances between
// classes can be gone by.
func (s *Stream) unknownLimit(r *solver.Result) (limit float64, known bool) {
	var distances []float64
	for i := range s.verdicts {
		distances = append(distances, float64(s.verdicts[i].distance))
	}
	rate := 1 - s.settings.UnknownRate
	if len(distances) < enoughDistances {
		for _, v := range r.LabelledSame {
			if !math.IsInf(float64(v), 1) {
				distances = append(distances, float64(v))
			}
		}
	}
	if len(distances) == 0 {
		for _, v := range r.LabelledOther {
			if !math.IsInf(float64(v), 1) {
				distances = append(distances, float64(v))
			}
		}
		rate = s.settings.UnknownRate
	}
	if len(distances) == 0 {
		return 0, false
	}
	slices.Sort(distances)
	return quantile(distances, rate), true
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
