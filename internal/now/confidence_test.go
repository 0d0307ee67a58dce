package now

import (
	"math"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

// Until labels tell how often they are right, first answers are about as sure as their episodes will be.
func TestFirstAnswersAreAsSureAsTheirEpisodes(t *testing.T) {
	var p settledPairs
	if f := p.fit(); f.a != 1 || f.b != 0 {
		t.Errorf("of no pairs: %+v", f)
	}
	p.add(.2, .9)
	if c := p.fit().confidence(.2); c < .2 || c > .5 {
		t.Errorf("one pair moves .2 to %g", c)
	}
	for i := range 2 * pairsKept { // the later half is of another kind than the first
		first := .1 + .8*float64(i%50)/50
		settled := 1 - first
		if i >= pairsKept {
			settled = (1 + first) / 2
		}
		p.add(float32(first), settled)
	}
	for _, first := range []float64{.2, .5, .8} {
		if c, want := p.fit().confidence(first), (1+first)/2; math.Abs(c-want) > .06 {
			t.Errorf("%g is taken to %g, not about %g", first, c, want)
		}
	}
	p.add(0, 1) // no pair is beyond numbers
	p.add(1, 0)
	if c := p.fit().confidence(.5); math.IsNaN(c) {
		t.Error("not a number")
	}
	a := stream.Answer{Label: "a", Confidence: .6, Alternatives: []stream.Alternative{{Label: "b", Confidence: .3}}}
	if confidenceOf(&a, "a") != .6 || confidenceOf(&a, "b") != .3 || confidenceOf(&a, "c") != 0 {
		t.Error("how sure an answer is of each label")
	}
}
