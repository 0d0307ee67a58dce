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
		K: 2, Embedding: &Embedding{Mean: make([]float32, 2)},
		Rows:     Matrix([]float32{1, .2, 1, .3}, 2),
		Examples: Labelled(Matrix([]float32{1, -.1, 1, .35, -1, 1, -1, 2}, 2), []int32{0, 1, 1, 1}),
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

// What the sources say of a row, weighed, is what its S is made of in an update of the row.
func TestSourcesAreOfTheSolve(t *testing.T) {
	for seed := range uint64(20) {
		for _, method := range []Method{Nearest, SLKMeans} {
			p := drawn(seed)
			settings, err := DefaultPreset.Settings()
			if err != nil {
				t.Fatal(err)
			}
			settings.Method = method
			settings.Tolerance, settings.Outer, settings.Inner = 1e-7, 500, 20
			solve, err := New(settings)
			if err != nil {
				t.Fatal(err)
			}
			p.Weights = &Weights{Prototypes: .7, Nearest: 3}
			r, err := solve.Solve(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			var said Sources
			for i := range p.Rows.N() {
				if p.Labels[i] >= 0 {
					continue
				}
				solve.space.Given(p.Labels).Sources(i, &said)
				var s []float64
				var sum float64
				for c := range p.K {
					s = append(s, math.Exp(.7*float64(said.Prototypes[c])+3*float64(said.Nearest[c])+
						float64(said.Graph[c]+said.Proportions[c])))
					sum += s[c]
				}
				for c := range p.K {
					if got := float64(r.S[i*p.K+c]); math.Abs(got-s[c]/sum) > 1e-3 {
						t.Fatalf("%s, seed %d, row %d, class %d: s is %g, by its sources %g", method, seed, i, c, got, s[c]/sum)
					}
				}
			}
		}
	}
}

// Labels that a solve did not have are labelled rows and neighbours to others, not to the row itself.
func TestSourcesTakeLabelsBack(t *testing.T) {
	p := &Problem{
		K: 2, Embedding: &Embedding{Mean: make([]float32, 2)},
		Rows:     Matrix([]float32{1, .2, 1, .21, -1, .9}, 2),
		Examples: Labelled(Matrix([]float32{1, 0, -1, 1}, 2), []int32{0, 1}),
	}
	solve, err := New(Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := solve.Solve(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	none := []int32{-1, -1, -1}
	var without, own, other Sources
	solve.space.Given(none).Sources(0, &without)
	solve.space.Given([]int32{1, -1, -1}).Sources(0, &own)
	solve.space.Given([]int32{-1, 1, -1}).Sources(0, &other)
	for c := range 2 {
		if own.Nearest[c] != without.Nearest[c] || own.Graph[c] != without.Graph[c] {
			t.Errorf("class %d: by its own label %v, without %v", c, own, without)
		}
	}
	if !(other.Nearest[1] > without.Nearest[1]+.5) || !(other.Graph[1] > without.Graph[1]) ||
		!(other.Graph[0] < without.Graph[0]) {
		t.Errorf("with its neighbour's label %v, without %v", other, without)
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
