package vector

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Principal centres rows in place, as some callers have no room for a copy. It returns their mean and the
// directions in which they vary most, at most rank, the first one first.
func Principal(rows Matrix, rank int) (mean []float32, directions Matrix, err error) {
	d := rows.D
	mean = make([]float32, d)
	for i := range rows.N {
		kernel.Axpy(1/float32(rows.N), rows.Row(i), mean)
	}
	for i := range rows.N {
		kernel.Axpy(-1, mean, rows.Row(i))
	}
	scatter := make([]float32, d*d)
	kernel.AddOuter(scatter, rows.Values, rows.N, d)
	kernel.Mirror(scatter, d)
	_, vectors, err := TopEigenpairs(scatter, d, min(rank, d))
	return mean, Rows(vectors, d), err
}

// TopEigenpairs returns the top eigenpairs of a symmetric d x d matrix without negative eigenvalues, the
// largest first, by subspace iteration with Chebyshev polynomials. This is hundreds of times cheaper than all
// pairs, and errors in the lowest pairs hardly change the metric's scales. It starts at random, not from the
// previous pairs: these hold back new directions and cost more rounds for the same precision.
func TopEigenpairs(full []float32, d, rank int) ([]float64, []float32, error) {
	width := min(d, rank+8)
	basis, next := make([]float32, width*d), make([]float32, width*d) // rows
	Noise(basis)                                                      // any start will do
	kernel.Products(next, basis, full, width, d, d)
	Orthonormal(basis, next, d, 1)
	kernel.Products(next, basis, full, width, d, d)
	last := make([]float32, width*d)
	for gained := 1.; gained < enough; {
		low, high := quotients(basis, next, d)
		if !(high > 0) {
			break // no positive eigenvalue
		}
		degree := degreeFor(high/low, enough/gained)
		gained *= chebyshev(degree, slightly)
		basis, next, last = filter(degree, low, full, basis, next, last, d)
		passes := 1 // another filter follows and tolerates the error
		if gained >= enough {
			passes = 2
		}
		Orthonormal(last, next, d, passes)
		basis, last = last, basis
		kernel.Products(next, basis, full, width, d, d)
	}
	return ritzPairs(basis, next, d, rank)
}

// TopOfRows returns the top eigenpairs of the sum of r r' over rows r of dimension d. Of fewer rows than
// dimensions these are those of their inner products; a pair that rounding would make up has the value 0 and
// the vector 0.
func TopOfRows(rows []float32, d, rank int) ([]float64, []float32, error) {
	n := len(rows) / d
	if n >= d {
		scatter := make([]float32, d*d)
		kernel.AddOuter(scatter, rows, n, d)
		kernel.Mirror(scatter, d)
		return TopEigenpairs(scatter, d, rank)
	}
	products := make([]float32, n*n)
	kernel.Gram(products, rows, n, d)
	values, weights, err := TopEigenpairs(products, n, min(rank, n))
	if err != nil {
		return nil, nil, err
	}
	k := len(values)
	vectors, columns := make([]float32, k*d), make([]float32, n*k)
	for i, w := range values {
		if w <= values[0]/1e6 {
			values[i] = 0
			continue
		}
		for j, v := range weights[i*n : i*n+n] {
			columns[j*k+i] = v
		}
	}
	kernel.Accumulate(vectors, columns, rows, n, k, d)
	for from := 0; from < len(vectors); from += d {
		Unit(vectors[from:from+d], vectors[from:from+d])
	}
	return values, vectors, nil
}

// Noise fills values with numbers from -1 to 1, the same ones each time.
func Noise(values []float32) {
	state := uint64(1)
	for i := range values {
		state = state*6364136223846793005 + 1442695040888963407
		values[i] = float32(int32(state>>32)) / (1 << 31)
	}
}

// A filter amplifies the eigenvalues above a bound. It is repeated until an eigenvalue of slightly times the
// bound is amplified by enough; those nearer to the bound hardly differ in scale.
const (
	slightly = 1.1
	enough   = 6
)

// quotients returns the smallest and the largest Rayleigh quotient of an orthonormal basis, given its
// products with the matrix. The smallest lies among the lowest eigenvalues that are wanted, or below them. It
// is at least a thousandth of the largest: below are only the zeros of a matrix of few rows, and rounding.
func quotients(basis, products []float32, d int) (low, high float64) {
	low = math.Inf(1)
	for from := 0; from < len(basis); from += d {
		q := float64(kernel.Dot(basis[from:from+d], products[from:from+d]))
		low, high = min(low, q), max(high, q)
	}
	return max(low, high/1000), high
}

// degreeFor returns the lowest degree, from 1 to 3, that amplifies an eigenvalue slightly above the bound by
// wanted; or, if that is too high for float32, the highest that keeps the lowest pairs. The largest
// eigenvalue is spread times the bound: every row holds some ten millionths of its eigenvector, which must
// not outgrow the lowest.
func degreeFor(spread, wanted float64) int {
	degree := 1
	for degree < 3 && chebyshev(degree, slightly) < wanted && chebyshev(degree+1, spread) < 1e7 {
		degree++
	}
	return degree
}

// chebyshev returns the factor by which a filter of a degree amplifies an eigenvalue of x times the bound:
// the Chebyshev polynomial, shifted so that values between 0 and the bound stay between -1 and 1.
func chebyshev(degree int, x float64) float64 {
	return math.Cosh(float64(degree) * math.Acosh(2*x-1))
}

// filter applies the Chebyshev polynomial of a degree with a bound to the rows of basis, whose products with
// the matrix are given. The second value returned is the result; the other two are workspace.
func filter(degree int, bound float64, full, basis, products, free []float32, d int,
) (a, result, b []float32) {
	width, twice := len(basis)/d, float32(2/bound)
	before, now := basis, products
	kernel.Scale(twice, now)
	kernel.Axpy(-1, before, now)
	for range degree - 1 {
		kernel.Products(free, now, full, width, d, d)
		kernel.Scale(2*twice, free)
		kernel.Axpy(-2, now, free)
		kernel.Axpy(-1, before, free)
		before, now, free = now, free, before
	}
	return before, now, free
}

// ritzPairs returns the top eigenpairs of a matrix within the span of an orthonormal basis, given its
// products with the matrix.
func ritzPairs(basis, products []float32, d, rank int) ([]float64, []float32, error) {
	width := len(basis) / d
	all := make([]float32, width*width)
	kernel.Products(all, basis, products, width, width, d)
	small := mat.NewSymDense(width, nil)
	for i := range width {
		for j := i; j < width; j++ {
			small.SetSym(i, j, float64(all[i*width+j]))
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(small, true) {
		return nil, nil, fmt.Errorf("no eigenvectors of a scatter of dimension %d", d)
	}
	found := eigen.Values(nil)
	var q mat.Dense
	eigen.VectorsTo(&q)
	values, weights := make([]float64, rank), make([]float32, width*rank)
	for i := range rank {
		values[i] = found[width-1-i]
		for j := range width {
			weights[j*rank+i] = float32(q.At(j, width-1-i))
		}
	}
	vectors := make([]float32, rank*d)
	kernel.Accumulate(vectors, weights, basis, width, rank, d)
	return values, vectors, nil
}
