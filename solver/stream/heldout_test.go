package stream

import (
	"math/rand/v2"
	"testing"
)

// Examples that were held out set the weights of a solve, not the confidence; copies of one moment change nothing, and
// the state keeps what they said.
func TestHeldOutExamplesWeigh(t *testing.T) {
	set, random := settings(t), rand.New(rand.NewPCG(5, 5))
	said, none := said(random, 60, 6, .6, 0), newWeights()
	w := newWeights()
	w.holdOut(said, 1)
	if got := w.forSolve(); got.Prototypes > .6 || got.Nearest < 3 || w.ofConfidence[1] != none.ofConfidence[1] {
		t.Errorf("where only the nearest says something: %v, confidence %v", got, w.ofConfidence)
	}
	copies := newWeights()
	copies.holdOut(said, 0)
	if got := copies.forSolve(); got != none.forSolve() {
		t.Errorf("copies of one moment: %v", got)
	}

	f := newCamera(4, 4, 24, .6)
	for _, shots := range []int{leastLeft, leastLeft + 1} {
		s, labels := New("cam", set), f.labels(shots)
		for range 2 {
			items, _ := f.episode(40, .3)
			for i := range items {
				items[i].Label = ""
			}
			answer(t, s, new(Engine), items, labels)
		}
		if held := s.weights.examples.A[0] > 0; held != (shots > leastLeft) {
			t.Errorf("%d examples a class: held out %t", shots, held)
		}
		again, err := Restore(set, s.State())
		if err != nil {
			t.Fatal(err)
		}
		if again.weights.forSolve() != s.weights.forSolve() || again.weights.heldOutOf != s.weights.heldOutOf ||
			again.weights.examples.B[1] != s.weights.examples.B[1] {
			t.Errorf("%d examples a class: restored %+v, not %+v", shots, again.weights, s.weights)
		}
	}
}
