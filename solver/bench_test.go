package solver_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// episodeOf is a few-shot episode: n rows of dimension d, shots labelled rows a class, and a learned metric
// of rank 32.
func episodeOf(tb testing.TB, n, d, k, shots int) (solver.Settings, *solver.Problem) {
	settings, err := solver.Preset("default").Settings()
	if err != nil {
		tb.Fatal(err)
	}
	task := func(seed uint64) *solver.Problem {
		rows, truth := blobs(seed, n, d, k, 3)
		p := &solver.Problem{
			Rows:      solver.Matrix(rows, d),
			K:         k,
			Labels:    make([]int32, n),
			Embedding: &solver.Embedding{Mean: make([]float32, d)},
		}
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
	scatter := metric.NewScatter(d)
	for seed := range uint64(8) {
		p := task(seed)
		x, err := solve.Embed(p)
		if err != nil {
			tb.Fatal(err)
		}
		r, err := x.Solve(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		scatter.Update(metric.Episode{Z: x.Z(), S: r.S, Labels: p.Labels, K: p.K})
	}
	p := task(99)
	if p.Embedding.Metric, err = scatter.Refresh(settings.MetricRank, settings.MetricShrink); err != nil {
		tb.Fatal(err)
	}
	return settings, p
}

// BenchmarkEpisode solves one episode from raw float32 rows to labels: power, metric, graph, solve; one core.
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

// givenGraph joins each row with rho others of its class, drawn at random: a search for neighbours would cost
// more than the solve.
func givenGraph(truth []int32, k, rho int) *index.Affinity {
	n := len(truth)
	random := rand.New(rand.NewPCG(1, 1))
	members := make([][]int32, k)
	for p, y := range truth {
		members[y] = append(members[y], int32(p))
	}
	lists := &index.Neighbours{N: n, Rho: rho, IDs: make([]int32, n*rho)}
	for p, y := range truth {
		for j := range rho {
			q := members[y][random.IntN(len(members[y]))]
			for q == int32(p) || slices.Contains(lists.IDs[p*rho:p*rho+j], q) {
				q = members[y][random.IntN(len(members[y]))]
			}
			lists.IDs[p*rho+j] = q
		}
	}
	return lists.Symmetric()
}

// BenchmarkLarge solves a whole set with a given graph: 12 prototype steps from k-means++.
func BenchmarkLarge(b *testing.B) {
	for _, size := range []struct{ n, d, k int }{{10_000, 64, 10}, {1_000_000, 64, 10}, {100_000, 128, 100}} {
		b.Run(fmt.Sprintf("n%d-d%d-k%d", size.n, size.d, size.k), func(b *testing.B) {
			rows, truth := blobs(1, size.n, size.d, size.k, 1)
			graph := givenGraph(truth, size.k, 5)
			settings, err := solver.Clustering("slk-means")
			if err != nil {
				b.Fatal(err)
			}
			settings.Start, settings.Outer, settings.Inner, settings.Tolerance = solver.StartKMeans, 12, 1, 0
			solve, err := solver.New(settings)
			if err != nil {
				b.Fatal(err)
			}
			sweeps := 0
			for b.Loop() {
				r, err := solve.Solve(context.Background(), &solver.Problem{
					Rows: solver.Matrix(rows, size.d), K: size.k, Graph: solver.GraphOf(graph),
				})
				if err != nil {
					b.Fatal(err)
				}
				sweeps += r.Sweeps
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(sweeps)/float64(size.n), "ns/point/sweep")
		})
	}
}

// BenchmarkClasses solves a whole set of many classes with a given graph, 12 prototype steps from one row a
// class: with classes that lie apart, and with classes that overlap.
func BenchmarkClasses(b *testing.B) {
	const n, d, k = 100_000, 128, 100
	for _, spread := range []float64{1, 3} {
		b.Run(fmt.Sprintf("spread%g", spread), func(b *testing.B) {
			rows, truth := blobs(1, n, d, k, spread)
			graph := givenGraph(truth, k, 5)
			settings, err := solver.Clustering("slk-means")
			if err != nil {
				b.Fatal(err)
			}
			settings.Outer, settings.Inner, settings.Tolerance, settings.Tau = 12, 1, 0, 5
			p := &solver.Problem{
				Rows: solver.Matrix(rows, d), K: k, Labels: make([]int32, n),
				Graph: solver.GraphOf(graph),
			}
			for i, y := range truth {
				if p.Labels[i] = -1; i < k {
					p.Labels[i] = y
				}
			}
			solve, err := solver.New(settings)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := solve.Solve(context.Background(), p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// solved returns an episode of dimension 512 to learn from.
func solved(b *testing.B) (solver.Settings, metric.Episode) {
	settings, p := episodeOf(b, 100, 512, 5, 1)
	solve, err := solver.New(settings)
	if err != nil {
		b.Fatal(err)
	}
	x, err := solve.Embed(p)
	if err != nil {
		b.Fatal(err)
	}
	r, err := x.Solve(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return settings, metric.Episode{Z: x.Z(), S: r.S, Labels: p.Labels, K: p.K}
}

// BenchmarkUpdate measures learning from an episode.
func BenchmarkUpdate(b *testing.B) {
	_, of := solved(b)
	scatter := metric.NewScatter(512)
	b.ReportAllocs()
	for b.Loop() {
		scatter.Update(of)
	}
}

// BenchmarkRefresh measures making a metric.
func BenchmarkRefresh(b *testing.B) {
	settings, of := solved(b)
	scatter := metric.NewScatter(512)
	for range 4 {
		scatter.Update(of)
	}
	for b.Loop() {
		if _, err := scatter.Refresh(settings.MetricRank, settings.MetricShrink); err != nil {
			b.Fatal(err)
		}
	}
}
