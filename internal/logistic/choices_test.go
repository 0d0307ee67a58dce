package logistic

import (
	"math"
	"math/rand/v2"
	"testing"
)

func drawn(random *rand.Rand, cases, weights int) *Choices {
	c := &Choices{Weights: weights}
	for range cases {
		from, n := len(c.Offsets), 2+random.IntN(5)
		c.Right = append(c.Right, from+random.IntN(n))
		c.Ends = append(c.Ends, from+n)
		for range n {
			c.Offsets = append(c.Offsets, float32(random.NormFloat64()))
			for range weights {
				c.Values = append(c.Values, float32(3*random.NormFloat64()))
			}
		}
	}
	return c
}

// The fitted weights have the least loss with the prior; nothing around them has less.
func TestChoicesAreFittedBest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for run := range 60 {
		n := 1 + random.IntN(4)
		c, mean, deviation, start := drawn(random, random.IntN(60), n), []float64{}, []float64{}, []float64{}
		for range n {
			mean, deviation = append(mean, random.NormFloat64()), append(deviation, .1+2*random.Float64())
			start = append(start, 10*random.NormFloat64())
		}
		prior := Normal(mean, deviation)
		total := func(x []float64) float64 {
			return c.Loss(x, make([]float64, n), make([]float64, n*n)) + prior.at(x, make([]float64, n))
		}
		x := c.Fit(start, prior)
		least := total(x)
		for i := range x {
			for _, by := range []float64{-.01, .01} {
				x[i] += by
				if v := total(x); !(v >= least-1e-9) {
					t.Fatalf("run %d: %g, but %g at %g from it along %d", run, least, v, by, i)
				}
				x[i] -= by
			}
		}
	}
}

// The losses of the cases, and their slopes and curvatures, are the loss of all.
func TestCasesAddUp(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for range 40 {
		c, x := drawn(random, 1+random.IntN(20), 2), []float64{random.NormFloat64(), random.NormFloat64()}
		all, gradient, second := 0., make([]float64, 2), make([]float64, 4)
		for i := range c.Ends {
			all += c.Case(i).Loss(x, gradient, second)
		}
		wanted := []float64{c.Loss(x, make([]float64, 2), make([]float64, 4))}
		q := c.About(x)
		for i, v := range append(wanted, q.A...) {
			if got := append([]float64{all}, second...)[i]; math.Abs(got-v) > 1e-9*(1+math.Abs(v)) {
				t.Fatalf("%d: %g, not %g", i, got, v)
			}
		}
	}
}

// About has the loss's slope and curvature where it is taken: with it in place of the cases, the fit is the same.
func TestAboutStandsForTheCases(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 40 {
		c, prior := drawn(random, 30, 3), Normal([]float64{1, 0, 1}, []float64{.5, 4, .5})
		x := c.Fit([]float64{1, 0, 1}, prior)
		again := (&Choices{Weights: 3}).Fit([]float64{1, 0, 1}, c.About(x).Plus(prior, 1))
		for i, v := range x {
			if math.Abs(v-again[i]) > 1e-5 {
				t.Fatalf("%v, from its quadratic form %v", x, again)
			}
		}
	}
}

// A factor of all weights is as likely as the weights times it.
func TestAlong(t *testing.T) {
	c, x := drawn(rand.New(rand.NewPCG(3, 4)), 50, 3), []float64{.5, 2, -1}
	along := c.Along(x)
	for _, by := range []float64{0, .3, 2} {
		times := []float64{by * x[0], by * x[1], by * x[2]}
		want := c.Loss(times, make([]float64, 3), make([]float64, 9))
		if got := along.Loss([]float64{by}, make([]float64, 1), make([]float64, 1)); math.Abs(got-want) > 1e-4*want {
			t.Errorf("times %g: %g, not %g", by, got, want)
		}
	}
}
