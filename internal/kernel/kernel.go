// Package kernel holds the few vector operations everything numeric stands on: dot products, axpy, exponentials and
// softmax over float32. The portable Go version is the specification; faster ones must agree with it.
package kernel

import "math"

// Dot returns the inner product of a and b, which have the same length.
func Dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}

// SquaredDistance returns |a-b|^2.
func SquaredDistance(a, b []float32) float32 {
	var s float32
	for i := range a {
		d := a[i] - b[i]
		s += d * d
	}
	return s
}

// Axpy adds alpha x to y.
func Axpy(alpha float32, x, y []float32) {
	for i := range x {
		y[i] += alpha * x[i]
	}
}

// Scale multiplies x by alpha.
func Scale(alpha float32, x []float32) {
	for i := range x {
		x[i] *= alpha
	}
}

// Softmax replaces x by exp(x)/sum exp(x), shifted by its maximum so that nothing overflows.
func Softmax(x []float32) {
	top := float32(math.Inf(-1))
	for _, v := range x {
		top = max(top, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = float32(math.Exp(float64(v - top)))
		sum += x[i]
	}
	Scale(1/sum, x)
}

// Products fills out (m x n) with the inner products of the m rows of a and the n rows of b, each of length d.
func Products(out, a, b []float32, m, n, d int) {
	for i := range m {
		for j := range n {
			out[i*n+j] = Dot(a[i*d:i*d+d], b[j*d:j*d+d])
		}
	}
}
