package logistic

import "math"

// Choices are cases in which one of several alternatives was right. What describes an alternative are as many values
// as there are weights. The sum of these, each times its weight, is its score, to which an offset is added; it is
// right with a probability of the softmax of the scores of its case.
type Choices struct {
	Weights int
	Values  []float32 // of each alternative, one case after the other
	Offsets []float32
	Right   []int // of each case, the number of the right alternative among all
	Ends    []int // of each case, how many alternatives there are up to its last
}

// Case is one case alone, which shares the values.
func (c *Choices) Case(i int) *Choices {
	from, to := 0, c.Ends[i]
	if i > 0 {
		from = c.Ends[i-1]
	}
	return &Choices{
		Weights: c.Weights, Values: c.Values[from*c.Weights : to*c.Weights], Offsets: c.Offsets[from:to],
		Right: []int{c.Right[i] - from}, Ends: []int{to - from},
	}
}

// Quadratic is the function x'Ax/2 - b'x of the weights x.
type Quadratic struct {
	A []float64 // n x n, symmetric
	B []float64
}

// Normal is minus the logarithm of a normal density of the weights, independent of each other, up to a constant.
func Normal(mean, deviation []float64) Quadratic {
	n := len(mean)
	q := Quadratic{make([]float64, n*n), make([]float64, n)}
	for i, v := range deviation {
		q.A[i*n+i], q.B[i] = 1/(v*v), mean[i]/(v*v)
	}
	return q
}

// Plus returns the function plus another one times a factor.
func (q Quadratic) Plus(other Quadratic, by float64) Quadratic {
	sum := Quadratic{append([]float64(nil), q.A...), append([]float64(nil), q.B...)}
	for i, v := range other.A {
		sum.A[i] += by * v
	}
	for i, v := range other.B {
		sum.B[i] += by * v
	}
	return sum
}

// at returns the function's value, and adds its gradient.
func (q Quadratic) at(x, gradient []float64) (value float64) {
	for i := range x {
		row := 0.
		for j, v := range x {
			row += q.A[i*len(x)+j] * v
		}
		value += (row/2 - q.B[i]) * x[i]
		gradient[i] += row - q.B[i]
	}
	return value
}

// Along returns the same cases described by one value an alternative, its score without the offset: the weight of that is
// a factor of all weights.
func (c *Choices) Along(x []float64) *Choices {
	out := &Choices{Weights: 1, Offsets: c.Offsets, Right: c.Right, Ends: c.Ends, Values: make([]float32, len(c.Offsets))}
	for at := range out.Values {
		for j, w := range x {
			out.Values[at] += float32(w) * c.Values[at*c.Weights+j]
		}
	}
	return out
}

// Loss returns minus the logarithm of the likelihood of what was right, and adds its gradient and its second
// derivatives.
func (c *Choices) Loss(x, gradient, second []float64) (loss float64) {
	n, from := c.Weights, 0
	mean, p := make([]float64, n), []float64(nil)
	for i, end := range c.Ends {
		p = p[:0]
		most := math.Inf(-1)
		for at := from; at < end; at++ {
			score := float64(c.Offsets[at])
			for j, w := range x {
				score += w * float64(c.Values[at*n+j])
			}
			p, most = append(p, score), max(most, score)
		}
		right, sum := c.Right[i], 0.
		loss += most - p[right-from]
		for a := range p {
			p[a] = math.Exp(p[a] - most)
			sum += p[a]
		}
		loss += math.Log(sum)
		clear(mean)
		for a := range p {
			p[a] /= sum
			for j := range mean {
				mean[j] += p[a] * float64(c.Values[(from+a)*n+j])
			}
		}
		for j := range mean {
			gradient[j] += mean[j] - float64(c.Values[right*n+j])
		}
		for a, v := range p {
			values := c.Values[(from+a)*n : (from+a+1)*n]
			for j := range mean {
				for k := range mean {
					second[j*n+k] += v * (float64(values[j]) - mean[j]) * (float64(values[k]) - mean[k])
				}
			}
		}
		from = end
	}
	return loss
}

// Fit returns the weights for which the loss of the choices plus about is least, by Newton steps from start on, each
// halved until it does not lead too far. about must have a least.
func (c *Choices) Fit(start []float64, about Quadratic) []float64 {
	total := func(x []float64) (value float64, gradient, second []float64) {
		gradient, second = make([]float64, c.Weights), append([]float64(nil), about.A...)
		value = about.at(x, gradient)
		return value + c.Loss(x, gradient, second), gradient, second
	}
	x := append([]float64(nil), start...)
	value, gradient, second := total(x)
	for by := 1.; by > 1e-3; {
		step, far := solution(second, gradient), 0.
		next := append([]float64(nil), x...)
		for i, v := range step {
			next[i] -= by * v
			far += math.Abs(v)
		}
		less, slope, curve := total(next)
		if !(less <= value) {
			by /= 2
			continue
		}
		if x, value, gradient, second = next, less, slope, curve; far < 1e-6 {
			break
		}
		by = 1
	}
	return x
}

// About is the quadratic function that is like the loss of the choices near x.
func (c *Choices) About(x []float64) Quadratic {
	n := c.Weights
	q, gradient := Quadratic{make([]float64, n*n), make([]float64, n)}, make([]float64, n)
	c.Loss(x, gradient, q.A)
	for i := range x {
		q.B[i] = -gradient[i]
		for j, v := range x {
			q.B[i] += q.A[i*n+j] * v
		}
	}
	return q
}

// solution returns the solution x of A x = y for a symmetric positive definite A.
func solution(a, y []float64) []float64 {
	n := len(y)
	a, x := append([]float64(nil), a...), append([]float64(nil), y...)
	for i := range n {
		for j := i + 1; j < n; j++ {
			by := a[j*n+i] / a[i*n+i]
			for k := i; k < n; k++ {
				a[j*n+k] -= by * a[i*n+k]
			}
			x[j] -= by * x[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= a[i*n+k] * x[k]
		}
		x[i] /= a[i*n+i]
	}
	return x
}
