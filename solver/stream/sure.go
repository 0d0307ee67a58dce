package stream

import (
	"math"
	"slices"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// sureDoubt bounds the probability that a limit lets more wrong answers through than asked: one
// stream in ten.
const sureDoubt = .1

// sureLimits are the confidences from which answers count as sure: of each class that
// has enough held-out answers of its own, and pooled over all for the others. nil: not asked for.
type sureLimits struct {
	of     map[string]float64
	pooled float64
	curve  []SurePoint
}

// SurePoint is a part of the held-out answers, the surest ones: how large it is, and how much of it is wrong,
// both as fractions.
type SurePoint struct{ Share, Wrong float64 }

const surePoints = 50 // of a curve

// sureCurve returns the parts of the held-out answers from the surest alone to all. answers are the surest
// first.
func sureCurve(answers []heldOut, labels *taught.ForStream) []SurePoint {
	out := make([]SurePoint, 0, min(len(answers), surePoints))
	wrong := 0
	for i := range answers {
		if !labels.Alike(answers[i].predicted, answers[i].label) {
			wrong++
		}
		if n := i + 1; n*surePoints/len(answers) > i*surePoints/len(answers) {
			out = append(out, SurePoint{float64(n) / float64(len(answers)), float64(wrong) / float64(n)})
		}
	}
	return out
}

// sureLimits returns the limits at which no more than a share of the sure answers are wrong, according to
// the held-out answers.
func (c *calibration) sureLimits(labels *taught.ForStream, share float64) *sureLimits {
	if share == 0 {
		return nil
	}
	answers := slices.Clone(c.answers)
	slices.SortStableFunc(answers, func(a, b heldOut) int {
		switch {
		case a.z > b.z:
			return -1
		case a.z < b.z:
			return 1
		}
		return 0
	})
	enough := EnoughLabels(share)
	count := map[string]int{}
	for i := range answers {
		count[labels.Called(answers[i].predicted)]++
	}
	out := &sureLimits{
		of: map[string]float64{}, pooled: sureFrom(answers, labels, share, enough),
		curve: sureCurve(answers, labels),
	}
	for class, n := range count {
		if n >= enough {
			own := slices.DeleteFunc(slices.Clone(answers), func(a heldOut) bool {
				return labels.Called(a.predicted) != class
			})
			out.of[class] = sureFrom(own, labels, share, enough)
		}
	}
	return out
}

// EnoughLabels returns how many held-out answers, all of them right, it takes before an answer can be sure if
// at most this share may be wrong.
func EnoughLabels(share float64) int { return int(math.Ceil(math.Log(sureDoubt) / math.Log1p(-share))) }

// sureFrom returns the lowest confidence down to which so few wrong answers among those above it would be
// unlikely if more than the share were wrong; infinite if there is none. answers are the surest first. Each
// longer part of them is tested only after the shorter ones have passed, so that the doubt does not add up.
// Each is longer by a tenth, and ends where the next answer is less sure.
func sureFrom(answers []heldOut, labels *taught.ForStream, share float64, enough int) float64 {
	from, wrong, next := math.Inf(1), 0, enough
	for i := range answers {
		a := &answers[i]
		if !labels.Alike(a.predicted, a.label) {
			wrong++
		}
		n := i + 1
		if n < next || n < len(answers) && answers[n].z == a.z {
			continue
		}
		if likely(n, wrong, share) > sureDoubt {
			if n > 2*enough { // a wrong answer among the first ones does not end the search
				return from
			}
			next = n + 1
			continue
		}
		from, next = float64(a.z), n+max(1, n/10)
	}
	return from
}

// likely returns the probability that no more than wrong of n are wrong where each is with this probability.
func likely(n, wrong int, probability float64) (sum float64) {
	term := math.Pow(1-probability, float64(n))
	for k := 0; k <= wrong; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1) * probability / (1 - probability)
	}
	return sum
}

// judge sets whether an answer is sure, and from which confidence on it would be. An unknown one is not.
func (l *sureLimits) judge(a *Answer) {
	limit := l.limit(a.Label)
	a.Sure = a.Confidence >= limit && !a.Unknown
	if !math.IsInf(limit, 1) {
		a.SureFrom = limit
	}
}

// limit returns the confidence from which answers of a class are sure.
func (l *sureLimits) limit(class string) float64 {
	if own, ok := l.of[class]; ok {
		return own
	}
	return l.pooled
}
