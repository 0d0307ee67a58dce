package solver_test

import (
	"context"
	"fmt"
	"testing"

	"slkstream/solver"
)

// episodeOf is a few-shot episode: n rows of dimension d, shots labelled rows a class, a metric of rank 32 learned before.
func episodeOf(tb testing.TB, n, d, k, shots int) (solver.Settings, *solver.Problem) {
	settings, err := solver.Preset("default")
	if err != nil {
		tb.Fatal(err)
	}
	task := func(seed uint64) *solver.Problem {
		rows, truth := blobs(seed, n, d, k, 3)
		p := &solver.Problem{Rows: rows, N: n, D: d, K: k, Labels: make([]int32, n), Embedding: &solver.Embedding{Mean: make([]float32, d)}}
		for i := range n {
			if p.Labels[i] = -1; i < shots*k {
				p.Labels[i] = truth[i]
			}
		}
		return p
	}
	solve, err := solver.New(settings)
	if err != nil {
		tb.Fatal(err)
	}
	scatter := solver.NewScatter(d, 0)
	for seed := range uint64(8) {
		p := task(seed)
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			tb.Fatal(err)
		}
		scatter.Update(p, r)
	}
	p := task(99)
	if p.Embedding.Metric, err = scatter.Refresh(settings.MetricRank, settings.MetricShrink); err != nil {
		tb.Fatal(err)
	}
	return settings, p
}

// BenchmarkEpisode is one episode from raw float32 rows to labels: power, metric, graph, solve; one core.
func BenchmarkEpisode(b *testing.B) {
	for _, size := range []struct{ n, d, k, shots int }{{100, 512, 5, 5}, {100, 512, 5, 1}, {400, 1280, 20, 5}, {100, 64, 5, 5}} {
		b.Run(fmt.Sprintf("n%d-d%d-k%d-shots%d", size.n, size.d, size.k, size.shots), func(b *testing.B) {
			settings, p := episodeOf(b, size.n, size.d, size.k, size.shots)
			solve, err := solver.New(settings)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := solve.Solve(context.Background(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
