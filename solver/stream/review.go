package stream

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// review marks the items whose label would teach most, at the bounded rate: what an episode does not spend the next may, up
// to one episode's worth. An item teaches about what is like it, so it is worth the doubt of all items near it, itself
// included; what one chosen item covers is not counted for the next, so that no two ask the same question.
//
// An item is in doubt as far as the answer and the prototypes of the labelled items alone do not agree on it, and as far as
// nothing labelled is near it. A label comes with the next episode at the earliest and helps with what is still there then:
// an item counts by the cube of its place in the episode. Calibration has no say, as it is fitted on what was chosen here.
func (s *Stream) review(r *solver.Result, items []Item, answers []Answer) {
	if s.settings.ReviewRate == 0 {
		return
	}
	n, d := len(items), s.dimension
	worth := float64(n) * s.settings.ReviewRate
	if s.credit = min(s.credit+worth, 2*max(worth, 1)); s.credit < 1 {
		return
	}
	near := make([]float32, n*n)
	kernel.Products(near, r.Z, r.Z, n, n, d)
	doubt := make([]float64, n)
	for i := range near {
		near[i] = float32(math.Exp(-reviewReach * (2 - 2*float64(near[i]))))
	}
	for i := range items {
		if items[i].Label == "" {
			place := float64(i+1) / float64(n)
			agreed := float64(r.Confidence[i]) * float64(r.Agreement[i])
			doubt[i] = (1 - agreed) * answers[i].UnknownScore * place * place * place
		}
	}
	for s.credit >= 1 {
		best, gain := -1, 0.
		for i := range items {
			if items[i].Label != "" || answers[i].Review {
				continue
			}
			var sum float64
			for j, v := range near[i*n : i*n+n] {
				sum += float64(v) * doubt[j]
			}
			if sum > gain {
				best, gain = i, sum
			}
		}
		if best < 0 {
			return
		}
		answers[best].Review = true
		s.credit--
		for j, v := range near[best*n : best*n+n] {
			doubt[j] *= 1 - float64(v)
		}
	}
}

// reviewReach says how fast what a label teaches falls off with the squared distance.
const reviewReach = 2
