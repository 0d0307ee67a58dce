package file

import (
	"context"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
)

// system is (D + decay D + held - W) x = b over a graph, for several right sides at once. The matrix is
// symmetric and positive definite.
type system struct {
	graph    *index.Affinity
	diagonal []float32 // of the whole matrix
	fixed    []bool    // rows whose x is given and is in b already; nil: none
	leftOver float64   // conjugate gradients stop below this share of each right side
}

// Values of system.leftOver: for rows whose largest value is the answer, and for answers that only teach a
// metric. On 40,000 rows in 96 classes, .001 takes about twice and three times as many steps; one answer in
// 700 and one in 150 is different, and .9481 are right instead of .9475 and .9479.
const (
	leftOver      = .01
	leftForMetric = .03
)

// mostVisits bounds the visits to rows: conjugate gradients take at most 300 steps, fewer in large files, but
// no fewer than 25. A label moves one edge a step, and no two rows of a large graph without long chains are
// that far apart.
const mostVisits = 3e7

func mostSteps(n int) int { return max(25, min(300, int(mostVisits)/n)) }

// solve returns x, N x k, for the right sides b, N x k, by conjugate gradients with the diagonal as
// preconditioner: a step size for each of the k columns, one pass over the graph for all. It begins with the
// given x. Both b and x are overwritten.
func (s *system) solve(ctx context.Context, b, x []float32, k int, told progress) ([]float32, error) {
	n := len(s.diagonal)
	p, q := make([]float32, n*k), make([]float32, n*k)
	r := b
	count := chunks(n)
	partial := make([]float64, count*k)
	// inner sums f over the rows, column by column, in an order that does not depend on the number of cores.
	inner := func(out []float64, f func(sum []float64, row int)) {
		eachChunk(n, func(i, from, to int) {
			sum := partial[i*k : i*k+k]
			clear(sum)
			for row := from; row < to; row++ {
				f(sum, row)
			}
		})
		clear(out)
		for i := range count {
			for c := range k {
				out[c] += partial[i*k+c]
			}
		}
	}
	rho, next, pq, step := make([]float64, k), make([]float64, k), make([]float64, k), make([]float64, k)
	single := make([]float32, k) // step
	residual := func(sum []float64, row int) {
		inverse := 1 / float64(s.diagonal[row])
		for c, v := range r[row*k : row*k+k] {
			sum[c] += float64(v) * float64(v) * inverse
		}
	}
	inner(rho, residual)
	enough := make([]float64, k)
	for c, v := range rho {
		enough[c] = v * s.leftOver * s.leftOver
	}
	inner(rho, func(sum []float64, row int) {
		kernel.Axpy(-1, s.times(x, q, row, k), r[row*k:row*k+k])
		residual(sum, row)
	})
	for row := range n {
		inverse := 1 / s.diagonal[row]
		for c := row * k; c < row*k+k; c++ {
			p[c] = r[c] * inverse
		}
	}
	most := mostSteps(n)
	for at := range most {
		told(at, most)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		inner(pq, func(sum []float64, row int) {
			out, own := s.times(p, q, row, k), p[row*k:row*k+k]
			for c, v := range own {
				sum[c] += float64(v) * float64(out[c])
			}
		})
		running := false
		for c := range k {
			step[c] = 0
			if rho[c] > enough[c] && pq[c] > 0 {
				step[c], running = rho[c]/pq[c], true
			}
		}
		singly(single, step)
		if !running {
			break
		}
		inner(next, func(sum []float64, row int) {
			xs, rs, ps, qs := x[row*k:row*k+k], r[row*k:row*k+k], p[row*k:row*k+k], q[row*k:row*k+k]
			for c, v := range single {
				xs[c] += v * ps[c]
				rs[c] -= v * qs[c]
			}
			residual(sum, row)
		})
		for c := range k {
			if step[c] = 0; rho[c] > 0 {
				step[c] = next[c] / rho[c]
			}
			rho[c] = next[c]
		}
		singly(single, step)
		eachChunk(n, func(_, from, to int) {
			for row := from; row < to; row++ {
				inverse := 1 / s.diagonal[row]
				ps, rs := p[row*k:row*k+k], r[row*k:row*k+k]
				for c, v := range single {
					ps[c] = rs[c]*inverse + v*ps[c]
				}
			}
		})
	}
	return x, nil
}

// singly rounds values to float32.
func singly(out []float32, values []float64) {
	for i, v := range values {
		out[i] = float32(v)
	}
}

// times writes a row of the matrix times x, k columns, to q and returns it.
func (s *system) times(x, q []float32, row, k int) []float32 {
	out := q[row*k : row*k+k]
	for c, v := range x[row*k : row*k+k] {
		out[c] = s.diagonal[row] * v
	}
	if s.fixed != nil && s.fixed[row] {
		return out
	}
	columns, weights := s.graph.Row(row)
	if row+2 < len(s.diagonal) {
		ahead, _ := s.graph.Row(row + 2)
		kernel.Prefetch(x, k, ahead)
	}
	for j, other := range columns {
		if s.fixed == nil || !s.fixed[other] {
			kernel.Axpy(-weights[j], x[int(other)*k:int(other)*k+k], out)
		}
	}
	return out
}

// decay keeps values finite in a part of the graph that has labels of some classes only: without it the
// solution there is not defined.
const decay = 1e-3

// leastDegree is used for a row without neighbours.
const leastDegree = 1e-6

// newPoisson returns the system of Poisson learning, (1 + decay) D - W.
func newPoisson(graph *index.Affinity, leftOver float64) *system {
	s := &system{graph: graph, diagonal: degrees(graph), leftOver: leftOver}
	for p, degree := range s.diagonal {
		s.diagonal[p] = (1 + decay) * max(degree, leastDegree)
	}
	return s
}

// poisson returns the solution of Poisson learning for classes [from, to), a value for each row and class:
// each labelled row is a source of its class and a sink of the others, (L + decay D) x = sum_l (y_l - mean y)
// delta_l. class is -1 for a row without a label.
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
// neighbours, drawn to 0 by decay and to its evidence by weight, both relative to its degree.
type harmonic struct {
	system
	weight float32
}

func newHarmonic(graph *index.Affinity, class []int32, weight float32, leftOver float64) *harmonic {
	s := &harmonic{weight: weight, system: system{
		graph: graph, diagonal: degrees(graph), fixed: make([]bool, len(class)), leftOver: leftOver,
	}}
	for p, degree := range s.diagonal {
		s.diagonal[p] = (1 + decay + weight) * max(degree, leastDegree)
		s.fixed[p] = class[p] >= 0
	}
	return s
}

// classes solves for classes [from, to). said is the evidence, a value for each row and class, and is
// overwritten; nil: none.
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
			if holds(int32(p)) {
				at := p*k + int(class[p]) - from
				b[at], said[at] = s.diagonal[p], 1
			}
			continue
		}
		own, degree := said[p*k:p*k+k], s.diagonal[p]/(1+decay+s.weight)
		kernel.Axpy(s.weight*degree, own, b[p*k:p*k+k])
		kernel.Scale(s.weight/(s.weight+decay), own) // x without neighbours
		columns, weights := s.graph.Row(p)
		for j, q := range columns {
			if holds(q) {
				b[p*k+int(class[q])-from] += weights[j]
			}
		}
	}
	return s.solve(ctx, b, said, k, told)
}

// mass returns the sum of each row's values over all classes, given that its evidence sums to 1.
func (s *harmonic) mass(ctx context.Context, class []int32) ([]float32, error) {
	one, said := make([]int32, len(class)), make([]float32, len(class))
	for p, y := range class {
		if one[p] = min(y, 0); y < 0 {
			said[p] = 1
		}
	}
	return s.classes(ctx, one, 0, 1, said, func(int, int) {})
}

// lessMean subtracts from each value its class's part of the mass of its row, which protects small classes
// from large ones. A class's part is its share of all mass, weighted by degree. With mass 1 everywhere it is
// the class's mean.
func lessMean(x, mass, degree []float32, k int) {
	total := sums(mass, degree, 1)[0]
	part := sums(x, degree, k)
	for i := range x {
		x[i] -= mass[i/k] * float32(part[i%k]/max(total, 1e-30))
	}
}

// sums returns the sums of the k columns of x, with its rows weighted.
func sums(x, weights []float32, k int) []float64 {
	out := make([]float64, k)
	for p, w := range weights {
		for c, v := range x[p*k : p*k+k] {
			out[c] += float64(w) * float64(v)
		}
	}
	return out
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
