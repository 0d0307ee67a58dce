package solver

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/index"
)

// With many classes at large N, S is sparse. R still falls at every half-step, and the labels are those of
// a dense S.
func TestSparseAssignments(t *testing.T) {
	const n, d, k = serial + 304, 12, sparseClasses + 6
	random := rand.New(rand.NewPCG(4, 4))
	p := &Problem{Rows: Rows{d: d}, K: k, Labels: make([]int32, n), Judge: true}
	centres := make([]float32, k*d)
	for i := range centres {
		centres[i] = float32(random.NormFloat64())
	}
	for i := range n {
		for j := range d {
			p.Rows.values = append(p.Rows.values, centres[i%k*d+j]+float32(.6*random.NormFloat64()))
		}
		if p.Labels[i] = -1; i < 2*k {
			p.Labels[i] = int32(i % k)
		}
	}
	lists, err := index.Build(context.Background(), p.Rows.values, n, d, index.Options{Rho: 5})
	if err != nil {
		t.Fatal(err)
	}
	p.Graph = GraphOf(lists.Symmetric())
	for _, method := range []Method{"slk-means", "slk-ms"} {
		for _, tau := range []float64{5, 30} {
			solve, _ := defaultSolver(t, func(s *Settings) {
				s.Method, s.Tau, s.Kappa, s.Check, s.Outer = method, tau, 2*tau, true, 4
				s.Lambda, s.Pull, s.Beta, s.PriorCounts, s.Tolerance = .8, .75, .25, 10, .01
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
			for i := range n {
				var sum float64
				for _, v := range r.S[i*k : i*k+k] {
					sum += float64(v)
				}
				if sum < 1-1e-5 || sum > 1+1e-5 {
					t.Fatalf("s of row %d sums to %g", i, sum)
				}
			}
			sparse := append([]int32(nil), r.Labels...)
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
			t.Logf(
				"%s, tau %g: %d of %d labels differ from a dense S; %d are right, %d with the dense one",
				method,
				tau,
				differ,
				n,
				right,
				denseRight,
			)
			if differ > n/50 {
				t.Errorf("%s, tau %g: %d of %d labels differ from a dense S", method, tau, differ, n)
			}
		}
	}
}
