package view

import "math"

// Farthest is the largest distance that two unit rows can have.
const Farthest = 2

// Distance is that of two unit rows with this product.
func Distance(product float32) float64 { return math.Sqrt(max(0, float64(2-2*product))) }

// Limit is the limit of the unknown, and what bounds the confidence.
type Limit struct {
	At  float64 // a score above it is unknown; +Inf: too few scores are known, and no item is unknown
	Low float64 // a score up to it leaves the confidence: the bulk quantile of the scores; 0 without a limit

	Taught bool // the confidence rests on labels that came later
}

// Confidence returns the confidence of an item that the solve answers with confidence z. The score bounds it: the
// solve ignores classes that it does not know. Until labels that came later show how often known items are answered
// right, only those with a score up to Low may have a confidence above .9, and without a limit, when any item may be a
// stranger, one above .75: there a score of 0 is that of a copy of an example whose neighbours are copies too.
func (l Limit) Confidence(z float32, score float64) float32 {
	switch {
	case score <= l.Low || l.Taught && score <= l.At:
		return z
	case math.IsInf(l.At, 1):
		return min(z, .75)
	case score <= l.At:
		return min(z, .9)
	}
	return min(z, float32(.75-.15*min(1, (score-l.At)/max(l.At-l.Low, 1e-9))))
}
