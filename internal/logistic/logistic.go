// Package logistic fits the probability that an answer is right to its confidence.
package logistic

import "math"

// Sigmoid is 1/(1+exp(-x)).
func Sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// edge limits confidences to edge and 1-edge: nearer to 0 or 1, one wrong answer would outweigh all others.
const edge = .005

// Logit is log(z/(1-z)) of a confidence within its limits.
func Logit(z float64) float64 {
	z = min(max(z, edge), 1-edge)
	return math.Log(z / (1 - z))
}

// Fit fits the probability of being right, Sigmoid(slope x + offset), to n answers, with a slope of 1 and an offset
// of 0 where they are few. at(i) returns the x of answer i, and whether it was right. The slope is never negative.
func Fit(n int, at func(i int) (x float64, right bool)) (slope, offset float64) {
	both, alone := &Choices{Weights: 2}, &Choices{Weights: 1}
	for i := range n {
		x, right := at(i)
		both.Add(right, float32(x), 1)
		alone.Add(right, 1)
	}
	if fitted := both.Fit([]float64{1, 0}, Normal([]float64{1, 0}, []float64{1, 1})); fitted[0] >= 0 {
		return fitted[0], fitted[1]
	}
	return 0, alone.Fit([]float64{0}, Normal([]float64{0}, []float64{1}))[0]
}
