package solver_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/solver"
)

// blobs draws n rows of dimension d around k well separated centres.
func blobs(seed uint64, n, d, k int, spread float64) ([]float32, []int32) {
	random := rand.New(rand.NewPCG(seed, 1))
	centres := make([]float64, k*d)
	for i := range centres {
		centres[i] = random.NormFloat64()
	}
	rows, truth := make([]float32, n*d), make([]int32, n)
	for p := range n {
		truth[p] = int32(p % k)
		for i := range d {
			rows[p*d+i] = float32(centres[int(truth[p])*d+i] + spread*random.NormFloat64())
		}
	}
	return rows, truth
}

func TestFewShot(t *testing.T) {
	for _, preset := range solver.Presets {
		for _, method := range solver.Methods {
			t.Run(string(preset)+"/"+string(method), func(t *testing.T) {
				settings, err := preset.Settings()
				if err != nil {
					t.Fatal(err)
				}
				settings.Method, settings.Check = method, true
				solve, err := solver.New(settings)
				if err != nil {
					t.Fatal(err)
				}
				const n, d, k = 105, 32, 5
				rows, truth := blobs(3, n, d, k, .5)
				p := &solver.Problem{Rows: solver.Matrix(rows, d), K: k, Labels: make([]int32, n), Judge: true}
				for i := range n {
					p.Labels[i] = -1
					if i < 2*k {
						p.Labels[i] = truth[i]
					}
				}
				r, err := solve.Solve(context.Background(), p)
				if err != nil {
					t.Fatal(err)
				}
				right := 0
				for i, y := range r.Labels {
					if y == truth[i] {
						right++
					}
				}
				if right < n*95/100 {
					t.Errorf("%d of %d right", right, n)
				}
				for i, y := range r.Labels[:2*k] {
					if y != truth[i] {
						t.Errorf("labelled row %d: answer %d, label %d", i, y, truth[i])
					}
				}
				if preset != "paper" && r.Rises > 0 {
					t.Errorf("R rose in %d half-steps: %v", r.Rises, r.Trace)
				}
			})
		}
	}
}

// A solve without R gives the same answers. With Check it computes R nevertheless.
func TestJudge(t *testing.T) {
	settings, err := solver.DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	rows, labels := blobs(3, 60, 16, 3, .5)
	for i := range labels {
		if i >= 6 {
			labels[i] = -1
		}
	}
	var results [4]solver.Result
	for i := range results {
		settings.Check = i >= 2
		solve, err := solver.New(settings)
		if err != nil {
			t.Fatal(err)
		}
		p := &solver.Problem{Rows: solver.Matrix(rows, 16), K: 3, Labels: labels, Judge: i%2 == 0}
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		results[i] = *r.Assess()
		if !slices.Equal(r.S, results[0].S) || !slices.Equal(r.Confidence, results[0].Confidence) {
			t.Errorf("solve %d answers otherwise", i)
		}
		if judged := r.ObjectiveAfter != 0; judged != (i != 1) {
			t.Errorf("solve %d: R %g", i, r.ObjectiveAfter)
		}
	}
}
