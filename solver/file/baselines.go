package file

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
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
	l, err := load(ctx, p, &s, &regime{manifold: manifold(p.N, p.K)}, &Plan{})
	if err != nil {
		return nil, err
	}
	if !l.support {
		return nil, errNoLabel
	}
	if method == "nearest" || method == "1nn" {
		return l.nearest(method == "nearest"), nil
	}
	lists, err := l.search(ctx, &s)
	if err != nil {
		return nil, err
	}
	similar := similarities(lists, nearby(&l.points))
	graph, class := similar.graph, similar.in(l.class)
	var x []float32
	told := s.progress("spreading labels")
	switch method {
	case "poisson":
		x, err = newPoisson(graph).poisson(ctx, class, 0, l.k, told)
	default:
		x, err = newHarmonic(graph, class, 0).classes(ctx, class, 0, l.k, nil, told)
		if err == nil && method == "zero-mean-laplace" {
			lessMean(x, slices.Repeat([]float32{1}, l.all), degrees(graph), l.k)
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

// nearest returns for each row the class of the nearest labelled row, or with means of the nearest mean of a
// class's labelled rows.
func (l *loaded) nearest(means bool) []int32 {
	d := l.points.D
	var examples vector.Matrix
	var class []int32
	if means {
		var count []float32
		examples, count = classSums(&l.points, l.class, l.k)
		for c, n := range count { // each class has labelled rows
			kernel.Scale(1/n, examples.Row(c))
			class = append(class, int32(c))
		}
	} else {
		examples, class = l.labelled()
	}
	out := make([]int32, l.n)
	eachChunk(l.n, func(_, from, to int) {
		rows := l.points.Rows(from, to, l.points.Scratch(chunk))
		for p := from; p < to; p++ {
			best := float32(math.Inf(1))
			for i, c := range class {
				if v := kernel.SquaredDistance(rows[(p-from)*d:(p-from+1)*d], examples.Row(i)); v < best {
					best, out[p] = v, c
				}
			}
		}
	})
	return out
}
