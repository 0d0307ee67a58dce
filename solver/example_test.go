package solver_test

import (
	"context"
	"fmt"
	"log"

	"github.com/slkstream/slkstream/solver"
)

// Two labelled rows teach six others: few-shot.
func ExampleSolver_Solve() {
	settings, err := solver.Preset("default")
	if err != nil {
		log.Fatal(err)
	}
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	r, err := solve.Solve(context.Background(), &solver.Problem{
		N: 8, D: 3, K: 2,
		Rows:   []float32{9, 1, 0, 0, 1, 9, 8, 1, 1, 9, 2, 0, 1, 0, 8, 0, 2, 9, 8, 0, 0, 1, 1, 7},
		Labels: []int32{0, 1, -1, -1, -1, -1, -1, -1}, // -1: to be solved
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Labels)
	// Output: [0 1 0 0 1 1 0 1]
}

// Without labels the same call parts the rows into clusters.
func ExampleClustering() {
	settings, err := solver.Clustering("slk-means")
	if err != nil {
		log.Fatal(err)
	}
	settings.Rho = 2 // of so few rows only two are near
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	rows := []float32{9, 1, 0, 0, 1, 9, 8, 1, 1, 9, 2, 0, 1, 0, 8, 0, 2, 9, 8, 0, 0, 1, 1, 7}
	r, err := solve.Solve(context.Background(), &solver.Problem{Rows: rows, N: 8, D: 3, K: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Labels)
	// Output: [0 1 0 0 1 1 0 1]
}

// A stream of episodes: what the solved ones tell of how classes spread becomes the metric of the next, and the class
// means that they leave behind its prior.
func ExampleScatter() {
	settings, err := solver.Preset("default")
	if err != nil {
		log.Fatal(err)
	}
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	const n, d, k = 60, 8, 3
	scatter := solver.NewScatter(d)
	embedding := &solver.Embedding{Mean: make([]float32, d)}
	prior := &solver.Prior{Means: make([]float32, k*d), Weights: make([]float32, k)}
	for episode := range 4 {
		rows, truth := blobs(1, n, d, k, .5+.03*float64(episode))
		p := &solver.Problem{
			Rows: rows, N: n, D: d, K: k, Embedding: embedding, Prior: prior,
			Anchors: rows[:k*d], AnchorLabels: truth[:k],
		} // one labelled row a class, kept from before
		r, err := solve.Solve(context.Background(), p)
		if err != nil {
			log.Fatal(err)
		}
		scatter.Update(p, r)
		if embedding.Metric, err = scatter.Refresh(embedding.Metric, settings.MetricRank, settings.MetricShrink); err != nil {
			log.Fatal(err)
		}
		learn(prior, p, r)
		fmt.Printf("episode %d: %d of %d right\n", episode, agree(r.Labels, truth), n)
	}
	// Output:
	// episode 0: 60 of 60 right
	// episode 1: 60 of 60 right
	// episode 2: 60 of 60 right
	// episode 3: 60 of 60 right
}

// learn moves the class means in z-space towards an episode's soft labels; a class weighs no more than its labelled items.
func learn(prior *solver.Prior, p *solver.Problem, r *solver.Result) {
	for c := range p.K {
		sum, mean := make([]float64, p.D), prior.Means[c*p.D:(c+1)*p.D]
		mass := float64(prior.Weights[c])
		for i, v := range mean {
			sum[i] = mass * float64(v)
		}
		for row := range p.N {
			s := float64(r.S[row*p.K+c])
			mass += s
			for i := range sum {
				sum[i] += s * float64(r.Z[row*p.D+i])
			}
		}
		for i := range sum {
			mean[i] = float32(sum[i] / max(mass, 1e-9))
		}
		prior.Weights[c] = 1
	}
}

func agree(a, b []int32) (count int) {
	for i := range a {
		if a[i] == b[i] {
			count++
		}
	}
	return count
}
