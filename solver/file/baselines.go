package file

import (
	"context"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Baselines are known methods to label a file from few labels. They use the embedding and the graph with
// which Solve begins.
var Baselines = []string{"poisson", "laplace", "zero-mean-laplace", "nearest", "1nn"}

// Baseline labels the rows by one of Baselines.
func Baseline(ctx context.Context, p *Problem, method string, s Settings) ([]int32, error) {
	if !slices.Contains(Baselines, method) {
		return nil, fmt.Errorf("method %q: not one of %v", method, Baselines)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	l, err := load(ctx, p, &s, false, &Plan{})
	if err != nil {
		return nil, err
	}
	if !l.support {
		return nil, errNoLabel
	}
	switch method {
	case "nearest": // each class has labelled rows
		means, count := classSums(&l.points, l.class, l.k)
		for c, n := range count {
			kernel.Scale(1/n, means.Row(c))
		}
		class, _ := l.nearest(means)
		return class[:l.n], nil
	case "1nn":
		labelled, class := l.labelled()
		which, _ := l.nearest(labelled)
		for p, i := range which {
			which[p] = class[i]
		}
		return which[:l.n], nil
	}
	lists, err := l.search(ctx, &s)
	if err != nil {
		return nil, err
	}
	similar := similarities(lists, s.Seed)
	class := similar.in(l.class)
	// the published methods have no such weight
	var x []float32
	told := s.progress("spreading labels")
	switch method {
	case "poisson":
		system := newSystem(similar, leastWeight, nil)
		x, err = system.poisson(ctx, class, 0, l.k, told)
	default:
		system := newHarmonic(similar, class, leastWeight)
		x, err = system.classes(ctx, class, 0, l.k, nil, told)
		if err == nil && method == "zero-mean-laplace" {
			mean := means(x, degrees(similar.graph), l.k)
			for i := range x {
				x[i] -= mean[i%l.k]
			}
		}
	}
	if err != nil {
		return nil, err
	}
	out := make([]int32, l.all)
	for i, y := range largest(x, l.k) {
		out[similar.order[i]] = y
	}
	return out[:l.n], nil
}
