// Package vector holds what every room needs of vectors: a matrix of rows, units, finiteness, medians, and
// slices that are used again from one solve to the next.
package vector

import (
	"cmp"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Matrix is N rows of D values each, one row after the other. It does not own Values: a copy of a Matrix is
// the same rows.
type Matrix struct {
	Values []float32 // N x D
	N, D   int
}

// New returns n rows of d zeros.
func New(n, d int) Matrix { return Matrix{make([]float32, n*d), n, d} }

// Rows returns the matrix whose rows of d values stand in values, one after the other. A rest of less than a
// row is left out.
func Rows(values []float32, d int) Matrix {
	n := 0
	if d > 0 {
		n = len(values) / d
	}
	return Matrix{values[:n*d], n, d}
}

// Row returns row i, which is a part of m: what is written to it is written to m.
func (m Matrix) Row(i int) []float32 { return m.Values[i*m.D : (i+1)*m.D : (i+1)*m.D] }

// Slice returns the rows from up to, not including, to; they are a part of m.
func (m Matrix) Slice(from, to int) Matrix {
	return Matrix{m.Values[from*m.D : to*m.D : to*m.D], to - from, m.D}
}

// Resized returns m with n rows of d values, in m's memory if it is large enough. What it then holds is not
// cleared.
func (m Matrix) Resized(n, d int) Matrix { return Matrix{Resize(m.Values, n*d), n, d} }

// Resize returns s with length n, in s's memory if it is large enough. What it then holds is not cleared.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// Zeroed is Resize with every value zero.
func Zeroed[T any](s []T, n int) []T {
	s = Resize(s, n)
	clear(s)
	return s
}

// Unit writes src / |src| to dst, which may be src and is as long. It returns false, with dst a copy of src,
// where src is zero or not finite: there is no direction then.
func Unit(dst, src []float32) bool {
	copy(dst, src)
	if square := kernel.Dot(src, src); square > 1e-20 && square < 1e20 {
		kernel.Scale(float32(1/math.Sqrt(float64(square))), dst)
		return true
	}
	var square float64 // values whose squares a float32 does not hold
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

// Orthonormal fills basis with an orthonormal basis of the span of rows, both of dimension d and as many; a
// row that depends on those before it leaves a zero row. One pass leaves what float32 rounds, two do not.
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

// NotFinite is the place of the first NaN or infinity in x, -1 where there is none.
func NotFinite(x []float32) int {
	// one pass tells of the whole slice; values too large to square are looked at
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

// Median is the middle of values once they are sorted, the upper one of two; 0 of none. values are left in
// another order.
func Median[T cmp.Ordered](values []T) T {
	if len(values) == 0 {
		var zero T
		return zero
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// Quantile is the value that a part q, 0 to 1, of values stays below, interpolated between those beside it.
// values are sorted and at least one.
func Quantile[T float32 | float64](values []T, q float64) float64 {
	at := q * float64(len(values)-1)
	low := int(at)
	if low+1 >= len(values) {
		return float64(values[len(values)-1])
	}
	return float64(values[low]) + (at-float64(low))*float64(values[low+1]-values[low])
}
