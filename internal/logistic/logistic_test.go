package logistic

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestLogitIsTheOtherWayRound(t *testing.T) {
	for _, z := range []float64{.01, .3, .5, .99} {
		if got := Sigmoid(Logit(z)); math.Abs(got-z) > 1e-12 {
			t.Errorf("%g becomes %g", z, got)
		}
	}
	if Logit(0) != Logit(edge) || Logit(1) != Logit(1-edge) {
		t.Error("the edges are not kept")
	}
}

// TestFit: answers drawn with a slope and an offset give these back; few answers stay near slope 1; a slope
// is never negative.
func TestFit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const n = 20000
	x, right := make([]float64, n), make([]bool, n)
	for i := range x {
		x[i] = random.NormFloat64() * 2
		right[i] = random.Float64() < Sigmoid(.6*x[i]-.4)
	}
	at := func(i int) (float64, bool) { return x[i], right[i] }
	slope, offset := Fit(n, at)
	if math.Abs(slope-.6) > .05 || math.Abs(offset+.4) > .05 {
		t.Errorf("slope %g, offset %g, drawn by .6 and -.4", slope, offset)
	}
	if slope, offset = Fit(0, at); slope != 1 || offset != 0 {
		t.Errorf("of nothing: %g, %g", slope, offset)
	}
	against := func(i int) (float64, bool) { return x[i], x[i] < 0 }
	if slope, _ = Fit(n, against); slope != 0 {
		t.Errorf("slope %g where a higher x is always wrong", slope)
	}
}

// Whatever the answers, the fit makes as many of them right as are, and no other slope or offset nearby makes
// them more likely.
func TestFitIsTheBest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for run := range 300 {
		n := 20 + random.IntN(1000)
		share, middle, spread := random.Float64(), 12*random.Float64()-6, 3*random.Float64()
		x, right := make([]float64, n), make([]bool, n)
		of := 0.
		for i := range x {
			x[i] = min(max(middle+spread*random.NormFloat64(), Logit(0)), Logit(1))
			if right[i] = random.Float64() < share; right[i] {
				of++
			}
		}
		at := func(i int) (float64, bool) { return x[i], right[i] }
		cost := func(slope, offset float64) float64 {
			sum := .5 * ((slope-1)*(slope-1) + offset*offset)
			for i, v := range x {
				p := Sigmoid(slope*v + offset)
				if !right[i] {
					p = 1 - p
				}
				sum -= math.Log(p)
			}
			return sum
		}
		slope, offset := Fit(n, at)
		own, mean := cost(slope, offset), 0.
		for _, v := range x {
			mean += Sigmoid(slope*v+offset) / float64(n)
		}
		if math.Abs(mean-of/float64(n)) > .01+8/float64(n) {
			t.Errorf("run %d: %.3f are right, said %.3f", run, of/float64(n), mean)
		}
		for _, by := range []float64{-.01, .01} {
			if slope+by >= 0 && cost(slope+by, offset) < own || cost(slope, offset+by) < own {
				t.Errorf("run %d: slope %g, offset %g are not the best", run, slope, offset)
			}
		}
	}
}
