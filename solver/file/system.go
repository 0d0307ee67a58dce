package file

import (
	"context"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// system is ((1 + weight) D - W) x = b over a graph, for several right sides at once. The matrix is symmetric
// and positive definite.
type system struct {
	similarity
	diagonal []float32   // of the whole matrix
	fixed    []bool      // rows whose x is given and is in b already; nil: none
	inverse  [][]float32 // of each level, one over the diagonal of the matrix of its communities
	parts    []int32     // communities of the first level with which parts of the work begin, and their number
	memory   *memory
}

// memory is what a solution takes beside x. Those that follow each other share it.
type memory struct{ b, p, q []float32 }

// cleared returns n zeros in memory that is kept for them.
func cleared(kept *[]float32, n int) []float32 {
	*kept = vector.Zeroed(*kept, n)
	return *kept
}

// leastDegree is used for a row without neighbours, and leastOut is the least share of its degree that a
// community is taken to have outside itself, as float32 holds no less.
const (
	leastDegree = 1e-6
	leastOut    = 1e-6
)

// newSystem keeps the values of fixed rows, nil: of none. The weight keeps values finite in a part of the
// graph that has labels of some classes only.
func newSystem(similar similarity, weight float32, fixed []bool) system {
	s := system{
		similarity: similar, diagonal: degrees(similar.graph), fixed: fixed, parts: []int32{0}, memory: new(memory),
	}
	for p, degree := range s.diagonal {
		s.diagonal[p] = (1 + weight) * max(degree, leastDegree)
	}
	rows := s.levels[0]
	for c, began := 1, 0; c < len(rows); c++ {
		if int(rows[c])-began >= chunk || c == len(rows)-1 {
			s.parts, began = append(s.parts, int32(c)), int(rows[c])
		}
	}
	for l, begins := range s.levels {
		if l > 0 { // in rows
			of := make(level, len(begins))
			for c, first := range begins {
				of[c] = rows[first]
			}
			rows = of
		}
		inverse := make([]float32, len(rows)-1)
		eachChunk(len(inverse), func(_, from, to int) {
			for c := from; c < to; c++ {
				inverse[c] = s.inverseOf(rows[c], rows[c+1])
			}
		})
		s.inverse = append(s.inverse, inverse)
	}
	return s
}

// inverseOf returns one over the sum of the matrix's entries between rows [from, to), 0 if all are fixed.
func (s *system) inverseOf(from, to int32) float32 {
	whole, inside := 0., 0.
	for p := from; p < to; p++ {
		if s.isFixed(p) {
			continue
		}
		whole += float64(s.diagonal[p])
		columns, weights := s.graph.Row(int(p))
		for j, q := range columns {
			if q >= from && q < to && !s.isFixed(q) {
				inside += float64(weights[j])
			}
		}
	}
	if whole == 0 {
		return 0
	}
	return float32(1 / max(whole-inside, leastOut*whole))
}

func (s *system) isFixed(row int32) bool { return s.fixed != nil && s.fixed[row] }

// Conjugate gradients stop below the share leftOver of the right sides, or after mostSteps. With .01 left,
// the answers of one row in 200 depend on rounding, where many classes are near it.
const (
	leftOver  = .001
	mostSteps = 200
)

// solve returns x, N x k, for the right sides b, N x k, by conjugate gradients: all columns take the same
// steps, so that a pass over the rows is one over memory. It begins with the given x, 0 at fixed rows, as b
// is. Both are overwritten.
//
// The preconditioner is the sum of the inverse diagonals of the rows and of the communities of every level:
// a residual that is alike all over a community, which takes many steps from row to row, goes in one.
func (s *system) solve(ctx context.Context, b, x []float32, k int, told progress) ([]float32, error) {
	n := len(s.diagonal)
	p, q, r := cleared(&s.memory.p, n*k), vector.Resize(s.memory.q, n*k), b
	s.memory.q = q
	sums := make([][]float32, len(s.levels)) // of r over each community
	for l, inverse := range s.inverse {
		sums[l] = make([]float32, len(inverse)*k)
	}
	each := func(do func(part, from, to int)) { // of the rows of each part
		first := s.levels[0]
		eachOf(len(s.parts)-1, func(i int) { do(i, int(first[s.parts[i]]), int(first[s.parts[i+1]])) })
	}
	partial := make([]float64, len(s.parts)-1)
	// sum adds f of each part in an order that does not depend on the number of cores.
	sum := func(f func(part, from, to int) float64) (total float64) {
		each(func(part, from, to int) { partial[part] = f(part, from, to) })
		for _, v := range partial {
			total += v
		}
		return total
	}
	// residual takes step times q from r, and returns the squares of r over the diagonal; it fills the sums of the first level.
	residual := func(part int, step float32) (squares float64) {
		for c := s.parts[part]; c < s.parts[part+1]; c++ {
			own := sums[0][int(c)*k : int(c)*k+k]
			clear(own)
			for row := int(s.levels[0][c]); row < int(s.levels[0][c+1]); row++ {
				left := r[row*k : row*k+k]
				if step != 0 {
					kernel.Axpy(-step, q[row*k:row*k+k], left)
				}
				kernel.Axpy(1, left, own)
				squares += float64(kernel.Dot(left, left) / s.diagonal[row])
			}
		}
		return squares
	}
	enough := sum(func(part, _, _ int) float64 { return residual(part, 0) }) * leftOver * leftOver
	left := sum(func(part, from, to int) float64 {
		s.times(q, x, from, to, k)
		return residual(part, 1)
	})
	rho := left + s.precondition(sums, k)
	beta, step := float32(0), float32(0) // p is the preconditioned r and so much of the p before, by step of which x is behind
	first, done := left, 0
	for at := 0; at < mostSteps && left > enough; at++ {
		done = max(done, int(100*math.Log(first/left)/math.Log(first/enough)))
		told(done, 100)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		each(func(part, _, _ int) {
			for c := s.parts[part]; c < s.parts[part+1]; c++ {
				for row := s.levels[0][c]; row < s.levels[0][c+1]; row++ {
					if s.isFixed(row) {
						continue
					}
					own := p[int(row)*k : int(row)*k+k]
					kernel.Axpy(step, own, x[int(row)*k:int(row)*k+k])
					kernel.Scale(beta, own)
					kernel.Axpy(1/s.diagonal[row], r[int(row)*k:int(row)*k+k], own)
					kernel.Axpy(1, sums[0][int(c)*k:int(c)*k+k], own)
				}
			}
		})
		product := sum(func(_, from, to int) float64 { return s.times(q, p, from, to, k) })
		if product <= 0 { // less than float32 holds
			step = 0
			break
		}
		step = float32(rho / product)
		left = sum(func(part, _, _ int) float64 { return residual(part, step) })
		next := left + s.precondition(sums, k)
		beta, rho = float32(next/rho), next
	}
	each(func(_, from, to int) { kernel.Axpy(step, p[from*k:to*k], x[from*k:to*k]) })
	return x, nil
}

// precondition turns the sums of r over the communities of the first level into what all levels add to the
// preconditioned r there. It returns the product of r with this.
func (s *system) precondition(sums [][]float32, k int) (product float64) {
	for l, inverse := range s.inverse {
		if l > 0 {
			begins := s.levels[l]
			eachChunk(len(inverse), func(_, from, to int) {
				for c := from; c < to; c++ {
					own := sums[l][c*k : c*k+k]
					clear(own)
					for below := int(begins[c]); below < int(begins[c+1]); below++ {
						kernel.Axpy(1, sums[l-1][below*k:below*k+k], own)
					}
				}
			})
		}
		for c, by := range inverse {
			own := sums[l][c*k : c*k+k]
			product += float64(by * kernel.Dot(own, own))
		}
	}
	for l := len(sums) - 1; l >= 0; l-- {
		eachChunk(len(s.inverse[l]), func(_, from, to int) {
			for c := from; c < to; c++ {
				kernel.Scale(s.inverse[l][c], sums[l][c*k:c*k+k])
			}
		})
		if l+1 == len(sums) {
			continue
		}
		begins := s.levels[l+1]
		eachChunk(len(s.inverse[l+1]), func(_, from, to int) {
			for c := from; c < to; c++ {
				for below := int(begins[c]); below < int(begins[c+1]); below++ {
					kernel.Axpy(1, sums[l+1][c*k:c*k+k], sums[l][below*k:below*k+k])
				}
			}
		})
	}
	return product
}

// times writes rows [from, to) of the matrix times x, k columns, to q, and returns their product with those of x. Fixed
// rows are 0 in x.
func (s *system) times(q, x []float32, from, to, k int) (product float64) {
	for row := from; row < to; row++ {
		out := q[row*k : row*k+k]
		clear(out)
		if s.isFixed(int32(row)) {
			continue
		}
		if row+2 < len(s.diagonal) {
			ahead, _ := s.graph.Row(row + 2)
			kernel.Prefetch(x, k, ahead)
		}
		own := x[row*k : row*k+k]
		kernel.Axpy(s.diagonal[row], own, out)
		columns, weights := s.graph.Row(row)
		kernel.AddRows(out, -1, x, columns, weights)
		product += float64(kernel.Dot(own, out))
	}
	return product
}
