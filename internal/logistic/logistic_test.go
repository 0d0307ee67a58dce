package logistic

import (
	"math"
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
