package solver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Remembered distances are those that would be computed again, to the bit, whatever comes between: taught
// items, another metric, other labelled rows, shorter and longer episodes, equal rows.
func TestRememberedDistances(t *testing.T) {
	settings, err := DefaultPreset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(12) {
		p := drawn(seed)
		random := rand.New(rand.NewPCG(seed, 3))
		p.Examples.rows.values, p.Examples.labels = nil, nil
		if p.K > 1 && seed%2 == 0 { // the first class is only there when it is taught
			p.Prior = nil
		}
		for len(p.Examples.labels) < rememberedFrom {
			c := int32(random.IntN(p.K))
			if p.Prior == nil {
				c = max(c, min(1, int32(p.K)-1))
			}
			for range p.Rows.d {
				p.Examples.rows.values = append(p.Examples.rows.values, float32(random.NormFloat64()))
			}
			p.Examples.labels = append(p.Examples.labels, c)
		}
		sets := setsOf(t, p, settings.Power, random)
		solvers := make([]*Solver, 2)
		for i := range solvers {
			if solvers[i], err = New(settings); err != nil {
				t.Fatal(err)
			}
		}
		kept := &ExampleCache{}
		var past [][]float32
		for step := range 30 {
			q := *sets
			q.Labels = nil
			var rows [][]float32
			if step == 12 {
				q.Embedding = nil
			} else if step == 20 {
				q.Examples.sets = q.Examples.sets[1:]
			}
			now := 1 + random.IntN(4)
			for range now {
				row := slices.Clone(p.Rows.values[random.IntN(p.Rows.N())*p.Rows.d:][:p.Rows.d])
				if random.IntN(3) > 0 {
					row[random.IntN(p.Rows.d)]++
				}
				rows, q.Labels = append(rows, row), append(q.Labels, -1)
			}
			if random.IntN(8) == 0 {
				q.Labels[0] = 0
			}
			q.Earlier = min(len(past), 6*now, 30)
			for _, row := range past[len(past)-q.Earlier:] {
				rows, q.Labels = append(rows, row), append(q.Labels, -1)
			}
			if random.IntN(3) == 0 {
				q.Weights = &Weights{Prototypes: .5, Nearest: 4}
			}
			q.Rows = List(rows)
			past = append(past, rows[:now]...)
			var told [2]string
			for i, prepared := range []*ExampleCache{{}, kept} {
				q.Examples.cache = prepared
				r, err := assessed(solvers[i].Solve(context.Background(), &q))
				if err != nil {
					t.Fatal(err)
				}
				distances := make([]float32, 2*q.Rows.N())
				r.Distances(distances[:q.Rows.N()], -1)
				r.Distances(distances[q.Rows.N():], int32(step%p.K))
				told[i] = fmt.Sprint(r.Labels, r.S, r.Confidence, r.Agreement, r.Distance, distances,
					r.episode.graph.Affinity.Offsets, r.episode.graph.Affinity.Columns, r.episode.graph.Affinity.Weights)
			}
			if told[0] != told[1] {
				t.Fatalf("seed %d, step %d: computed\n%s\nand remembered\n%s", seed, step, told[0], told[1])
			}
			if got := len(kept.remembered.sums); q.Earlier > 0 && got != q.Earlier {
				t.Errorf("seed %d, step %d: %d of %d are remembered", seed, step, got, q.Earlier)
			}
			if step == 29 { // and they are not computed again
				clear(kept.remembered.nearestU)
				r, err := assessed(solvers[1].Solve(context.Background(), &q))
				if err != nil {
					t.Fatal(err)
				}
				if nearest := r.Distance[now:]; slices.Max(nearest) > 0 {
					t.Errorf("seed %d: distances %v where zeros were remembered", seed, nearest)
				}
			}
		}
	}
}
