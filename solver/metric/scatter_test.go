package metric

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// learned feeds a scatter episodes of three classes whose points spread most along axis 20. The first 15
// rows are labelled.
func learned(t *testing.T) *Scatter {
	t.Helper()
	const n, d, k = 60, 40, 3
	scatter := NewScatter(d)
	random := rand.New(rand.NewPCG(1, 2))
	noise := func() float32 { return 2*random.Float32() - 1 }
	for range 12 {
		e := Episode{Z: make([]float32, n*d), S: make([]float32, n*k), Labels: make([]int32, n), K: k}
		for i := range n {
			row := e.Z[i*d : i*d+d]
			for j := range row {
				row[j] = noise() / 2
			}
			row[i%k] += 4
			row[20] = 4 * noise()
			vector.Unit(row, row)
			e.S[i*k+i%k] = 1
			if e.Labels[i] = -1; i < 15 {
				e.Labels[i] = int32(i % k)
			}
		}
		scatter.Update(e)
	}
	return scatter
}

// mapOf returns the map of a metric about a mean of zero.
func mapOf(m *Metric) *Map {
	var out Map
	m.About(nil, &out)
	return &out
}

func TestMetricShrinksWhereClassesSpread(t *testing.T) {
	scatter := learned(t)
	made, err := scatter.Refresh(4, .85)
	if err != nil || made == nil {
		t.Fatal(made, err)
	}
	m := mapOf(made)
	if v := math.Abs(float64(m.Vectors[20])); v < .95 {
		t.Errorf("the first direction has %g along the widest axis", v)
	}
	for i, s := range m.Scales {
		if !(s > 0 && s < 1) || i > 0 && s < m.Scales[i-1] {
			t.Errorf("scales %v", m.Scales)
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
				t.Errorf("vectors %d and %d have product %g", i, j, dot)
			}
		}
	}
}

// A metric of nothing is none.
func TestNoMetricOfNothing(t *testing.T) {
	if m, err := NewScatter(40).Refresh(4, .85); m != nil || err != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// Subspace iteration finds the top eigenpairs.
func TestTopEigenpairs(t *testing.T) {
	const d = 30
	full := make([]float32, d*d)
	for i := range d {
		full[i*d+i] = float32(1)
	}
	full[7*d+7], full[3*d+3], full[7*d+3], full[3*d+7] = 50, 20, 5, 5
	values, vectors, err := vector.TopEigenpairs(full, d, 2)
	if err != nil {
		t.Fatal(err)
	}
	high := 35 + math.Sqrt(15*15+25)
	low := 35 - math.Sqrt(15*15+25)
	if math.Abs(values[0]-high) > 1e-3 || math.Abs(values[1]-low) > 1e-3 {
		t.Errorf("eigenvalues %v, want %g and %g", values, high, low)
	}
	if l := float64(kernel.Dot(vectors[:d], vectors[:d])); math.Abs(l-1) > 1e-4 {
		t.Errorf("an eigenvector of squared length %g", l)
	}
}

// The eigenpairs for a metric are the exact ones for every kind of matrix: evenly falling, of few rows, with
// one direction far above the others, and flat. In a flat tail any pairs will do, as their scales are alike.
func TestTopEigenpairsAreExact(t *testing.T) {
	for _, size := range []struct{ d, rank int }{{96, 12}, {512, 32}, {12, 12}, {15, 12}, {21, 12}} {
		random := rand.New(rand.NewPCG(3, 4))
		turn, reversed := make([]float32, size.d*size.d), make([]float32, size.d*size.d)
		for i := range turn {
			turn[i] = float32(random.NormFloat64())
		}
		for i := range size.d {
			reversed[(i+1)*(size.d-1)] = 1
		}
		topEigenpairsAreExact(t, size.d, size.rank, turn)
		topEigenpairsAreExact(t, size.d, size.rank, reversed)
	}
}

// topEigenpairsAreExact checks matrices whose eigenvectors are the rows of turn made orthonormal.
func topEigenpairsAreExact(t *testing.T, d, rank int, turn []float32) {
	for name, variance := range map[string]func(i int) float64{
		"even":     func(i int) float64 { return 1 / (1 + float64(i)) },
		"few rows": func(i int) float64 { return max(0, 8-float64(i)) },
		"one far":  func(i int) float64 { return 1/(1+float64(i)) + max(0, 1-float64(i))*3000 },
		"flat":     func(i int) float64 { return 1 + max(0, 4-float64(i)) },
		"one only": func(i int) float64 { return max(0, 1-float64(i)) },
	} {
		axes := make([]float32, d*d)
		vector.Orthonormal(axes, turn, d, 2)
		var full Residuals
		for i := range d {
			row := slices.Clone(axes[i*d : i*d+d])
			kernel.Scale(float32(math.Sqrt(variance(i))), row)
			full.Add(row, d, 1)
		}
		kernel.Mirror(full.Values, d)
		values, vectors, err := vector.TopEigenpairs(full.Values, d, rank)
		if err != nil {
			t.Fatal(name, err)
		}
		mean := full.Trace / float64(d)
		scale := func(w float64) float64 { return math.Sqrt(.85*mean/(.15*max(0, w)+.85*mean)) - 1 }
		found, exact := make([]float32, d*d), make([]float32, d*d)
		for i, w := range values {
			for j := range d {
				kernel.Axpy(float32(scale(w))*vectors[i*d+j], vectors[i*d:i*d+d], found[j*d:j*d+d])
				kernel.Axpy(float32(scale(variance(i)))*axes[i*d+j], axes[i*d:i*d+d], exact[j*d:j*d+d])
			}
		}
		if name == "flat" { // any pairs of the tail will do, but those above it must be found
			for i := range 4 {
				if w := variance(i); math.Abs(values[i]-w) > .01*w {
					t.Errorf("%s: eigenvalue %d is %g, not %g", name, i, values[i], w)
				}
			}
			continue
		}
		kernel.Axpy(-1, exact, found)
		if apart := math.Sqrt(float64(kernel.Dot(found, found) / kernel.Dot(exact, exact))); apart > .02 {
			t.Errorf("%s, %d of %d: apart by %g of the exact metric", name, rank, d, apart)
		}
	}
}

// The values of a softmax sum to 1 up to rounding. An episode of one item has no degree of freedom, and never
// a negative one.
func TestFreedomIsNeverNegative(t *testing.T) {
	scatter := NewScatter(4)
	third := float32(1) / 3
	if _, freedom := scatter.PointResiduals([]float32{1, 0, 0, 0}, []float32{third, third, third}, 3); freedom < 0 {
		t.Errorf("%g degrees of freedom", freedom)
	}
}

// If only some of the axes along which points spread separate classes, the metric keeps those and shrinks the
// others. Too few means change nothing.
func TestSeparatingShrinksWhatTellsNothing(t *testing.T) {
	const n, d, k = 60, 24, 3
	random := rand.New(rand.NewPCG(5, 6))
	scatter := NewScatter(d)
	for episode := range 20 {
		e := Episode{Z: make([]float32, n*d), S: make([]float32, n*k), K: k}
		centres := make([]float32, k*6) // classes differ along the first six axes
		for i := range centres {
			centres[i] = float32(random.NormFloat64())
		}
		for i := range n {
			row := e.Z[i*d : i*d+d]
			for j := range row {
				row[j] = .5 * float32(random.NormFloat64())
			}
			kernel.Axpy(1, centres[i%k*6:i%k*6+6], row[:6])
			e.S[i*k+i%k] = 1
		}
		scatter.Update(e)
		scatter.AddMeans(e.Z, e.S, k)
		within, err := scatter.Refresh(4, .85)
		if err != nil || within == nil {
			t.Fatalf("%v, %v", within, err)
		}
		m, err := scatter.Separating(within, 16, 3)
		if err != nil {
			t.Fatal(err)
		}
		if few := len(scatter.Between.Weight) < fewMeans; few != (m == within) {
			t.Fatalf("%d means: %v", len(scatter.Between.Weight), m)
		}
		if episode < 19 {
			continue
		}
		if err := m.Check(d); err != nil || !slices.IsSorted(m.Scales) {
			t.Fatalf("%v, scales %v", err, m.Scales)
		}
		length := func(axis int) float64 { // of a unit vector once it is mapped
			row := make([]float32, d)
			row[axis] = 1
			mapOf(m).Shrink(row, nil)
			return math.Sqrt(float64(kernel.Dot(row, row)))
		}
		for axis := range 6 {
			for other := 6; other < d; other++ {
				if length(axis) < 1.05*length(other) {
					t.Errorf("axis %d, which tells classes apart: %g; axis %d: %g", axis, length(axis), other, length(other))
				}
			}
		}
	}
}

// Means are bounded: the oldest are dropped.
func TestMeansAreBounded(t *testing.T) {
	scatter := NewScatter(2)
	for range mostMeans {
		scatter.AddMeans([]float32{1, 0, 0, 1}, []float32{1, 0, 0, 1}, 2)
	}
	b := scatter.Between
	if len(b.Weight) != mostMeans || len(b.Rows) != 2*mostMeans || math.Abs(b.Points-mostMeans) > 1e-6*mostMeans {
		t.Errorf("%d means, %d values, %g points", len(b.Weight), len(b.Rows), b.Points)
	}
}

// A class with next to no mass leaves the residuals of an episode's points finite.
func TestResidualsBesideAClassWithHardlyAnyMass(t *testing.T) {
	scatter := NewScatter(2)
	rows, _ := scatter.PointResiduals([]float32{1, 0, 0, 1}, []float32{1, 1e-40, 1, 1e-42}, 2)
	if i := vector.NotFinite(rows); i >= 0 {
		t.Errorf("value %d is %g", i, rows[i])
	}
}
