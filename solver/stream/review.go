package stream

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// review is the credit for asking a user for labels: the part of the bounded rate that an episode does not
// spend goes to the next one, up to one episode's worth.
type review struct {
	credit float64 // items that may still be asked for
}

// answer asks about a long episode in parts: what is near in each is a table of all its pairs.
func (v *review) answer(e *episode) {
	if e.cold || e.stream.settings.ReviewRate <= 0 {
		return
	}
	n := len(e.items)
	parts := (n + reviewMost - 1) / reviewMost
	for i := range parts {
		v.ask(e, i*n/parts, (i+1)*n/parts)
	}
}

func (v *review) fields(f *piece.Fields) {
	if f.Kind == "head" {
		piece.Number(f, piece.Credit, &v.credit)
	}
}

const (
	reviewReach = 2    // the rate at which the effect of a label falls off with the squared distance
	reviewMost  = 2048 // items that are compared with one another
)

// ask marks, of the items from one to before another, those whose label would teach most, as far as the credit goes. A
// label teaches about similar items, so an item's worth is the doubt of all items near it, itself included. What a
// chosen item covers does not count for the next, so that no two ask the same question.
//
// An item is in doubt as far as the answer and the prototypes of the labelled items alone do not agree on it,
// and as far as nothing labelled is near it. A label comes with the next episode at the earliest and helps
// with items that are still there: doubt counts by the cube of the item's position in the episode. Calibrated
// confidence is not used, as it is fitted on what was chosen here.
//
// Where sure answers are asked for, the labels are those that make most of them: answers that are not sure
// count in place of doubt, by their confidence. A label that agrees with one lowers the limit of its class.
func (v *review) ask(e *episode, from, to int) {
	items, answers, r, w := e.items[from:to], e.answers[from:to], e.result, e.engine
	n, sure := len(items), e.stream.settings.MaxWrong > 0
	worth := float64(n) * e.stream.settings.ReviewRate
	if v.credit = min(v.credit+worth, 2*max(worth, 1)); v.credit < 1 {
		return
	}
	w.near, w.doubt = vector.Resize(w.near, n*n), vector.Zeroed(w.doubt, n)
	near, doubt := w.near, w.doubt
	e.space.Between(near, from, to)
	kernel.Scale(-reviewReach, near)
	kernel.Exp(near, near)
	for i := range items {
		if items[i].Label == "" {
			position := float32(from+i+1) / float32(len(e.items))
			doubt[i] = position * position * position
			switch confidence := r.Confidence[from+i]; {
			case sure && answers[i].Sure:
				doubt[i] = 0
			case sure:
				doubt[i] *= confidence
			default:
				doubt[i] *= (1 - confidence*r.Agreement[from+i]) * float32(answers[i].UnknownScore)
			}
		}
	}
	for v.credit >= 1 {
		best, gain := -1, float32(0)
		for i := range items {
			if items[i].Label != "" || answers[i].Review {
				continue
			}
			if sum := kernel.Dot(near[i*n:i*n+n], doubt); sum > gain {
				best, gain = i, sum
			}
		}
		if best < 0 {
			return
		}
		answers[best].Review = true
		v.credit--
		for j, covered := range near[best*n : best*n+n] {
			doubt[j] *= 1 - covered
		}
	}
}
