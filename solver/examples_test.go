package solver

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"

	"github.com/slkstream/slkstream/index"
)

// closeResults compares two solves of one problem up to rounding.
func closeResults(t *testing.T, a, b *Result, n int) {
	t.Helper()
	near := func(name string, x, y []float32) {
		t.Helper()
		if len(x) != len(y) {
			t.Fatalf("%s: %d and %d values", name, len(x), len(y))
		}
		for i := range x {
			if !(math.Abs(float64(x[i]-y[i])) <= 2e-4*max(1, math.Abs(float64(x[i])))) && x[i] != y[i] {
				t.Fatalf("%s: %g and %g at %d", name, x[i], y[i], i)
			}
		}
	}
	near("S", a.S, b.S)
	near("z", zOf(a), zOf(b))
	near("prototypes", a.episode.centres(), b.episode.centres())
	near("confidence", a.Confidence, b.Confidence)
	near("agreement", a.Agreement, b.Agreement)
	squares := func(x []float32) []float32 { // compared as squares: near 0 a root magnifies rounding
		out := slices.Clone(x)
		for i, v := range out {
			out[i] = v * v
		}
		return out
	}
	near("squared distances", squares(a.Distance), squares(b.Distance))
	for _, except := range []int32{-1, 0} {
		x, y := make([]float32, n), make([]float32, n)
		a.Distances(x, except)
		b.Distances(y, except)
		near("squared distances in z-space", squares(x), squares(y))
	}
	if math.Abs(a.ObjectiveAfter-b.ObjectiveAfter) > 1e-4*max(1, math.Abs(a.ObjectiveAfter)) {
		t.Errorf("R %g and %g", a.ObjectiveAfter, b.ObjectiveAfter)
	}
}

// Replacing the labelled rows of a class by their mean changes no result.
func TestMeansStandForLabelledRows(t *testing.T) {
	for _, method := range []Method{SLKMeans, KMeans, LaplacianShot, Nearest} {
		for seed := range uint64(30) {
			t.Run(fmt.Sprint(method, seed), func(t *testing.T) {
				p := withTerms(seed)
				if seed%3 == 0 {
					p.Edges, p.Evidence = nil, nil
					p.Graph = Lagged([]float32{-.3, -.2, 0, .1})
				}
				settings, err := DefaultPreset.Settings()
				if err != nil {
					t.Fatal(err)
				}
				settings.Method, settings.Check = method, seed%2 == 0
				var results []*Result
				for _, which := range []engine{bySize, everyRow} {
					solve, err := New(settings)
					if err != nil {
						t.Fatal(err)
					}
					solve.engine = which
					r, err := assessed(solve.Solve(context.Background(), p))
					if err != nil {
						t.Fatal(err)
					}
					results = append(results, r)
				}
				closeResults(t, results[0], results[1], p.Rows.N())
			})
		}
	}
}

// setsOf puts a problem's examples into prepared sets, among rows that are left out and rows of classes
// not in force.
func setsOf(t *testing.T, p *Problem, power float64, random *rand.Rand) *Problem {
	q := *p
	q.Examples.rows.values, q.Examples.labels = nil, nil
	for from := 0; from < len(p.Examples.labels); {
		to := min(len(p.Examples.labels), from+1+random.IntN(8))
		var rows [][]float32
		var classes, without []int32
		names := make([]int32, p.K)
		for c, i := range random.Perm(p.K) {
			names[i] = int32(c)
		}
		for j := from; j < to; j++ {
			if random.IntN(3) == 0 {
				without = append(without, int32(len(rows)))
				rows = append(rows, p.Rows.values[:p.Rows.d])
				classes = append(classes, int32(random.IntN(p.K)))
			}
			rows = append(rows, p.Examples.rows.values[j*p.Rows.d:(j+1)*p.Rows.d])
			classes = append(classes, int32(slices.Index(names, p.Examples.labels[j])))
		}
		set, err := NewExamples(rows, classes, p.K, p.Rows.d, power)
		if err != nil {
			t.Fatal(err)
		}
		q.Examples.sets = append(q.Examples.sets, ExampleSet{Examples: set, Names: names, Without: without})
		from = to
	}
	return &q
}

// Prepared sets of labelled rows give the same results as the rows themselves, kept between solves or not.
func TestPreparedSetsAreTheirRows(t *testing.T) {
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	kept := &ExampleCache{}
	used, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := drawn(seed)
			if seed%4 == 0 {
				p.Embedding = nil // the mean of the labelled rows
			} else if seed%4 == 1 && p.Embedding != nil {
				p.Embedding.Mean = nil
			}
			fresh, err := New(settings)
			if err != nil {
				t.Fatal(err)
			}
			want, err := assessed(fresh.Solve(context.Background(), p))
			if err != nil {
				t.Fatal(err)
			}
			q := setsOf(t, p, settings.Power, rand.New(rand.NewPCG(seed, 5)))
			for _, q.Examples.cache = range []*ExampleCache{nil, kept, kept, {}} {
				got, err := assessed(used.Solve(context.Background(), q))
				if err != nil {
					t.Fatal(err)
				}
				closeResults(t, want, got, p.Rows.N())
			}
			kept.Release()
			if kept.metric != nil {
				t.Error("a metric is kept that was released")
			}
			q.Examples.cache = kept
			again, err := assessed(used.Solve(context.Background(), q))
			if err != nil {
				t.Fatal(err)
			}
			closeResults(t, want, again, p.Rows.N())
			if len(q.Examples.sets) > 0 && kept.Bytes() < 4*p.Rows.d {
				t.Errorf("%d bytes for a mean of %d numbers and more", kept.Bytes(), p.Rows.d)
			}
			if len(p.Labels) == 0 || len(q.Examples.sets) == 0 {
				return
			}
			// The same sets beside another episode: the mean changes.
			p.Labels[0], q.Labels = -1, p.Labels
			if want, err = assessed(fresh.Solve(context.Background(), p)); err != nil {
				t.Fatal(err)
			}
			q.Examples.cache = kept
			got, err := assessed(used.Solve(context.Background(), q))
			if err != nil {
				t.Fatal(err)
			}
			closeResults(t, want, got, p.Rows.N())
		})
	}
}

// Rows of a class not in force count in the mean and nowhere else. Above alongMost rows, products with the
// metric's directions are not kept, and the answers are the same.
func TestManyRowsBeside(t *testing.T) {
	p := drawn(6)
	for seed := uint64(6); p.Embedding == nil || len(p.Embedding.Metric.Scales) == 0; seed++ {
		p = drawn(seed)
	}
	random := rand.New(rand.NewPCG(1, 1))
	rows, classes := make([][]float32, 0, alongMost+9), make([]int32, 0, alongMost+9)
	for i := range alongMost + 9 {
		row := make([]float32, p.Rows.d)
		for j := range row {
			row[j] = float32(random.NormFloat64())
		}
		rows, classes = append(rows, row), append(classes, int32(i*3/(alongMost+9)))
	}
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	set, err := NewExamples(rows, classes, 3, p.Rows.d, settings.Power)
	if err != nil {
		t.Fatal(err)
	}
	p.Examples.rows.values, p.Examples.labels = nil, nil
	q := *p
	p.Examples.sets = []ExampleSet{{Examples: set, Names: []int32{0, -1, 0}}}
	for i, c := range classes {
		if c != 1 {
			q.Examples.rows.values, q.Examples.labels = append(q.Examples.rows.values, rows[i]...), append(q.Examples.labels, 0)
		}
	}
	var results []*Result
	for i, problem := range []*Problem{p, &q} {
		solve, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		solve.engine = []engine{bySize, everyRow}[i]
		r, err := assessed(solve.Solve(context.Background(), problem))
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	if kept := len(results[0].episode.examples.cache.along); kept > 0 {
		t.Errorf("%d products with directions are kept", kept)
	}
	closeResults(t, results[0], results[1], p.Rows.N())
}

// An error names the faulty set.
func TestFaultsOfPreparedSets(t *testing.T) {
	set, err := NewExamples([][]float32{{1, 2}, {2, 1}}, []int32{0, 1}, 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]ExampleSet{
		"no rows":    {},
		"names":      {Examples: set, Names: []int32{0}},
		"class":      {Examples: set, Names: []int32{0, 2}},
		"below":      {Examples: set, Names: []int32{0, -2}},
		"no row":     {Examples: set, Names: []int32{0, 1}, Without: []int32{2}},
		"descending": {Examples: set, Names: []int32{0, 1}, Without: []int32{1, 0}},
	} {
		p := &Problem{Rows: Matrix([]float32{1, 1}, 2), K: 2, Examples: Prepared(nil, b)}
		if err := p.check(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	// Examples that are not in force have no label: no edge and no neighbour.
	forgotten := ExampleSet{Examples: set, Names: []int32{0, -1}, Without: []int32{0}}
	for _, q := range []int32{1, 2} {
		p := &Problem{Rows: Matrix([]float32{1, 1}, 2), K: 2, Examples: Prepared(nil, forgotten)}
		p.Edges = []Edge{{P: 0, Q: q, Weight: 1}}
		if err := p.checkGraphTerms(); err == nil {
			t.Errorf("an edge to example %d that is not in force: no error", q-1)
		}
		p.Edges = nil
		p.Graph = GraphOf(&index.Affinity{Offsets: []int64{0, 1}, Columns: []int32{q}, Weights: []float32{1}})
		if err := p.check(); err == nil {
			t.Errorf("example %d that is not in force as a neighbour: no error", q-1)
		}
	}
	nan := float32(math.NaN())
	if _, err := NewExamples([][]float32{{1, nan}}, []int32{0}, 1, 2, 1); err == nil {
		t.Error("a row that is not finite: no error")
	}
	if _, err := NewExamples([][]float32{{1}}, []int32{0}, 1, 2, 1); err == nil {
		t.Error("a row of another dimension: no error")
	}
	for _, classes := range [][]int32{nil, {0}, {0, 2}, {-1, 0}, {0, 1, 1}} {
		if _, err := NewExamples([][]float32{{1, 2}, {2, 1}}, classes, 2, 2, 1); err == nil {
			t.Errorf("classes %v of two rows of two classes: no error", classes)
		}
	}
}

// assessed assesses the result of a solve.
func assessed(r *Result, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	return r.Assess(), nil
}

// zOf returns the rows of a result in z-space.
func zOf(r *Result) []float32 { return r.episode.rows.z[:r.episode.rows.n*r.episode.rows.d] }

// Distances are those to the nearest labelled row, and to the nearest of another class.
func TestDistancesToLabelledRows(t *testing.T) {
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	solve, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(20) {
		p := drawn(seed)
		p.Embedding, p.Prior = nil, nil
		for i := range p.Labels[1:] {
			p.Labels[1+i] = -1
		}
		r, err := assessed(solve.Solve(context.Background(), p))
		if err != nil {
			t.Fatal(err)
		}
		var z []float32
		classes := slices.Clone(solve.space.Examples())
		for i := range classes {
			z = solve.space.Example(z, i)
		}
		z, classes = append(z, zOf(r)[:p.Rows.d]...), append(classes, p.Labels[0])
		others := make([]float32, p.Rows.N())
		r.Distances(others, p.Labels[0])
		for i := 1; i < p.Rows.N(); i++ {
			nearest, other := math.Inf(1), 4.
			for j, c := range classes {
				squared := 0.
				for k, v := range z[j*p.Rows.d : (j+1)*p.Rows.d] {
					squared += math.Pow(float64(v-zOf(r)[i*p.Rows.d+k]), 2)
				}
				if nearest = min(nearest, squared); c != p.Labels[0] {
					other = min(other, squared)
				}
			}
			for _, x := range [...][2]float64{{nearest, float64(r.Distance[i])}, {other, float64(others[i])}} {
				if math.Abs(x[0]-x[1]*x[1]) > 1e-4 {
					t.Fatalf("seed %d, row %d: a squared distance of %g, not %g", seed, i, x[1]*x[1], x[0])
				}
			}
		}
	}
}

// A labelled row whose square overflows, and one that is the mean, have no direction, and spoil no other row.
func TestLabelledRowsWithoutADirection(t *testing.T) {
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		p := drawn(seed)
		if p.Embedding == nil || p.Embedding.Metric == nil || len(p.Examples.labels) < 3 {
			continue
		}
		clear(p.Examples.rows.values[p.Rows.d : 2*p.Rows.d])
		p.Embedding.Mean = make([]float32, p.Rows.d)
		for _, huge := range []float32{1, 1e25, 1e34} {
			q := *p
			q.Examples.rows.values = slices.Clone(p.Examples.rows.values)
			for j := range q.Examples.rows.values[:p.Rows.d] {
				q.Examples.rows.values[j] *= huge
			}
			beside := setsOf(t, &q, settings.Power, rand.New(rand.NewPCG(seed, 5)))
			for _, beside.Examples.cache = range []*ExampleCache{nil, {}} {
				solve, err := New(settings)
				if err != nil {
					t.Fatal(err)
				}
				r, err := assessed(solve.Solve(context.Background(), beside))
				if err != nil {
					t.Fatal(err)
				}
				for _, values := range [][]float32{r.S, r.Confidence, r.Agreement, r.Distance} {
					if i := vector.NotFinite(values); i >= 0 {
						t.Fatalf("seed %d, one row times %g: value %g at %d", seed, huge, values[i], i)
					}
				}
			}
		}
	}
}
