package index

import (
	"context"
	"fmt"
	"testing"
)

func BenchmarkExact(b *testing.B) {
	for _, size := range []struct{ n, d int }{{100, 512}, {1000, 512}, {10000, 128}} {
		b.Run(fmt.Sprintf("%dx%d", size.n, size.d), func(b *testing.B) {
			rows := uniform(size.n*size.d, 1)
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Build(context.Background(), rows, size.n, size.d,
					Options{Rho: 5, Method: "exact", Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkApproximate(b *testing.B) {
	for _, method := range []string{"descent", "hnsw"} {
		for _, size := range []struct{ n, d int }{{10000, 64}, {50000, 128}, {1000000, 64}} {
			if method == "hnsw" && size.n > 10000 {
				continue // takes minutes; bench measures it once
			}
			b.Run(fmt.Sprintf("%s/%dx%d", method, size.n, size.d), func(b *testing.B) {
				rows := clustered(size.n, size.d, size.n/100, .5, 1)
				for b.Loop() {
					lists, err := Build(context.Background(), rows, size.n, size.d, Options{Rho: 5, Method: method})
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(lists.Report.Recall, "recall")
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size.n), "ns/row")
			})
		}
	}
}

func BenchmarkSymmetric(b *testing.B) {
	const n, d = 50000, 8
	lists, err := Build(context.Background(), clustered(n, d, 100, .5, 1), n, d, Options{Rho: 5})
	if err != nil {
		b.Fatal(err)
	}
	var a Affinity
	b.ReportAllocs()
	for b.Loop() {
		lists.SymmetricInto(&a)
	}
}
