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
		p := &solver.Problem{N: n, D: d, K: k, Rows: make([]float32, n*d), Labels: make([]int32, n), Embedding: embedding}
		for i := range n {
			for j := range d {
				p.Rows[i*d+j] = .1 * float32(random.NormFloat64())
			}
			p.Rows[i*d+i%k]++
			p.Rows[i*d+d-1] += float32(random.NormFloat64())
			if p.Labels[i] = -1; i < k {
				p.Labels[i] = int32(i)
			}
		}
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			log.Fatal(err)
		}
		scatter.Update(metric.Episode{Z: r.Z, S: r.S, Labels: p.Labels, K: k})
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
