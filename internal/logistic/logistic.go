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

// ridge is the weight of slope 1 and offset 0, so that a few answers change them little.
const ridge = 1

// Fit fits the probability of being right, Sigmoid(slope x + offset), to n answers by Newton steps on their
// likelihood, each halved until it does not make them less likely. at(i) returns the x of answer i, and
// whether it was right. The slope is never negative.
func Fit(n int, at func(i int) (x float64, right bool)) (slope, offset float64) {
	const steps = 50
	slope = 1
	best, bestSlope, bestOffset := math.Inf(1), slope, offset
	for range steps {
		cost := ridge / 2. * ((slope-1)*(slope-1) + offset*offset)
		g0, g1 := ridge*(slope-1), ridge*offset
		h00, h01, h11 := float64(ridge), 0., float64(ridge)
		for i := range n {
			x, right := at(i)
			m := slope*x + offset
			q := Sigmoid(m)
			y := 0.
			if right {
				y = 1
			}
			cost += max(m, 0) - y*m + math.Log1p(math.Exp(-math.Abs(m)))
			w := q * (1 - q)
			g0 += (q - y) * x
			g1 += q - y
			h00 += w * x * x
			h01 += w * x
			h11 += w
		}
		if cost > best+1e-12*math.Abs(best) {
			slope, offset = (slope+bestSlope)/2, (offset+bestOffset)/2
			continue
		}
		best, bestSlope, bestOffset = cost, slope, offset
		det := h00*h11 - h01*h01
		d0, d1 := (h11*g0-h01*g1)/det, (h00*g1-h01*g0)/det
		if slope < d0 { // the best on the edge, slope 0
			d0, d1 = slope, (g1-h01*slope)/h11
		}
		slope -= d0
		offset -= d1
		if math.Abs(d0)+math.Abs(d1) < 1e-9 {
			break
		}
	}
	return bestSlope, bestOffset
}
