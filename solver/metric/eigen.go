package metric

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Principal returns the eigenvectors of a symmetric d x d matrix of the rank largest eigenvalues, as rows, the
// largest first.
func Principal(full []float32, d, rank int) (vector.Matrix, error) {
	_, rows, err := topEigenpairs(full, d, rank, nil)
	return vector.Rows(rows, d), err
}

// topEigenpairs returns the top eigenpairs of a symmetric d x d matrix by subspace iteration: thousands of times cheaper
// than all of them, and the metric's scales do not feel an error in the lowest.
func topEigenpairs(full []float32, d, rank int, before *Metric) ([]float64, []float32, error) {
	width := min(d, rank+16)
	basis := make([]float32, width*d) // rows
	rounds, known := coldRounds, 0
	if before != nil {
		known = copy(basis, before.Vectors) / d
	}
	if known >= rank {
		rounds = warmRounds
	}
	state := uint64(1)
	for i := known * d; i < len(basis); i++ { // any start that is not orthogonal to the answer will do; this one is the same each time
		state = state*6364136223846793005 + 1442695040888963407
		basis[i] = float32(int32(state>>32)) / (1 << 31)
	}
	next := make([]float32, width*d)
	for round := range rounds {
		kernel.Products(next, basis, full, width, d, d)
		passes := 1 // the next round turns what dust is left
		if round == rounds-1 {
			passes = 2
		}
		vector.Orthonormal(basis, next, d, passes)
	}
	kernel.Products(next, basis, full, width, d, d)
	small := mat.NewSymDense(width, nil)
	for i := range width {
		for j := i; j < width; j++ {
			small.SetSym(i, j, float64(kernel.Dot(basis[i*d:i*d+d], next[j*d:j*d+d])))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(small, true) {
		return nil, nil, fmt.Errorf("no eigenvectors of a scatter of dimension %d", d)
	}
	all := eigen.Values(nil)
	var q mat.Dense
	eigen.VectorsTo(&q)
	values, vectors := make([]float64, rank), make([]float32, rank*d)
	for i := range rank {
		values[i] = all[width-1-i]
		for j := range width {
			kernel.Axpy(float32(q.At(j, width-1-i)), basis[j*d:j*d+d], vectors[i*d:i*d+d])
		}
	}
	return values, vectors, nil
}

// A start at random has to turn to the answer; the metric before lies near it.
const (
	coldRounds = 12
	warmRounds = 4
)
