package solver

import (
	"context"
	"math"
	"testing"
)

// Weights of 1 and 0 change no bit.
func TestNoWeightIsAsWithout(t *testing.T) {
	for seed := range uint64(20) {
		p := drawn(seed)
		settings, err := DefaultPreset.Settings()
		if err != nil {
			t.Fatal(err)
		}
		var s [2][]float32
		for i, weights := range []*Weights{nil, {Prototypes: 1}} {
			solve, err := New(settings)
			if err != nil {
				t.Fatal(err)
			}
			p.Weights = weights
			r, err := assessed(solve.Solve(context.Background(), p))
			if err != nil {
				t.Fatal(err)
			}
			s[i] = append(append(append(s[i], r.S...), r.Confidence...), r.Agreement...)
		}
		for i, v := range s[0] {
			if v != s[1][i] {
				t.Fatalf("seed %d: %g and %g at %d", seed, v, s[1][i], i)
			}
		}
	}
}

// A row that is nearer to the prototype of one class and to a labelled row of the other goes to the other if that
// has a heavy weight.
func TestTheNearestLabelledRowCounts(t *testing.T) {
	p := &Problem{
		N: 2, D: 2, K: 2, Embedding: &Embedding{Mean: make([]float32, 2)},
		Rows:    []float32{1, .2, 1, .3},
		Anchors: []float32{1, -.1, 1, .35, -1, 1, -1, 2}, AnchorLabels: []int32{0, 1, 1, 1},
	}
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for weight, want := range map[float64]int32{0: 0, 200: 1} {
		for _, which := range []engine{rowEngine, gramEngine} {
			solve, err := New(settings)
			if err != nil {
				t.Fatal(err)
			}
			solve.engine = which
			p.Weights = &Weights{Prototypes: 1, Nearest: weight}
			r, err := solve.Solve(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			if r.Labels[1] != want {
				t.Errorf("weight %g, engine %d: class %d", weight, which, r.Labels[1])
			}
		}
	}
}

// The evidence of a row is what R has of it: weighed, its classes have the scores of the first sweep.
func TestEvidenceIsOfTheSolve(t *testing.T) {
	for seed := range uint64(20) {
		p := drawn(seed)
		settings, err := DefaultPreset.Settings()
		if err != nil {
			t.Fatal(err)
		}
		settings.Method, settings.Beta = Nearest, 0
		solve, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		p.Weights = &Weights{Prototypes: .7, Nearest: 3}
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		prototypes, nearest := make([]float32, p.K), make([]float32, p.K)
		for i := range p.N {
			if p.Labels[i] >= 0 {
				continue
			}
			r.Evidence(i, prototypes, nearest)
			var s []float64
			var sum float64
			for c := range p.K {
				s = append(s, math.Exp(.7*float64(prototypes[c])+3*float64(nearest[c])))
				sum += s[c]
			}
			for c := range p.K {
				if got := float64(r.S[i*p.K+c]); math.Abs(got-s[c]/sum) > 1e-4 {
					t.Fatalf("seed %d, row %d, class %d: s is %g, by its evidence %g", seed, i, c, got, s[c]/sum)
				}
			}
		}
	}
}

// Weights that R cannot have are refused.
func TestFaultyWeights(t *testing.T) {
	for _, w := range []Weights{{0, 1}, {-1, 1}, {1, -1}, {math.NaN(), 1}, {1, math.NaN()}, {1, math.Inf(1)}, {1e7, 0}} {
		p := drawn(1)
		p.Weights = &w
		if err := p.checkGraphTerms(); err == nil {
			t.Errorf("%v: no error", w)
		}
	}
}
