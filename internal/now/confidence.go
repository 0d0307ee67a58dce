package now

import (
	"github.com/slkstream/slkstream/internal/logistic"
	"github.com/slkstream/slkstream/solver/stream"
)

// settledPairs pair the confidence of a first answer before calibration with the one that the episode then
// gave the same label. They make a first answer about as sure as its episode will be, until enough labels
// show how often first answers are right.
type settledPairs struct {
	pairs [pairsKept][2]float64 // logits
	count int                   // of all pairs so far; new ones replace the oldest
}

const (
	pairsKept = 256
	unmoved   = 20 // so many pairs count as those that leave confidences as they are
)

// settledFit is sigmoid(a logit z + b).
type settledFit struct{ a, b float64 }

func (f settledFit) confidence(z float64) float64 {
	return logistic.Sigmoid(f.a*logistic.Logit(z) + f.b)
}

func (p *settledPairs) add(first float32, settled float64) {
	p.pairs[p.count%pairsKept] = [2]float64{logistic.Logit(float64(first)), logistic.Logit(settled)}
	p.count++
}

// fit is the line through the pairs, damped by enough others that would leave confidences as they are.
func (p *settledPairs) fit() settledFit {
	n := min(p.count, pairsKept)
	total, sx, sy := float64(n), 0., 0.
	for _, v := range p.pairs[:n] {
		sx += v[0]
		sy += v[1] - v[0]
	}
	x, y := sx/max(total, 1), sy/(total+unmoved)
	var xx, xy float64
	for _, v := range p.pairs[:n] {
		xx += (v[0] - x) * (v[0] - x)
		xy += (v[0] - x) * (v[1] - v[0] - y)
	}
	slope := xy / (xx + unmoved)
	return settledFit{a: 1 + slope, b: y - slope*x}
}

// confidenceOf is how sure the answer is of a label.
func confidenceOf(a *stream.Answer, label string) float64 {
	if a.Label == label {
		return a.Confidence
	}
	for _, other := range a.Alternatives {
		if other.Label == label {
			return other.Confidence
		}
	}
	return 0
}
