package solver

import (
	"context"
	"math"
	"slices"
	"testing"
)

// learned feeds episodes of one spread-out direction to a scatter and returns it.
func learned(t *testing.T) *Scatter {
	t.Helper()
	solve, _ := defaultSolver(t, nil)
	scatter := NewScatter(40)
	for seed := range uint64(12) {
		p := drawn(1)
		p.D, p.N, p.K, p.Labels, p.Rows, p.Anchors, p.AnchorLabels = 40, 60, 3, nil, nil, nil, nil
		p.Prior, p.Proportions, p.Embedding = nil, nil, nil
		state := seed*7919 + 1
		noise := func() float32 {
			state = state*6364136223846793005 + 1442695040888963407
			return float32(int32(state>>32)) / (1 << 31)
		}
		for i := range p.N {
			for j := range p.D {
				v := noise() / 2
				if j == i%3 {
					v += 4
				}
				if j == 20 { // where one class spreads most
					v = 4 * noise()
				}
				p.Rows = append(p.Rows, v)
			}
			y := int32(-1)
			if i < 15 {
				y = int32(i % 3)
			}
			p.Labels = append(p.Labels, y)
		}
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		scatter.Update(p, r)
	}
	return scatter
}

func TestMetricShrinksWhereClassesSpread(t *testing.T) {
	scatter := learned(t)
	var m *Metric
	for _, start := range []string{"at random", "from the one before"} {
		var err error
		if m, err = scatter.Refresh(m, 4, .85); err != nil || m == nil {
			t.Fatalf("%s: %v, %v", start, m, err)
		}
		if v := math.Abs(float64(m.Vectors[20])); v < .95 {
			t.Errorf("%s: the first direction has %g along the widest axis", start, v)
		}
		for i, s := range m.Scales {
			if !(s > 0 && s < 1) || i > 0 && s < m.Scales[i-1] {
				t.Errorf("%s: scales %v", start, m.Scales)
			}
		}
		for i := range m.Scales {
			for j := range i + 1 {
				var dot float64
				for e := range 40 {
					dot += float64(m.Vectors[i*40+e]) * float64(m.Vectors[j*40+e])
				}
				want := 0.
				if i == j {
					want = 1
				}
				if math.Abs(dot-want) > 1e-3 {
					t.Errorf("%s: vectors %d and %d have product %g", start, i, j, dot)
				}
			}
		}
	}
}

// What was seen may fade: the metric stays, as long as nothing new comes, and so does the room for what does.
func TestResidualsFade(t *testing.T) {
	scatter := learned(t)
	before, err := scatter.Refresh(nil, 4, .85)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*Residuals{&scatter.Labelled, &scatter.Points} {
		freedom, trace := r.Freedom/2, r.Trace/2
		r.Fade(freedom)
		if r.Freedom != freedom || math.Abs(r.Trace-trace) > 1e-9*trace {
			t.Errorf("freedom %g and trace %g, want %g and %g", r.Freedom, r.Trace, freedom, trace)
		}
		copied := r.Clone()
		r.Fade(freedom)
		r.Fade(freedom + 1)
		if r.Freedom != freedom || !slices.Equal(copied.Values, r.Values) {
			t.Errorf("faded again where there was nothing to fade")
		}
	}
	after, err := scatter.Refresh(nil, 4, .85)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range before.Scales {
		if math.Abs(float64(s-after.Scales[i])) > 1e-3 {
			t.Errorf("scale %d: %g, before %g", i, after.Scales[i], s)
		}
	}
	scatter.Reset()
	if few, err := scatter.Refresh(before, 4, .85); few != nil || err != nil {
		t.Errorf("a metric of nothing: %v, %v", few, err)
	}
}

// The full path's subspace iteration finds what is there to find.
func TestTopEigenpairs(t *testing.T) {
	const d = 30
	full := make([]float32, d*d)
	for i := range d {
		full[i*d+i] = float32(1)
	}
	full[7*d+7], full[3*d+3], full[7*d+3], full[3*d+7] = 50, 20, 5, 5
	values, vectors, err := topEigenpairs(full, d, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	high := 35 + math.Sqrt(15*15+25)
	low := 35 - math.Sqrt(15*15+25)
	if math.Abs(values[0]-high) > 1e-3 || math.Abs(values[1]-low) > 1e-3 {
		t.Errorf("eigenvalues %v, want %g and %g", values, high, low)
	}
	if l := squaredLength(vectors[:d]); math.Abs(l-1) > 1e-4 {
		t.Errorf("an eigenvector of squared length %g", l)
	}
}
