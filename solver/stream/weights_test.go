package stream

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/solver"
)

// said is a trialSources of items whose nearest labelled item tells their class with this likeness more than others,
// and their prototype with this score. Neighbours say nothing.
func said(random *rand.Rand, items, k int, nearest, prototypes float64) *trialSources {
	t := &trialSources{}
	for range items {
		label := random.IntN(k)
		t.item = solver.Sources{Graph: make([]float32, k), Proportions: make([]float32, k)}
		for c := range k {
			m, n := random.NormFloat64(), .3*random.NormFloat64()
			if c == label {
				m, n = m+prototypes, n+nearest
			}
			t.item.Prototypes, t.item.Nearest = append(t.item.Prototypes, float32(m)), append(t.item.Nearest, float32(n))
		}
		t.add(int32(label))
	}
	return t
}

// The source that tells classes apart gets its weight, the other does not; without labels both stay as they were.
func TestEvidenceLearnsItsWeight(t *testing.T) {
	e := newWeights()
	e.fit(&trialSources{})
	if w := e.forSolve(); w.Prototypes != 1 || w.Nearest != 0 {
		t.Errorf("without labels: %v", w)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		e.fit(said(random, 5, 6, .6, 0))
	}
	if w := e.forSolve(); w.Prototypes > .4 || w.Nearest < 3 {
		t.Errorf("where only the nearest says something: %v", w)
	}
	for range 100 { // and from now on only prototypes do
		e.fit(said(random, 5, 6, 0, 2))
	}
	if w := e.forSolve(); w.Prototypes < .8 || w.Nearest > 1 {
		t.Errorf("where only prototypes say something: %v", w)
	}
}

// After enough labels the confidence is the share of right answers, whatever the trust was.
func TestConfidenceIsTheShareOfRightAnswers(t *testing.T) {
	for _, trust := range []float64{.05, 1} {
		for _, nearest := range []float64{0, .5} {
			e, random := newWeights(), rand.New(rand.NewPCG(3, 3))
			e.trust, e.ofConfidence = trust, []float64{trust, 0, trust}
			for range 60 {
				e.fit(said(random, 5, 6, nearest, 1))
			}
			right, sure := 0., 0.
			const items = 2000
			for range items {
				one := said(random, 1, 6, nearest, 1)
				c := e.answer(&one.item)
				if sure += float64(e.probability(&one.item, c)); one.Right[0] == int(c) {
					right++
				}
			}
			if math.Abs(right-sure) > .06*items {
				t.Errorf("trust %g, nearest %g: %g of %d right, %g expected", trust, nearest, right, items, sure)
			}
		}
	}
}

// A class without a prototype is no alternative.
func TestMaskedClassIsNoAlternative(t *testing.T) {
	e, in := newWeights(), &trialSources{}
	in.item = solver.Sources{
		Prototypes: []float32{float32(math.Inf(-1)), 1, 0}, Nearest: make([]float32, 3), Graph: make([]float32, 3),
		Proportions: make([]float32, 3),
	}
	in.add(1)
	in.add(0) // could not be right
	if len(in.Ends) != 1 || len(in.Right) != 1 || len(in.Offsets) != 2 || in.Right[0] != 0 {
		t.Errorf("%+v", in.Choices)
	}
	if p, want := e.probability(&in.item, 1), 1/(1+math.Exp(-1)); math.Abs(float64(p)-want) > 1e-6 {
		t.Errorf("probability %g, not %g", p, want)
	}
}
