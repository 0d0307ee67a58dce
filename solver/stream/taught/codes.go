package taught

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// code is a vector in a byte a number. By it most examples of a large set are left out of the nearest without
// their vectors being read: the error of rounding has a bound.
type code struct {
	bytes []int8  // nil: there is none
	scale float32 // of the bytes, to numbers of the vector over its length
	rest  float32 // the length of what rounding left out, over the vector's
}

// codable says whether products of the vector stay far from where numbers of 32 bits overflow or vanish.
func (x *Entry) codable() bool { return x.inverse > 1e-15 && x.inverse < 1e15 }

// encode gives the example its code.
func (x *Entry) encode() {
	if !x.codable() {
		return
	}
	by := math.MaxInt8 / kernel.Largest(x.Vector)
	bytes := make([]int8, len(x.Vector))
	kernel.Bytes(bytes, x.Vector, by)
	x.code = code{bytes, x.inverse / by, float32(left(x.Vector, bytes, 1/float64(by)) * float64(x.inverse))}
}

// left is the length of what is left of a vector beside its codes times a scale.
func left[T int8 | int16](x []float32, codes []T, scale float64) float64 {
	var square float64
	for j, v := range x {
		r := float64(v) - float64(codes[j])*scale
		square += r * r
	}
	return math.Sqrt(square)
}

// query is a vector of length one, or less, that the nearest are sought of.
type query struct {
	codes  []int16
	scale  float64 // of the codes
	length float64 // of the vector
	rest   float64 // the length of what rounding left out
	slack  float64 // the most that a product of the kernel is off
}

// codedMost is the most queries that are compared by codes first: of more the vectors are read faster.
const codedMost = 16

// ask returns the query for a vector; its codes are so small that no inner product leaves 32 bits.
func ask(x []float32) query {
	q := query{codes: make([]int16, len(x))}
	most := kernel.Largest(x)
	if by := float32(min(math.MaxInt16, math.MaxInt32/math.MaxInt8/len(x))) / most; by <= math.MaxFloat32 {
		kernel.Narrow(q.codes, x, by)
		q.scale = 1 / float64(by)
	}
	q.length = left(x, q.codes, 0)
	q.rest = left(x, q.codes, q.scale)
	tile, dot := kernel.Roundings(len(x))
	q.slack = (max(tile, dot) + 16) * 0x1p-24
	return q
}

// farther says whether the example is certainly no nearer than that distance. The product of query and example is that
// of their codes, but for what rounding left of either, times the other.
func (q *query) farther(x *code, distance float32) bool {
	product := q.scale * float64(x.scale) * float64(kernel.CodeProduct(q.codes, x.bytes))
	e := float64(x.rest)
	return product+q.rest*(1+e)+q.length*(e+q.slack) <= -float64(distance)
}

// allFarther says whether the example is no nearer to any of the queries than the n nearest so far.
func (x *Entry) allFarther(queries []query, near [][]vector.Near[*Entry], n int) bool {
	if x.code.bytes == nil || len(queries) == 0 {
		return false
	}
	for i := range queries {
		if len(near[i]) < n || !queries[i].farther(&x.code, near[i][n-1].Distance) {
			return false
		}
	}
	return true
}
