package solver

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A space whose rows get other labels solves like a new one with these labels and the mean of before.
func TestLabel(t *testing.T) {
	for _, preset := range []Preset{DefaultPreset, "paper"} {
		for _, method := range Methods {
			for seed := range uint64(9) {
				t.Run(fmt.Sprint(preset, method, seed), func(t *testing.T) { labelledAnew(t, preset, method, seed) })
			}
		}
	}
}

func labelledAnew(t *testing.T, preset Preset, method Method, seed uint64) {
	settings, err := preset.Settings()
	if err != nil {
		t.Fatal(err)
	}
	settings.Method = method
	p := drawn(seed)
	random := rand.New(rand.NewPCG(seed, 8))
	if seed%3 == 0 {
		p.Embedding = nil
	}
	if seed%2 == 0 {
		p = setsOf(t, p, settings.Power, random)
		p.Examples.cache = &ExampleCache{}
	}
	if len(p.Examples.labels) == 0 && len(p.Examples.sets) == 0 && p.Prior == nil {
		t.Skip("without its labels it is a clustering")
	}
	labels, hidden := p.Labels, slices.Repeat([]int32{-1}, p.Rows.N())
	for _, engine := range []engine{bySize, rowEngine} {
		q := *p
		solve, err := New(settings)
		if err != nil {
			t.Fatal(err)
		}
		solve.engine = engine
		space, err := solve.Embed(&q)
		if err != nil {
			t.Fatal(err)
		}
		for _, labels := range [][]int32{hidden, labels, hidden} {
			if err := space.Label(labels); err != nil {
				t.Fatal(err)
			}
			got, err := assessed(space.Solve(context.Background()))
			if err != nil {
				t.Fatal(err)
			}
			other := *p
			other.Labels, other.Examples.cache = labels, nil
			other.Embedding = &Embedding{Mean: slices.Clone(space.Mean())}
			if p.Embedding != nil {
				other.Embedding.Metric = p.Embedding.Metric
			}
			fresh, err := New(settings)
			if err != nil {
				t.Fatal(err)
			}
			fresh.engine = engine
			want, err := assessed(fresh.Solve(context.Background(), &other))
			if err != nil {
				t.Fatal(err)
			}
			closeResults(t, want, got, p.Rows.N())
			if !slices.Equal(want.Labels, got.Labels) {
				t.Fatalf("labels %v, not %v", got.Labels, want.Labels)
			}
		}
		if err := space.Label(labels[1:]); err == nil {
			t.Error("too few labels: no error")
		}
	}
}
