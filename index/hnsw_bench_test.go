//go:build !windows

package index

import (
	"context"
	"testing"
)

// BenchmarkGraphSearch searches a graph of 50,000 rows for vectors that it does not have. Its profile shows
// the library's share.
func BenchmarkGraphSearch(b *testing.B) {
	const n, d, held = 50_000, 128, 1000
	all := clustered(n+held, d, n/100, .5, 1)
	graph, err := testedGraph(context.Background(), all[:n*d], d, Options{Workers: 2})
	if err != nil || graph == nil {
		b.Fatalf("graph %v, %v", graph != nil, err)
	}
	measured := 0
	inner := graph.graph.Distance
	graph.graph.Distance = func(x, y []float32) float32 { measured++; return inner(x, y) }
	for q := range held {
		graph.search(nil, all[(n+q)*d:(n+q+1)*d], graph.candidates, -1)
	}
	graph.graph.Distance = inner
	b.ReportAllocs()
	var found []int32
	q := 0
	for b.Loop() {
		found = graph.search(found[:0], all[(n+q)*d:(n+q+1)*d], graph.candidates, -1)
		q = (q + 1) % held
	}
	b.ReportMetric(float64(measured)/held, "distances/op")
}
