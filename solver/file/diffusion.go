package file

import (
	"context"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
)

// system is ((1 + weight) D - W) x = b over a graph, for several right sides at once. The matrix is symmetric
// and positive definite.
type system struct {
	graph    *index.Affinity
	diagonal []float32 // of the whole matrix
	fixed    []bool    // rows whose x is given and is in b already; nil: none
}

// Conjugate gradients stop below the share leftOver of the right sides, as the largest value of a row is the
// answer. On 40,000 rows in 96 classes, .001 takes about twice as many steps; one answer in 700 is different,
// and .9481 are right instead of .9475.
const leftOver = .01

// mostVisits bounds the visits to rows: conjugate gradients take at most 300 steps, fewer in large files, but
// no fewer than 25. A label moves one edge a step, and no two rows of a large graph without long chains are
// that far apart.
const mostVisits = 3e7

func mostSteps(n int) int { return max(25, min(300, int(mostVisits)/n)) }

// solve returns x, N x k, for the right sides b, N x k, by conjugate gradients with the diagonal as
// preconditioner: all columns take the same steps, so that a pass over the rows is one over memory. It begins
// with the given x, 0 at fixed rows, as b is. Both are overwritten.
func (s *system) solve(ctx context.Context, b, x []float32, k int, told progress) ([]float32, error) {
	n := len(s.diagonal)
	p, q, r := make([]float32, n*k), make([]float32, n*k), b
	partial := make([]float64, chunks(n))
	// sum adds f of each chunk of values in an order that does not depend on the number of cores.
	sum := func(f func(from, to int) float64) (total float64) {
		eachChunk(n, func(i, from, to int) { partial[i] = f(from, to) })
		for _, v := range partial {
			total += v
		}
		return total
	}
	residual := func(from, to int) (squares float64) {
		for row := from; row < to; row++ {
			own := r[row*k : row*k+k]
			squares += float64(kernel.Dot(own, own) / s.diagonal[row])
		}
		return squares
	}
	enough := sum(residual) * leftOver * leftOver
	rho := sum(func(from, to int) float64 {
		s.times(q, x, from, to, k)
		kernel.Axpy(-1, q[from*k:to*k], r[from*k:to*k])
		return residual(from, to)
	})
	turn := float32(0) // p is r over the diagonal, and so much of the p before
	most := mostSteps(n)
	for at := 0; at < most && rho > enough; at++ {
		told(at, most)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		eachChunk(n, func(_, from, to int) {
			kernel.Scale(turn, p[from*k:to*k])
			for row := from; row < to; row++ {
				kernel.Axpy(1/s.diagonal[row], r[row*k:row*k+k], p[row*k:row*k+k])
			}
		})
		product := sum(func(from, to int) (product float64) {
			s.times(q, p, from, to, k)
			for row := from; row < to; row++ {
				product += float64(kernel.Dot(p[row*k:row*k+k], q[row*k:row*k+k]))
			}
			return product
		})
		if product <= 0 { // less than float32 holds
			break
		}
		step := float32(rho / product)
		next := sum(func(from, to int) float64 {
			kernel.Axpy(step, p[from*k:to*k], x[from*k:to*k])
			kernel.Axpy(-step, q[from*k:to*k], r[from*k:to*k])
			return residual(from, to)
		})
		turn, rho = float32(next/rho), next
	}
	return x, nil
}

// times writes rows [from, to) of the matrix times x, k columns, to q. Fixed rows are 0 in x.
func (s *system) times(q, x []float32, from, to, k int) {
	for row := from; row < to; row++ {
		out := q[row*k : row*k+k]
		clear(out)
		if s.fixed != nil && s.fixed[row] {
			continue
		}
		if row+2 < len(s.diagonal) {
			ahead, _ := s.graph.Row(row + 2)
			kernel.Prefetch(x, k, ahead)
		}
		kernel.Axpy(s.diagonal[row], x[row*k:row*k+k], out)
		columns, weights := s.graph.Row(row)
		kernel.AddRows(out, -1, x, columns, weights)
	}
}

// leastDegree is used for a row without neighbours.
const leastDegree = 1e-6

// newPoisson returns the system of Poisson learning. The weight keeps values finite in a part of the graph
// that has labels of some classes only.
func newPoisson(graph *index.Affinity, weight float32) *system {
	s := &system{graph: graph, diagonal: degrees(graph)}
	for p, degree := range s.diagonal {
		s.diagonal[p] = (1 + weight) * max(degree, leastDegree)
	}
	return s
}

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
	b := make([]float32, n*k)
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

func newHarmonic(graph *index.Affinity, class []int32, weight float32) *harmonic {
	s := &harmonic{weight: weight, system: *newPoisson(graph, weight)}
	s.fixed = make([]bool, len(class))
	for p, y := range class {
		s.fixed[p] = y >= 0
	}
	return s
}

// classes solves for classes [from, to). said is the evidence, a value for each row and class and 0 at fixed
// rows, and is overwritten; nil: none.
func (s *harmonic) classes(ctx context.Context, class []int32, from, to int, said []float32, told progress,
) ([]float32, error) {
	n, k := s.graph.N(), to-from
	b := make([]float32, n*k)
	if said == nil {
		said = make([]float32, n*k)
	}
	holds := func(q int32) bool { return int(class[q]) >= from && int(class[q]) < to }
	for p := range n {
		if class[p] >= 0 {
			continue
		}
		kernel.Axpy(s.weight/(1+s.weight)*s.diagonal[p], said[p*k:p*k+k], b[p*k:p*k+k])
		columns, weights := s.graph.Row(p)
		for j, q := range columns {
			if holds(q) {
				b[p*k+int(class[q])-from] += weights[j]
			}
		}
	}
	x, err := s.solve(ctx, b, said, k, told)
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

// lessMean subtracts from each value the mean of its class, weighted by degree, which protects small classes
// from large ones.
func lessMean(x, degree []float32, k int) {
	total, mean := 0., make([]float64, k)
	for p, w := range degree {
		total += float64(w)
		for c, v := range x[p*k : p*k+k] {
			mean[c] += float64(w) * float64(v)
		}
	}
	for i := range x {
		x[i] -= float32(mean[i%k] / max(total, 1e-30))
	}
}

// largest returns the column of the largest value of each row, the first among equals.
func largest(x []float32, k int) []int32 {
	out := make([]int32, len(x)/k)
	for p := range out {
		row := x[p*k : p*k+k]
		best := 0
		for c, v := range row {
			if v > row[best] {
				best = c
			}
		}
		out[p] = int32(best)
	}
	return out
}
