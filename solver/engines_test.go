package solver

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// drawn is a random episode: labelled rows, examples, a prior, a metric, absent classes, depending
// on the seed.
func drawn(seed uint64) *Problem {
	random := rand.New(rand.NewPCG(seed, 7))
	n, d, k := 20+random.IntN(150), 8+random.IntN(100), 1+random.IntN(9)
	gauss := func(n int, scale float64) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(scale * random.NormFloat64())
		}
		return out
	}
	centres := gauss(k*d, 1)
	row := func(c int) []float32 {
		out := gauss(d, .8)
		for i := range out {
			out[i] += centres[c*d+i]
		}
		return out
	}
	p := &Problem{
		Rows: Rows{d: d}, K: k, Labels: make([]int32, n), Examples: ExampleRows{rows: Rows{d: d}}, Judge: true,
	}
	for i := range n {
		c := random.IntN(k)
		p.Rows.values = append(p.Rows.values, row(c)...)
		if p.Labels[i] = -1; i == 0 || random.IntN(8) == 0 {
			p.Labels[i] = int32(c)
		}
	}
	for range random.IntN(20) {
		c := random.IntN(k)
		p.Examples.rows.values, p.Examples.labels = append(p.Examples.rows.values, row(c)...), append(p.Examples.labels, int32(c))
	}
	if random.IntN(2) == 0 {
		p.Prior = &Prior{Weights: make([]float32, k)}
		for c := range k {
			m := row(c)
			vector.Unit(m, m)
			for i := range m {
				m[i] *= .7
			}
			p.Prior.Means = append(p.Prior.Means, m...)
			p.Prior.Weights[c] = float32(random.IntN(3))
		}
	}
	if random.IntN(2) == 0 {
		for range k {
			p.Proportions = append(p.Proportions, 1+random.Float64()*20)
		}
	}
	if random.IntN(2) == 0 {
		rank := random.IntN(6)
		centre, basis, scales := gauss(d, .02), make([]float32, rank*d), make([]float32, rank)
		vector.Orthonormal(basis, gauss(rank*d, 1), d, 2)
		for i := range scales {
			scales[i] = 2 * random.Float32()
		}
		slices.Sort(scales)
		p.Embedding = &Embedding{Mean: gauss(d, .1), Metric: metric.Of(centre, basis, scales)}
	}
	return p
}

func TestEnginesAgree(t *testing.T) {
	for _, method := range Methods {
		for seed := range uint64(40) {
			t.Run(fmt.Sprint(method, seed), func(t *testing.T) {
				p := drawn(seed)
				settings, err := DefaultPreset.Settings()
				if err != nil {
					t.Fatal(err)
				}
				settings.Method, settings.Check = method, true
				var results []*Result
				var spaces []*Space
				for _, engine := range []engine{rowEngine, gramEngine} {
					solve, err := New(settings)
					if err != nil {
						t.Fatal(err)
					}
					solve.engine = engine
					r, err := assessed(solve.Solve(context.Background(), p))
					if err != nil {
						t.Fatal(err)
					}
					if solve.episode.prototypes.usesGram != (engine == gramEngine) {
						t.Fatalf("engine %v was not used", engine)
					}
					if r.Rises > 0 {
						t.Errorf("R rose: %v", r.Trace)
					}
					results, spaces = append(results, r), append(spaces, &solve.space)
				}
				a, b := results[0], results[1]
				near := func(name string, x, y []float32) {
					for i := range x {
						if math.Abs(float64(x[i]-y[i])) > 1e-4*max(1, math.Abs(float64(x[i]))) {
							t.Fatalf("%s: %g and %g at %d", name, x[i], y[i], i)
						}
					}
				}
				near("S", a.S, b.S)
				near("prototypes", a.episode.centres(), b.episode.centres())
				near("confidence", a.Confidence, b.Confidence)
				near("agreement", a.Agreement, b.Agreement)
				x, y := make([]float32, p.Rows.N()), make([]float32, p.Rows.N())
				a.Distances(x, -1)
				b.Distances(y, -1)
				for i := range x { // compared as squares: near 0 a root magnifies rounding
					x[i], y[i] = x[i]*x[i], y[i]*y[i]
				}
				near("squared distances", x, y)
				x, y = make([]float32, p.Rows.N()*p.Rows.N()), make([]float32, (p.Rows.N()-2)*(p.Rows.N()-2))
				spaces[0].Between(x, 0, p.Rows.N())
				spaces[1].Between(y, 1, p.Rows.N()-1)
				for i := range p.Rows.N() {
					for j := range p.Rows.N() {
						got := float64(x[i*p.Rows.N()+j])
						want := float64(kernel.SquaredDistance(zOf(a)[i*p.Rows.d:(i+1)*p.Rows.d], zOf(a)[j*p.Rows.d:(j+1)*p.Rows.d]))
						if math.Abs(got-want) > 1e-4 {
							t.Fatalf("rows %d and %d: a squared distance of %g, not %g", i, j, got, want)
						}
						if inner := min(i, j) > 0 && max(i, j) < p.Rows.N()-1; inner {
							if got = float64(y[(i-1)*(p.Rows.N()-2)+j-1]); math.Abs(got-want) > 1e-4 {
								t.Fatalf("rows %d and %d, by products: a squared distance of %g, not %g", i, j, got, want)
							}
						}
					}
				}
				// Directions of 16 bits a number are not quite orthonormal, which one engine takes them to be.
				if math.Abs(a.ObjectiveAfter-b.ObjectiveAfter) > 1e-5*max(float64(p.Rows.N()), math.Abs(a.ObjectiveAfter)) {
					t.Errorf("R %g and %g", a.ObjectiveAfter, b.ObjectiveAfter)
				}
			})
		}
	}
}

// Rows listed one by one are solved like rows in one slice.
func TestRowsOneByOne(t *testing.T) {
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(10) {
		p := drawn(seed)
		apart := *p
		var rows [][]float32
		for i := range p.Rows.N() {
			rows = append(rows, p.raw(i))
		}
		apart.Rows = List(rows)
		var results [2]*Result
		for i, problem := range []*Problem{p, &apart} {
			solve, err := New(settings)
			if err != nil {
				t.Fatal(err)
			}
			if results[i], err = assessed(solve.Solve(context.Background(), problem)); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(results[0].S, results[1].S) {
			t.Errorf("seed %d: other answers", seed)
		}
		rows[p.Rows.N()-1] = rows[p.Rows.N()-1][1:]
		if err := apart.check(); err == nil {
			t.Error("a row of another dimension is not refused")
		}
	}
}
