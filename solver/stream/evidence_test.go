package stream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// said is a testimony of items whose nearest labelled item tells their class with this likeness more than others,
// and their prototype with this score.
func said(random *rand.Rand, items, k int, nearest, prototypes float64) *testimony {
	t := &testimony{k: k}
	for range items {
		label := random.IntN(k)
		t.labels = append(t.labels, int32(label))
		for c := range k {
			m, n := random.NormFloat64(), .3*random.NormFloat64()
			if c == label {
				m, n = m+prototypes, n+nearest
			}
			t.prototypes, t.nearest = append(t.prototypes, float32(m)), append(t.nearest, float32(n))
		}
	}
	return t
}

// The source that tells classes apart gets its weight, the other does not; without labels both stay as they were.
func TestEvidenceLearnsItsWeight(t *testing.T) {
	fresh := func() *evidence { return &evidence{fitted: weights{f: 1}} }
	e := fresh()
	e.fit(&testimony{k: 3})
	if w := e.weights(); w.Prototypes != 1 || w.Nearest != 0 {
		t.Errorf("without labels: %v", w)
	}
	random := rand.New(rand.NewPCG(1, 1))
	e = fresh()
	for range 20 {
		e.fit(said(random, 5, 6, .6, 0))
	}
	if w := e.weights(); w.Prototypes > .4 || w.Nearest < 3 {
		t.Errorf("where only the nearest says something: %v", w)
	}
	for range 100 { // and from now on only prototypes do
		e.fit(said(random, 5, 6, 0, 2))
	}
	if w := e.weights(); w.Prototypes < .8 || w.Nearest > 1 {
		t.Errorf("where only prototypes say something: %v", w)
	}
}

// The weights of labels that came together are at the least of what is to be least; a class that is not in the
// solve does not matter.
func TestWeightsAreTheMostLikely(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		in, e := said(
			random,
			1+random.IntN(60),
			2+random.IntN(5),
			random.Float64(),
			2*random.Float64(),
		), &evidence{
			fitted: weights{f: 1},
		}
		in.prototypes[0], in.labels[0] = float32(math.Inf(-1)), 1
		e.fit(in)
		total := func(x weights) float64 {
			loss, _, _ := in.loss(x)
			value, _ := prior.at(x)
			return loss + value
		}
		least := total(e.fitted)
		for _, away := range []weights{{.01, 0}, {-.01, 0}, {0, .01}, {0, -.01}} {
			if v := total(weights{e.fitted.f + away.f, e.fitted.w + away.w}); !(v >= least) {
				t.Fatalf("%g at %v, %g at %v from it", least, e.fitted, v, away)
			}
		}
	}
}
