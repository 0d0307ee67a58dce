package metric

import (
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"
)

// episode is 100 z-rows of ten classes with their S. Their residuals spread more along some axes
// than along others.
func episode(random *rand.Rand, d int) (z, soft []float32) {
	const n, k = 100, 10
	z, soft = make([]float32, n*d), make([]float32, n*k)
	for i := range n {
		row := z[i*d : i*d+d]
		for j := range row {
			row[j] = float32(random.NormFloat64()) / float32(1+j%32)
		}
		row[i%k] += 3
		vector.Unit(row, row)
		soft[i*k+i%k] = 1
	}
	return z, soft
}

// The cost of a stream's metric at 512 dimensions: adding an episode, and making the metric.
func BenchmarkMetric(b *testing.B) {
	const d, k = 512, 10
	random := rand.New(rand.NewPCG(1, 2))
	var seen *Compact
	for range 8 {
		z, soft := episode(random, d)
		seen = seen.With(1, Rows{z, make([]float32, d), make([]float32, len(z)/d), soft, k}, true)
	}
	z, soft := episode(random, d)
	b.Run("fold", func(b *testing.B) {
		for b.Loop() {
			seen.With(1, Rows{z, make([]float32, d), make([]float32, len(z)/d), soft, k}, true)
		}
	})
	labels := make([]int32, 50)
	for i := range labels {
		labels[i] = int32(i % k)
	}
	from := Material{Seen: seen, Variety: 1, Z: z[:50*d], Labels: labels, Classes: k, Rank: 32, Shrink: .85}
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			made := from
			if m, err := made.Metric(); err != nil || m == nil {
				b.Fatal(m, err)
			}
		}
	})
}
