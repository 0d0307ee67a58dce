// Package logistic fits weights to what was right.
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
