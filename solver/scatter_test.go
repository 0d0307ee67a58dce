package solver

import (
	"context"
	"math"
	"testing"
)

// learned feeds episodes of one spread-out direction to a scatter and returns it.
func learned(t *testing.T, rank int) *Scatter {
	t.Helper()
	settings, err := Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	solve, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	scatter := NewScatter(40, rank)
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
	for _, rank := range []int{0, 8} {
		scatter := learned(t, rank)
		m, err := scatter.Refresh(4, .85)
		if err != nil || m == nil {
			t.Fatalf("rank %d: %v, %v", rank, m, err)
		}
		if v := math.Abs(float64(m.Vectors[20])); v < .95 {
			t.Errorf("rank %d: the first direction has %g along the widest axis", rank, v)
		}
		for i, s := range m.Scales {
			if !(s > 0 && s < 1) || i > 0 && s < m.Scales[i-1] {
				t.Errorf("rank %d: scales %v", rank, m.Scales)
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
					t.Errorf("rank %d: vectors %d and %d have product %g", rank, i, j, dot)
				}
			}
		}
	}
}

// A sketch has the trace of the full scatter exactly, and nearly its principal scale.
func TestSketchIsNearTheFullScatter(t *testing.T) {
	full, sketch := learned(t, 0), learned(t, 8)
	if math.Abs(full.Labelled.Trace-sketch.Labelled.Trace) > 1e-6*full.Labelled.Trace || full.Freedom() != sketch.Freedom() {
		t.Errorf("trace %g and %g, freedom %g and %g", full.Labelled.Trace, sketch.Labelled.Trace, full.Freedom(), sketch.Freedom())
	}
	a, err := full.Refresh(1, .85)
	if err != nil {
		t.Fatal(err)
	}
	b, err := sketch.Refresh(1, .85)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(a.Scales[0]-b.Scales[0])) > .02 {
		t.Errorf("scale %g, of the sketch %g", a.Scales[0], b.Scales[0])
	}
	if c := full.Clone(); c.Freedom() != full.Freedom() {
		t.Error("a clone differs")
	}
	if few, err := NewScatter(40, 0).Refresh(4, .85); few != nil || err != nil {
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
	values, vectors, err := topEigenpairs(full, d, 2)
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
