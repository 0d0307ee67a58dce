package solver

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/slkstream/slkstream/internal/sample"
)

// digits is a few-shot episode of real rows: pixels of handwritten digits.
func digits(t *testing.T, n, shots int) (*Problem, []int32) {
	t.Helper()
	set := sample.Digits()
	p := &Problem{Rows: Rows{d: set.Side * set.Side}, K: 10, Judge: true}
	var truth []int32
	seen := make([]int, 10)
	for i := range min(n, set.N()) {
		for _, v := range set.Image(i) {
			p.Rows.values = append(p.Rows.values, float32(v))
		}
		y := set.Labels[i]
		truth = append(truth, y)
		if seen[y]++; seen[y] <= shots {
			p.Labels = append(p.Labels, y)
		} else {
			p.Labels = append(p.Labels, -1)
		}
	}
	return p, truth
}

func TestEnginesAgainstTheJudge(t *testing.T) {
	check := func(name string, p *Problem, settings Settings) {
		for _, engine := range []engine{rowEngine, gramEngine} {
			t.Run(fmt.Sprint(name, "/", engine), func(t *testing.T) {
				solve, err := New(settings)
				if err != nil {
					t.Fatal(err)
				}
				solve.engine = engine
				r, err := assessed(solve.Solve(context.Background(), p))
				if err != nil {
					t.Fatal(err)
				}
				j := newJudge(settings, p, r.episode.graph.Affinity)
				j.solve()
				if want := j.objective(); math.Abs(r.ObjectiveAfter-want) > 1e-5*max(1, math.Abs(want)) {
					t.Errorf("R is %g, the judge has %g", r.ObjectiveAfter, want)
				}
				for i := range p.Rows.N() {
					for c := range p.K {
						if got, want := float64(r.S[i*p.K+c]), j.s[i][c]; math.Abs(got-want) > 1e-4 {
							t.Fatalf("s of row %d, class %d: %g, the judge has %g", i, c, got, want)
						}
					}
				}
				for c := range p.K {
					for i, want := range j.c[c] {
						if got := float64(r.episode.centres()[c*p.Rows.d+i]); math.Abs(got-want) > 1e-4 {
							t.Fatalf("prototype %d at %d: %g, the judge has %g", c, i, got, want)
						}
					}
				}
				// R is computed at the result's own S and C, so that a wrong objective and a wrong descent cannot
				// hide each other.
				for i := range p.Rows.N() {
					j.s[i] = wide(r.S[i*p.K : i*p.K+p.K])
				}
				for c := range p.K {
					j.c[c] = wide(r.episode.centres()[c*p.Rows.d : c*p.Rows.d+p.Rows.d])
				}
				if want := j.objective(); math.Abs(r.ObjectiveAfter-want) > 1e-5*max(1, math.Abs(want)) {
					t.Errorf("R is %g, at its S and C the judge has %g", r.ObjectiveAfter, want)
				}
			})
		}
	}
	for _, preset := range []string{"default"} {
		settings, err := Preset(preset).Settings()
		if err != nil {
			t.Fatal(err)
		}
		for _, shots := range []int{1, 5} {
			p, _ := digits(t, 150, shots)
			check(fmt.Sprintf("digits %s %d", preset, shots), p, settings)
		}
		for seed := range uint64(10) {
			check(fmt.Sprintf("drawn %s %d", preset, seed), drawn(seed), settings)
			check(fmt.Sprintf("drawn with edges and evidence %s %d", preset, seed), withTerms(seed), settings)
		}
	}
	for _, method := range []Method{"slk-ms", "kmodes", "kmeans", "laplacianshot", "nearest"} {
		settings, err := Preset("default").Settings()
		if err != nil {
			t.Fatal(err)
		}
		settings.Method = method
		p, _ := digits(t, 150, 5)
		check("digits "+string(method), p, settings)
		for seed := range uint64(5) {
			check(fmt.Sprintf("drawn %s %d", method, seed), drawn(seed), settings)
			check(fmt.Sprintf("drawn with edges and evidence %s %d", method, seed), withTerms(seed), settings)
		}
	}
}
