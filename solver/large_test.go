package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// With many classes at large N, S is sparse. R still falls at every half-step, and the labels are those of
// a dense S.
func TestSparseAssignments(t *testing.T) {
	const n, d, k = serial + 304, 12, sparseClasses + 6
	random := rand.New(rand.NewPCG(4, 4))
	p := &Problem{N: n, D: d, K: k, Labels: make([]int32, n), Judge: true}
	centres := make([]float32, k*d)
	for i := range centres {
		centres[i] = float32(random.NormFloat64())
	}
	for i := range n {
		for j := range d {
			p.Rows = append(p.Rows, centres[i%k*d+j]+float32(.6*random.NormFloat64()))
		}
		if p.Labels[i] = -1; i < 2*k {
			p.Labels[i] = int32(i % k)
		}
	}
	lists, err := index.Build(context.Background(), p.Rows, n, d, index.Options{Rho: 5})
	if err != nil {
		t.Fatal(err)
	}
	p.Affinity = lists.Symmetric()
	for _, method := range []Method{"slk-means", "slk-ms"} {
		for _, tau := range []float64{5, 30} {
			solve, _ := defaultSolver(t, func(s *Settings) {
				s.Method, s.Tau, s.Kappa, s.Check, s.Outer = method, tau, 2*tau, true, 4
				s.Lambda, s.U, s.Beta, s.CPI, s.Tolerance = .8, .75, .25, 10, .01
			})
			r, err := solve.Solve(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			if r.S == nil || !solve.episode.s.sparse() {
				t.Fatal("S is dense, or the result has none")
			}
			if r.Rises > 0 {
				t.Errorf("%s, tau %g: R rose: %v", method, tau, r.Trace)
			}
			row := make([]float32, k)
			for i := range n {
				r.Row(i, row)
				var sum float64
				for c, v := range row {
					if v != r.S[i*k+c] {
						t.Fatalf("s of row %d, class %d is %g and %g", i, c, v, r.S[i*k+c])
					}
					sum += float64(v)
				}
				if sum < 1-1e-5 || sum > 1+1e-5 {
					t.Fatalf("s of row %d sums to %g", i, sum)
				}
			}
			sparse := append([]int32(nil), r.Labels...)
			solve.engine, solve.settings.Check = everyClass, false
			all, err := solve.Solve(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			apart := 0
			for i, y := range all.Labels {
				if y != sparse[i] {
					apart++
				}
			}
			if most := n / 1000; apart > most {
				t.Errorf("%s, tau %g: %d labels differ from those of full sweeps", method, tau, apart)
			}
			solve.engine, solve.settings.Check = denseRows, false
			if r, err = solve.Solve(context.Background(), p); err != nil {
				t.Fatal(err)
			}
			differ, right, denseRight := 0, 0, 0
			for i, y := range r.Labels {
				if y != sparse[i] {
					differ++
				}
				if y == int32(i%k) {
					denseRight++
				}
				if sparse[i] == int32(i%k) {
					right++
				}
			}
			t.Logf("%s, tau %g: %d of %d labels differ from a dense S; %d are right, %d with the dense one", method, tau, differ, n, right, denseRight)
			if differ > n/50 {
				t.Errorf("%s, tau %g: %d of %d labels differ from a dense S", method, tau, differ, n)
			}
		}
	}
}

// Bounds spare rows the comparison with most prototypes, and skip rows where nothing moved. R still falls at
// every half-step and ends where full sweeps end, with the same labels.
func TestBounds(t *testing.T) {
	const n, d, k = serial + 1000, 24, sparseClasses + 6
	random := rand.New(rand.NewPCG(5, 5))
	p := &Problem{N: n, D: d, K: k, Labels: make([]int32, n)}
	centres := make([]float32, k*d)
	for i := range centres {
		centres[i] = float32(random.NormFloat64())
	}
	lists := &index.Neighbours{N: n, Rho: 5, IDs: make([]int32, n*5)}
	for i := range n {
		for j := range d {
			p.Rows = append(p.Rows, centres[i%k*d+j]+float32(random.NormFloat64()))
		}
		if p.Labels[i] = -1; i < k {
			p.Labels[i] = int32(i)
		}
		for j := range 5 { // others of the class, all different
			lists.IDs[i*5+j] = int32((i%k + k*((i/k+1+14*j+random.IntN(14))%(n/k))))
		}
	}
	p.Affinity = lists.Symmetric()
	for _, method := range []Method{SLKMeans, SLKModes} {
		settings, err := Clustering(method)
		if err != nil {
			t.Fatal(err)
		}
		settings.Outer, settings.Inner, settings.Tolerance, settings.Tau, settings.Check = 12, 1, 0, 5, true
		settings.Kappa, settings.Sigma = 10, 1
		solve, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		compared := func() (rows int) {
			for _, w := range solve.episode.pool.workers {
				rows += w.compared
			}
			return rows
		}
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		if r.Rises > 0 {
			t.Errorf("%s: R rose: %v", method, r.Trace)
		}
		labels, end, few, sweeps := slices.Clone(r.Labels), r.ObjectiveAfter, compared(), r.Sweeps
		solve.engine = everyClass
		if r, err = solve.Solve(context.Background(), p); err != nil {
			t.Fatal(err)
		}
		differ := 0
		for i, y := range r.Labels {
			if y != labels[i] {
				differ++
			}
		}
		t.Logf("%s: %d sweeps compare %d rows, %d do %d; R %g and %g, %d labels differ",
			method, sweeps, few, r.Sweeps, compared(), end, r.ObjectiveAfter, differ)
		if few > compared()*3/4 {
			t.Errorf("%s: %d rows were compared with all prototypes, %d by full sweeps", method, few, compared())
		}
		if math.Abs(end-r.ObjectiveAfter) > 1e-5*math.Abs(end) || differ > n/1000 {
			t.Errorf("%s: R ends at %g, by full sweeps at %g; %d labels differ", method, end, r.ObjectiveAfter, differ)
		}
	}
}
