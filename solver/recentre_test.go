package solver

import (
	"context"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/metric"
)

// A prior and a metric with Inverse give the same results as ones that are relative to the problem's mean.
func TestPriorAndMetricFollowTheMean(t *testing.T) {
	for seed := range uint64(20) {
		p := drawn(seed)
		p.Judge = true
		if p.Prior == nil {
			p.Prior = &Prior{Means: make([]float32, p.K*p.Rows.d), Weights: make([]float32, p.K)}
			for i := range p.Prior.Means {
				p.Prior.Means[i] = float32(i%7-3) / 10
			}
			for c := range p.Prior.Weights {
				p.Prior.Weights[c] = float32(c % 3)
			}
		}
		centre, direction := make([]float32, p.Rows.d), make([]float32, p.Rows.d)
		direction[0], centre[p.Rows.d-1] = 1, .1
		learned := metric.Of(centre, direction, []float32{.5})
		p.Embedding = &Embedding{Metric: learned}
		solve, _ := defaultSolver(t, nil)
		first, err := assessed(solve.Solve(context.Background(), p))
		if err != nil {
			t.Fatal(err)
		}
		q, prior, far := *p, *p.Prior, *learned
		prior.Means, prior.Inverse = append([]float32{}, prior.Means...), make([]float32, p.K)
		for c := range prior.Inverse {
			prior.Inverse[c] = float32(c) / 4
			kernel.Axpy(prior.Inverse[c], solve.space.Mean(), prior.Means[c*p.Rows.d:(c+1)*p.Rows.d])
		}
		far.Centre, far.Inverse = append([]float32{}, far.Centre...), .7
		kernel.Axpy(far.Inverse, solve.space.Mean(), far.Centre)
		q.Prior, q.Embedding = &prior, &Embedding{Metric: &far}
		other, _ := defaultSolver(t, nil)
		second, err := assessed(other.Solve(context.Background(), &q))
		if err != nil {
			t.Fatal(err)
		}
		closeResults(t, first, second, p.Rows.N())
	}
}
