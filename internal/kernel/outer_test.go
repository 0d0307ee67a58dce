package kernel

import "testing"

// BenchmarkAddOuter adds one episode's residuals to a scatter matrix.
func BenchmarkAddOuter(b *testing.B) {
	const n, d = 100, 512
	x, out := uniform(n*d, 1), make([]float32, d*d)
	for b.Loop() {
		AddOuter(out, x, n, d)
	}
	b.ReportMetric(float64(n)*d*(d+1)*float64(b.N)/b.Elapsed().Seconds()/1e9, "gflop/s")
}
