package evaluate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/index"
)

// normalisedCut is spectral clustering by the normalised cut of Shi and Malik: k-means of the leading
// eigenvectors of D^-1/2 W D^-1/2, each row scaled to length 1.
func normalisedCut(ctx context.Context, graph *index.Affinity, k int, random *rand.Rand) ([]int32, error) {
	vectors, _, err := leadingEigenvectors(ctx, normalised(graph), k, random)
	if err != nil {
		return nil, fmt.Errorf("normalised cut: %w", err)
	}
	for p := range graph.N() {
		row := vectors[p*k : p*k+k]
		var length float64
		for _, v := range row {
			length += v * v
		}
		if length > 0 {
			for j := range row {
				row[j] /= math.Sqrt(length)
			}
		}
	}
	return kmeans(vectors, k, k, 10, random), nil
}

// normalised returns D^-1/2 W D^-1/2 of a graph; its eigenvalues are between -1 and 1.
func normalised(graph *index.Affinity) *index.Affinity {
	n := graph.N()
	scale := make([]float32, n)
	for p := range n {
		var degree float64
		_, weights := graph.Row(p)
		for _, w := range weights {
			degree += float64(w)
		}
		if degree > 0 {
			scale[p] = float32(1 / math.Sqrt(degree))
		}
	}
	out := &index.Affinity{
		Offsets: graph.Offsets, Columns: graph.Columns,
		Weights: make([]float32, len(graph.Weights)),
	}
	for p := range n {
		for j := graph.Offsets[p]; j < graph.Offsets[p+1]; j++ {
			out.Weights[j] = graph.Weights[j] * scale[p] * scale[graph.Columns[j]]
		}
	}
	return out
}

// leadingEigenvectors returns the k eigenvectors of largest eigenvalue of a symmetric sparse matrix with
// eigenvalues between -1 and 1, as k values per point, and their eigenvalues. It uses subspace iteration;
// each step applies a Chebyshev polynomial that damps everything below the subspace. A block finds repeated
// eigenvalues, such as those of a graph of several components.
func leadingEigenvectors(ctx context.Context, a *index.Affinity, k int,
	random *rand.Rand,
) ([]float64, []float64, error) {
	n := a.N()
	width := min(n, k+10)
	x := make([]float64, n*width)
	for i := range x {
		x[i] = random.NormFloat64()
	}
	y, z := make([]float64, n*width), make([]float64, n*width)
	if err := orthonormalise(x, width); err != nil {
		return nil, nil, err
	}
	const degree, most, enough = 16, 100, 1e-5
	floor := 0. // eigenvalues below are damped
	for step := range most {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		// T_degree of (A - centre)/half maps [-1, floor] into [-1, 1] and grows fast above it.
		centre, half := (floor-1)/2, (floor+1)/2
		apply := func(into, of, minus []float64, twice float64) {
			multiply(a, into, of, width)
			inParallel(n*width, func(from, to int) {
				for i := from; i < to; i++ {
					into[i] = twice * (into[i] - centre*of[i]) / half
					if minus != nil {
						into[i] -= minus[i]
					}
				}
			})
		}
		apply(y, x, nil, 1)
		for range degree - 1 {
			apply(z, y, x, 2)
			x, y, z = y, z, x
		}
		x, y = y, x
		if err := orthonormalise(x, width); err != nil {
			return nil, nil, err
		}
		multiply(a, y, x, width)
		values, turn, err := ascending(gram(x, y, width), width)
		if err != nil {
			return nil, nil, err
		}
		// Ritz vectors, largest first, and their residuals under A.
		rotate(x, turn, width)
		rotate(y, turn, width)
		worst := 0.
		for c := range k {
			value := values[width-1-c]
			var left float64
			for p := range n {
				r := y[p*width+width-1-c] - value*x[p*width+width-1-c]
				left += r * r
			}
			worst = max(worst, math.Sqrt(left))
		}
		floor = min(.9999, max(-.5, values[0]))
		if worst < enough || step == most-1 || width == n {
			out, eigen := make([]float64, n*k), make([]float64, k)
			for c := range k {
				eigen[c] = values[width-1-c]
				for p := range n {
					out[p*k+c] = x[p*width+width-1-c]
				}
			}
			return out, eigen, nil
		}
	}
	return nil, nil, fmt.Errorf("no eigenvectors after %d steps", most)
}

// multiply sets into to a times of, both with width values per row.
func multiply(a *index.Affinity, into, of []float64, width int) {
	inParallel(a.N(), func(from, to int) {
		for p := from; p < to; p++ {
			row := into[p*width : p*width+width]
			clear(row)
			columns, weights := a.Row(p)
			for j, q := range columns {
				w := float64(weights[j])
				for i, v := range of[int(q)*width : int(q)*width+width] {
					row[i] += w * v
				}
			}
		}
	})
}

// gram returns x'y.
func gram(x, y []float64, width int) *mat.SymDense {
	sums := make([]float64, width*width)
	for p := 0; p < len(x); p += width {
		for i, v := range x[p : p+width] {
			for j, u := range y[p : p+width] {
				sums[i*width+j] += v * u
			}
		}
	}
	out := mat.NewSymDense(width, nil)
	for i := range width {
		for j := i; j < width; j++ {
			out.SetSym(i, j, (sums[i*width+j]+sums[j*width+i])/2)
		}
	}
	return out
}

// orthonormalise makes the columns of x orthonormal. It does so twice, as one pass leaves rounding errors for
// nearly dependent columns.
func orthonormalise(x []float64, width int) error {
	for range 2 {
		values, turn, err := ascending(gram(x, x, width), width)
		if err != nil {
			return err
		}
		top := values[width-1]
		if !(top > 0) {
			return fmt.Errorf("a subspace of nothing")
		}
		for j, v := range values {
			scale := 1 / math.Sqrt(max(v, 1e-14*top))
			for i := range width {
				turn[i*width+j] *= scale
			}
		}
		rotate(x, turn, width)
	}
	return nil
}

// ascending returns the eigenvalues of a small symmetric matrix and its eigenvectors as columns.
func ascending(m *mat.SymDense, width int) ([]float64, []float64, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(m, true) {
		return nil, nil, fmt.Errorf("no eigenvectors of a %d x %d matrix", width, width)
	}
	var q mat.Dense
	eigen.VectorsTo(&q)
	turn := make([]float64, width*width)
	for i := range width {
		for j := range width {
			turn[i*width+j] = q.At(i, j)
		}
	}
	return eigen.Values(nil), turn, nil
}

// rotate sets each row of x to its product with turn.
func rotate(x, turn []float64, width int) {
	inParallel(len(x)/width, func(from, to int) {
		old := make([]float64, width)
		for p := from; p < to; p++ {
			row := x[p*width : p*width+width]
			copy(old, row)
			clear(row)
			for i, v := range old {
				for j, t := range turn[i*width : i*width+width] {
					row[j] += v * t
				}
			}
		}
	})
}
