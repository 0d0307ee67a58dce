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

// The cost of a stream's metric at 512 dimensions, once it has one: adding an episode, and making the metric.
func BenchmarkMetric(b *testing.B) {
	const d, k, rank = 512, 10, 32
	random := rand.New(rand.NewPCG(1, 2))
	rows := func() Rows {
		z, soft := episode(random, d)
		return Rows{z, make([]float32, d), make([]float32, len(z)/d), soft, k}
	}
	labels := make([]int32, 50)
	for i := range labels {
		labels[i] = int32(i % k)
	}
	from := Material{Variety: 1, Z: rows().Z[:50*d], Labels: labels, Classes: k, Rank: rank, Shrink: .85}
	for range 8 {
		from.Seen = from.Seen.With(rows(), rank)
	}
	made := func() *Sketch {
		m, next, err := from.Metric()
		if err != nil || m == nil {
			b.Fatal(m, err)
		}
		return next
	}
	from.Seen = made()
	of := rows()
	b.Run("fold", func(b *testing.B) {
		for b.Loop() {
			from.Seen.With(of, rank)
		}
	})
	b.Run("made", func(b *testing.B) {
		for b.Loop() {
			made()
		}
	})
}
