package file

import (
	"context"
	"errors"
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
	if p.K == 0 {
		return nil, errors.New("no row is labelled")
	}
	l, err := load(ctx, p, &s, true, false, &Plan{})
	if err != nil {
		return nil, err
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
	told := s.progress("spreading labels")
	if method != "poisson" {
		alone, less, err := l.labelsAlone(ctx, similar, told)
		if method == "laplace" {
			return alone.class[:l.n], err
		}
		return less.class[:l.n], err
	}
	system, out := newSystem(similar, leastWeight, nil), newSpread(l.all) // the published method has no such weight
	x, err := system.poisson(ctx, similar.in(l.class), 0, l.k, told)
	for i, v := range x {
		out.offer(similar.order[i/l.k], int32(i%l.k), v, 0)
	}
	return out.class[:l.n], err
}
