package metric_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// Solved episodes show along which axes one class spreads, and the metric of later episodes shrinks these.
// Here the classes differ along the first axes and all of them spread along the last.
func ExampleScatter() {
	settings, err := solver.Preset("default").Settings()
	if err != nil {
		log.Fatal(err)
	}
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	const n, d, k = 60, 8, 3
	random := rand.New(rand.NewPCG(1, 2))
	scatter := metric.NewScatter(d)
	embedding := &solver.Embedding{Mean: make([]float32, d)}
	for range 4 {
		rows, labels := make([]float32, n*d), make([]int32, n)
		for i := range n {
			for j := range d {
				rows[i*d+j] = .1 * float32(random.NormFloat64())
			}
			rows[i*d+i%k]++
			rows[i*d+d-1] += float32(random.NormFloat64())
			if labels[i] = -1; i < k {
				labels[i] = int32(i)
			}
		}
		space, err := solve.Embed(&solver.Problem{Rows: solver.Matrix(rows, d), K: k, Labels: labels, Embedding: embedding})
		if err != nil {
			log.Fatal(err)
		}
		r, err := space.Solve(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		scatter.Update(metric.Episode{Z: space.Z(), S: r.S, Labels: labels, K: k})
		embedding.Metric, err = scatter.Refresh(settings.MetricRank, settings.MetricShrink)
		if err != nil {
			log.Fatal(err)
		}
	}
	var u metric.Map
	embedding.Metric.About(nil, &u)
	first := u.Vectors[:d] // the direction shrunk most
	fmt.Printf("%.1f of axis %d\n", math.Abs(float64(first[d-1])), d-1)
	// Output: 1.0 of axis 7
}
