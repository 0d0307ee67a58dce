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
