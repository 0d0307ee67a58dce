package file

import (
	"context"

	"github.com/slkstream/slkstream/internal/kernel"
)

// poisson returns the solution of Poisson learning for classes [from, to), a value for each row and class:
// each labelled row is a source of its class and a sink of the others, (L + weight D) x = sum_l (y_l -
// mean y) delta_l. class is -1 for a row without a label.
func (s *system) poisson(ctx context.Context, class []int32, from, to int, told progress) ([]float32, error) {
	n, k := s.graph.N(), to-from
	mean, labelled := make([]float32, k), float32(0)
	for _, y := range class {
		if y >= 0 {
			labelled++
			if int(y) >= from && int(y) < to {
				mean[int(y)-from]++
			}
		}
	}
	kernel.Scale(1/max(1, labelled), mean)
	b := cleared(&s.memory.b, n*k)
	for p, y := range class {
		if y >= 0 {
			kernel.Axpy(-1, mean, b[p*k:p*k+k])
			if int(y) >= from && int(y) < to {
				b[p*k+int(y)-from]++
			}
		}
	}
	return s.solve(ctx, b, make([]float32, n*k), k, told)
}

// harmonic is the system in which labelled rows keep their class and every other row is the mean of its
// neighbours, drawn to its evidence by weight, relative to its degree.
type harmonic struct {
	system
	weight float32
}

func newHarmonic(similar similarity, class []int32, weight float32) harmonic {
	fixed := make([]bool, len(class))
	for p, y := range class {
		fixed[p] = y >= 0
	}
	return harmonic{newSystem(similar, weight, fixed), weight}
}

// classes solves for classes [from, to). evidence has a value for each row and class and 0 at fixed
// rows, and is overwritten; nil: none.
func (s *harmonic) classes(ctx context.Context, class []int32, from, to int, evidence []float32, told progress,
) ([]float32, error) {
	n, k := s.graph.N(), to-from
	b := cleared(&s.memory.b, n*k)
	if evidence == nil {
		evidence = make([]float32, n*k)
	}
	holds := func(q int32) bool { return int(class[q]) >= from && int(class[q]) < to }
	eachChunk(n, func(_, first, last int) {
		for p := first; p < last; p++ {
			if class[p] >= 0 {
				continue
			}
			kernel.Axpy(s.weight/(1+s.weight)*s.diagonal[p], evidence[p*k:p*k+k], b[p*k:p*k+k])
			columns, weights := s.graph.Row(p)
			for j, q := range columns {
				if holds(q) {
					b[p*k+int(class[q])-from] += weights[j]
				}
			}
		}
	})
	x, err := s.solve(ctx, b, evidence, k, told)
	for p := range n {
		if err == nil && holds(int32(p)) {
			x[p*k+int(class[p])-from] = 1
		}
	}
	return x, err
}

// reach returns the share of labels in what arrives at each row; the rest is its evidence.
func (s *harmonic) reach(ctx context.Context, class []int32) ([]float32, error) {
	one := make([]int32, len(class))
	for p, y := range class {
		one[p] = min(y, 0)
	}
	return s.classes(ctx, one, 0, 1, nil, func(int, int) {})
}

// means returns the mean of each class in x, weighted by degree. Less it, small classes are protected from large ones.
func means(x, degree []float32, k int) []float32 {
	total, sums, out := 0., make([]float64, k), make([]float32, k)
	for p, w := range degree {
		total += float64(w)
		for c, v := range x[p*k : p*k+k] {
			sums[c] += float64(w) * float64(v)
		}
	}
	for c, sum := range sums {
		out[c] = float32(sum / max(total, 1e-30))
	}
	return out
}
