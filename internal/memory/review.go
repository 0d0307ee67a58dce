package memory

import (
	"slkstream/solver"
)

// review marks the items whose label would teach most, at the bounded rate: what an episode does not spend the next may, up
// to one episode's worth.
func (s *Stream) review(r *solver.Result, items []Item, answers []Answer) {
	if s.settings.ReviewRate == 0 {
		return
	}
	worth := float64(len(items)) * s.settings.ReviewRate
	s.credit = min(s.credit+worth, 2*max(worth, 1))
	taken := make([]float32, len(items)) // how far an item is spoken for by one already chosen
	for s.credit >= 1 {
		best, gain := -1, 0.
		for i := range items {
			if items[i].Label != "" || answers[i].Review {
				continue
			}
			g := (1 - float64(r.Confidence[i])) * float64(r.Unknown[i]) * (1 - float64(taken[i]))
			if g > gain {
				best, gain = i, g
			}
		}
		if best < 0 {
			return
		}
		answers[best].Review = true
		s.credit--
		taken[best] = 1
		columns, weights := r.Affinity.Row(best)
		for j, q := range columns {
			if int(q) < len(items) {
				taken[q] = max(taken[q], min(1, weights[j]))
			}
		}
	}
}
