package solver

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/sample"
)

// The order of rows is the order of updates, and may lead to another minimum. The test logs how often, and
// this must stay rare: bench/NOTES.md quotes it.
func TestOrderOfRowsRarelyMatters(t *testing.T) {
	const episodes, n = 60, 100
	settings, err := Preset("default").Settings()
	if err != nil {
		t.Fatal(err)
	}
	solve := func(p *Problem) *Result {
		solver, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		r, err := solver.Solve(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, shots := range []int{1, 5} {
		differ, apart := 0, 0
		for episode := range episodes {
			random := rand.New(rand.NewPCG(uint64(episode), uint64(shots)))
			p, _ := drawDigits(random, n, shots)
			order := random.Perm(n)
			q := &Problem{Rows: Rows{d: p.Rows.d}, K: p.K, Judge: true}
			for _, i := range order {
				q.Rows.values, q.Labels = append(q.Rows.values, p.Rows.values[i*p.Rows.d:(i+1)*p.Rows.d]...), append(q.Labels, p.Labels[i])
			}
			a, b := solve(p), solve(q)
			for j, i := range order {
				if a.Labels[i] != b.Labels[j] {
					differ++
				}
			}
			if math.Abs(a.ObjectiveAfter-b.ObjectiveAfter) > 1e-3*math.Abs(a.ObjectiveAfter) {
				apart++
			}
		}
		t.Logf(
			"%d labelled rows a class: %.2f %% of labels differ, R is apart by more than a thousandth in %d of %d episodes",
			shots,
			100*float64(differ)/episodes/n,
			apart,
			episodes,
		)
		if differ > episodes*n*3/100 {
			t.Errorf("%d labelled rows a class: %d of %d labels differ", shots, differ, episodes*n)
		}
	}
}

// drawDigits is an episode of n handwritten digits, shots of each class labelled, with the true classes.
func drawDigits(random *rand.Rand, n, shots int) (*Problem, []int32) {
	set := sample.Digits()
	p := &Problem{Rows: Rows{d: set.Side * set.Side}, K: len(set.Names), Judge: true}
	var truth []int32
	seen := make([]int, p.K)
	for _, i := range random.Perm(set.N())[:n] {
		for _, v := range set.Image(i) {
			p.Rows.values = append(p.Rows.values, float32(v))
		}
		y := set.Labels[i]
		truth = append(truth, y)
		if seen[y]++; seen[y] > shots {
			y = -1
		}
		p.Labels = append(p.Labels, y)
	}
	return p, truth
}

// The reason to update points one after the other: the same sweeps from the old S (Jacobi) let R rise if the
// graph weighs much, and need more sweeps to converge. bench/NOTES.md quotes the log with SLKSTREAM_TEST_LONG.
func TestJacobiRises(t *testing.T) {
	const n, most = 100, 200
	episodes := 8
	if os.Getenv("SLKSTREAM_TEST_LONG") != "" {
		episodes = 30
	}
	solve, settings := defaultSolver(t, nil)
	for _, lambda := range []float64{.8, 4, 20} {
		var sweeps, rises, still, right, points [2]int
		for episode := range episodes {
			p, truth := drawDigits(rand.New(rand.NewPCG(uint64(episode), 1)), n, 1)
			r, err := solve.Solve(context.Background(), p)
			if err != nil {
				t.Fatal(err)
			}
			settings.Lambda = lambda
			for way := range 2 {
				j := newJudge(settings, p, r.episode.graph.Affinity)
				j.start()
				sweep := func() float64 { return j.sweep(true) }
				if way == 1 {
					sweep = j.jacobi
				}
				before := j.objective()
				for range most {
					change := sweep()
					sweeps[way]++
					now := j.objective()
					if now > before+1e-9*max(1, math.Abs(before)) {
						rises[way]++
					}
					if before = now; change <= 1e-6 {
						still[way]++
						break
					}
				}
				for i, y := range truth {
					if j.label[i] >= 0 {
						continue
					}
					if points[way]++; slices.Index(j.s[i], slices.Max(j.s[i])) == int(y) {
						right[way]++
					}
				}
			}
		}
		for way, name := range []string{"Gauss-Seidel", "Jacobi"} {
			t.Logf(
				"lambda %g, %s: %.1f sweeps to a change of a millionth, %d of %d episodes reach it within %d, R rose in %d of %d sweeps, %.1f %% right",
				lambda,
				name,
				float64(sweeps[way])/float64(episodes),
				still[way],
				episodes,
				most,
				rises[way],
				sweeps[way],
				100*float64(right[way])/float64(points[way]),
			)
		}
		if rises[0] > 0 {
			t.Errorf("lambda %g: R rose in %d sweeps of Gauss-Seidel", lambda, rises[0])
		}
		if lambda == 20 && rises[1] == 0 {
			t.Error("R never rose in a sweep of Jacobi: then why go one after the other?")
		}
	}
}
