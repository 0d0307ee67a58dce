package file

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
)

// system is (D + decay D + held - W) x = b over a graph, for several right sides at once: symmetric and
// positive definite.
type system struct {
	graph    *index.Affinity
	diagonal []float32 // of the whole matrix
	fixed    []bool    // rows that are not solved for: their x is given and stands in b already; nil: none
}

// Conjugate gradients stop when what is left of every right side is below this share of it, or after most
// steps: fewer than 300 where that would be more than mostVisits visits to rows. Labels have then gone that
// many steps through the graph, and no two rows of a large graph without long chains are that far apart.
const (
	leftOver   = 1e-3
	mostVisits = 1e8
)

func mostSteps(n int) int { return max(50, min(300, int(mostVisits)/n)) }

// solve returns x, N x k, from b, N x k, which it overwrites, by conjugate gradients with the diagonal as
// preconditioner: one step size for each of the k columns, one pass over the graph for all.
func (s *system) solve(ctx context.Context, b []float32, k int, told progress) ([]float32, error) {
	n := len(s.diagonal)
	x, p, q := make([]float32, n*k), make([]float32, n*k), make([]float32, n*k)
	r := b
	count := chunks(n)
	partial := make([]float64, count*k)
	// inner sums f over the rows, column by column, in an order that the cores do not change.
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
	residual := func(sum []float64, row int) {
		inverse := 1 / float64(s.diagonal[row])
		for c, v := range r[row*k : row*k+k] {
			sum[c] += float64(v) * float64(v) * inverse
		}
	}
	inner(rho, residual)
	enough := make([]float64, k)
	for c, v := range rho {
		enough[c] = v * leftOver * leftOver
	}
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
			out := q[row*k : row*k+k]
			own := p[row*k : row*k+k]
			for c, v := range own {
				out[c] = s.diagonal[row] * v
			}
			if s.fixed == nil || !s.fixed[row] {
				columns, weights := s.graph.Row(row)
				if row+2 < n {
					ahead, _ := s.graph.Row(row + 2)
					kernel.Prefetch(p, k, ahead)
				}
				for j, other := range columns {
					if s.fixed == nil || !s.fixed[other] {
						kernel.Axpy(-weights[j], p[int(other)*k:int(other)*k+k], out)
					}
				}
			}
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
		if !running {
			break
		}
		inner(next, func(sum []float64, row int) {
			for c := range k {
				i := row*k + c
				x[i] += float32(step[c]) * p[i]
				r[i] -= float32(step[c]) * q[i]
			}
			residual(sum, row)
		})
		for c := range k {
			if step[c] = 0; rho[c] > 0 {
				step[c] = next[c] / rho[c]
			}
			rho[c] = next[c]
		}
		eachChunk(n, func(_, from, to int) {
			for row := from; row < to; row++ {
				inverse := 1 / s.diagonal[row]
				for c := range k {
					i := row*k + c
					p[i] = r[i]*inverse + float32(step[c])*p[i]
				}
			}
		})
	}
	return x, nil
}

// decay keeps a label's weight finite where a part of the graph holds labels of some classes only: without it
// the solution there is not defined.
const decay = 1e-3

// leastDegree stands for that of a row without neighbours.
const leastDegree = 1e-6

// poisson is the Poisson solution of semi-supervised learning for classes from up to to: each labelled row is
// a source of its class and a sink of the others, (L + decay D) x = sum_l (y_l - mean y) delta_l. It returns
// a value for each row and class; class is -1 where there is none.
func poisson(ctx context.Context, graph *index.Affinity, class []int32, from, to int, told progress,
) ([]float32, error) {
	n, k := graph.N(), to-from
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
	s := system{graph: graph, diagonal: degrees(graph)}
	b := make([]float32, n*k)
	for p, y := range class {
		s.diagonal[p] = (1 + decay) * max(s.diagonal[p], leastDegree)
		if y >= 0 {
			kernel.Axpy(-1, mean, b[p*k:p*k+k])
			if int(y) >= from && int(y) < to {
				b[p*k+int(y)-from]++
			}
		}
	}
	return s.solve(ctx, b, k, told)
}

// laplace is the harmonic solution: labelled rows hold their class, every other row is the mean of its
// neighbours, drawn to 0 by decay. With zeroMean each class's mean over the rows is taken off, which spares
// small classes from large ones.
func laplace(ctx context.Context, graph *index.Affinity, class []int32, from, to int, zeroMean bool,
	told progress,
) ([]float32, error) {
	n, k := graph.N(), to-from
	degree := degrees(graph)
	s := system{graph: graph, diagonal: make([]float32, n), fixed: make([]bool, n)}
	b := make([]float32, n*k)
	holds := func(q int32) bool { return int(class[q]) >= from && int(class[q]) < to }
	for p := range n {
		s.diagonal[p] = (1 + decay) * max(degree[p], leastDegree)
		if class[p] >= 0 {
			s.fixed[p] = true
			if holds(int32(p)) {
				b[p*k+int(class[p])-from] = s.diagonal[p]
			}
			continue
		}
		columns, weights := graph.Row(p)
		for j, q := range columns {
			if holds(q) {
				b[p*k+int(class[q])-from] += weights[j]
			}
		}
	}
	x, err := s.solve(ctx, b, k, told)
	if err == nil && zeroMean {
		lessMean(x, degree, k)
	}
	return x, err
}

// lessMean takes from each column its mean over the rows, weighed by degree, and so spares small classes from
// large ones.
func lessMean(x []float32, weight []float32, k int) {
	mean, total := make([]float64, k), 0.
	for p, w := range weight {
		total += float64(w)
		for c, v := range x[p*k : p*k+k] {
			mean[c] += float64(w) * float64(v)
		}
	}
	for i := range x {
		x[i] -= float32(mean[i%k] / math.Max(total, 1e-30))
	}
}

// spread is label spreading: (I - alpha D^-1/2 W D^-1/2) x = y.
func spread(ctx context.Context, graph *index.Affinity, class []int32, k int, alpha float32, told progress,
) ([]float32, error) {
	n := graph.N()
	degree := degrees(graph)
	scaled := &index.Affinity{Offsets: graph.Offsets, Columns: graph.Columns, Weights: make([]float32, len(graph.Weights))}
	s := system{graph: scaled, diagonal: make([]float32, n)}
	b := make([]float32, n*k)
	for p := range n {
		s.diagonal[p] = 1
		columns, weights := graph.Row(p)
		for j, q := range columns {
			scaled.Weights[int(graph.Offsets[p])+j] = alpha * weights[j] / float32(math.Sqrt(float64(max(degree[p], leastDegree))*float64(max(degree[q], leastDegree))))
		}
		if y := class[p]; y >= 0 {
			b[p*k+int(y)] = 1
		}
	}
	return s.solve(ctx, b, k, told)
}

// largest is the column of the largest value of each row, the first of equals.
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
