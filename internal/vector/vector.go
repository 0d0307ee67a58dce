// Package vector has what several packages need of vectors: a matrix of rows, unit length, finiteness,
// medians, and slices that are reused from one solve to the next.
package vector

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Matrix is N rows of D values each, one row after the other. It does not own Values: a copy of a Matrix has
// the same rows.
type Matrix struct {
	Values []float32 // N x D
	N, D   int
}

// New returns n rows of d zeros.
func New(n, d int) Matrix { return Matrix{make([]float32, n*d), n, d} }

// Rows returns the matrix of the rows of d values in values, one after the other. Values left over at the
// end are ignored.
func Rows(values []float32, d int) Matrix {
	n := 0
	if d > 0 {
		n = len(values) / d
	}
	return Matrix{values[:n*d], n, d}
}

// Row returns row i, which shares memory with m.
func (m Matrix) Row(i int) []float32 { return m.Values[i*m.D : (i+1)*m.D : (i+1)*m.D] }

// Slice returns the rows from up to, not including, to. They share memory with m.
func (m Matrix) Slice(from, to int) Matrix {
	return Matrix{m.Values[from*m.D : to*m.D : to*m.D], to - from, m.D}
}

// Resize returns s with length n, in s's memory if it is large enough. The values are not cleared.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Zeroed is Resize with every value set to zero.
func Zeroed[T any](s []T, n int) []T {
	s = Resize(s, n)
	clear(s)
	return s
}

// Unit writes src / |src| to dst, which may be src and has the same length. It returns false, with dst a copy
// of src, if src is zero or not finite and so has no direction.
func Unit(dst, src []float32) bool {
	copy(dst, src)
	if square := kernel.Dot(src, src); square > 1e-20 && square < 1e20 {
		kernel.Scale(float32(1/math.Sqrt(float64(square))), dst)
		return true
	}
	var square float64 // for values whose squares overflow or vanish in float32
	for _, v := range src {
		square += float64(v) * float64(v)
	}
	length := math.Sqrt(square)
	if !(length > 0 && length <= math.MaxFloat64) {
		return false
	}
	for i, v := range src {
		dst[i] = float32(float64(v) / length)
	}
	return true
}

// Orthonormal fills basis with an orthonormal basis of the span of rows; both have as many rows, of dimension
// d. A row that depends on those before it gives a zero row. A second pass removes what rounding to float32
// leaves after the first.
func Orthonormal(basis, rows []float32, d, passes int) {
	for end := d; end <= len(basis); end += d {
		row := basis[end-d : end]
		copy(row, rows[end-d:end])
		Unit(row, row)
		for range passes {
			for from := 0; from < end-d; from += d {
				kernel.Axpy(-kernel.Dot(row, basis[from:from+d]), basis[from:from+d], row)
			}
			if kernel.Dot(row, row) < 1e-10 {
				clear(row)
			}
			Unit(row, row)
		}
	}
}

// NotFinite returns the index of the first NaN or infinity in x, -1 if there is none.
func NotFinite(x []float32) int {
	// One pass covers the usual case; only values that are too large to square are checked one by one.
	if l := kernel.Dot(x, x); l-l == 0 {
		return -1
	}
	for i, v := range x {
		if v-v != 0 {
			return i
		}
	}
	return -1
}

// Median returns the middle of the sorted values, the upper one of two; 0 for none. It reorders values.
func Median[T cmp.Ordered](values []T) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Quantile returns the value that a fraction q, 0 to 1, of values stays below, interpolated between its
// neighbours. values must be sorted and not empty.
func Quantile[T float32 | float64](values []T, q float64) float64 {
	at := q * float64(len(values)-1)
	low := int(at)
	if low+1 >= len(values) {
		return float64(values[len(values)-1])
	}
	return float64(values[low]) + (at-float64(low))*float64(values[low+1]-values[low])
}
