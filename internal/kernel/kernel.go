// Package kernel holds the vector operations: inner products one at a time and in tiles, axpy, exponentials,
// softmax, numbers of 16 bits, and the scans that select small distances. The portable Go version of each is
// the specification; faster ones must agree with it.
//
// Every operation is a function of its arguments alone: neither the alignment of a slice, nor the number of
// cores, nor the position of a row among the others changes a bit of the results of Products, Gram and
// Accumulate. Versions differ from each other in the last bits, because they sum in different orders.
package kernel

import (
	"math"
	"sync"
	"unsafe"
)

// Dot returns the inner product of a and b. b is at least as long as a.
func Dot(a, b []float32) float32 {
	return active.dot(a, b[:len(a)])
}

// SquaredDistance returns |a-b|^2 without the cancellation of |a|^2 + |b|^2 - 2ab. b is at least as long as a.
func SquaredDistance(a, b []float32) float32 {
	return active.squaredDistance(a, b[:len(a)])
}

// Difference fills out with a-b and returns its squared length. out and a may be the same slice. a and b are
// at least as long as out.
func Difference(out, a, b []float32) float32 {
	return active.difference(out, a[:len(out)], b[:len(out)])
}

// Axpy adds alpha x to y. y is at least as long as x.
func Axpy(alpha float32, x, y []float32) {
	active.axpy(alpha, x, y[:len(x)])
}

// Scale multiplies x by alpha.
func Scale(alpha float32, x []float32) {
	active.scale(alpha, x)
}

// Exp fills out with the exponentials of x. out and x may be the same slice. The relative error is below
// 4e-7; the result is +Inf above 88.73, zero below -104, and NaN for NaN.
func Exp(out, x []float32) {
	active.exp(out[:len(x)], x)
}

// ThreeQuarterPower fills out with sign(x)|x|^.75. out and x may be the same slice. NaN stays NaN.
func ThreeQuarterPower(out, x []float32) {
	active.threeQuarterPower(out[:len(x)], x)
}

// Softmax replaces x with exp(x)/sum exp(x), shifted by its maximum so that nothing overflows.
func Softmax(x []float32) {
	if len(x) > 0 {
		active.softmax(x)
	}
}

// SoftmaxRows is Softmax of each of the n rows of x, of k values each.
func SoftmaxRows(x []float32, n, k int) {
	for from := 0; from < n*k; from += k {
		active.softmax(x[from : from+k])
	}
}

// Relax replaces row with the softmax of scores plus alpha sum_j weights[j] rows[ids[j]], for rows as long as
// row, which may be one of them, and returns the L1 distance to what it was. It overwrites scores, which is
// as long. weights is at least as long as ids.
func Relax(row, scores []float32, alpha float32, rows []float32, ids []int32, weights []float32) float32 {
	k := len(row)
	if k == 0 || k > shortRow || active.relax == nil {
		AddRows(scores, alpha, rows, ids, weights)
		Softmax(scores)
		return replace(row, scores)
	}
	for _, id := range ids { // assembly checks no bounds
		_ = rows[int(id)*k : int(id)*k+k]
	}
	first := unsafe.SliceData(weights[:len(ids)])
	return active.relax(row, scores[:k], alpha, unsafe.SliceData(rows), ids, first)
}

// shortRow is the longest row that assembly keeps in registers.
const shortRow = 16

// replace copies next over row and returns their L1 distance.
func replace(row, next []float32) (change float32) {
	for c, v := range next {
		change += math.Float32frombits(math.Float32bits(v-row[c]) &^ (1 << 31)) // without a branch
		row[c] = v
	}
	return change
}

// AddRows adds alpha sum_j weights[j] rows[ids[j]] to out, for rows as long as out. weights is at least as
// long as ids.
func AddRows(out []float32, alpha float32, rows []float32, ids []int32, weights []float32) {
	k := len(out)
	if k == 0 || len(ids) == 0 {
		return
	}
	for _, id := range ids { // assembly checks no bounds
		_ = rows[int(id)*k : int(id)*k+k]
	}
	active.addRows(out, alpha, &rows[0], ids, &weights[:len(ids)][0])
}

// Prefetch requests the rows of x, of width values each, that ids name, so that rows which are far apart and
// read soon arrive in parallel. It changes nothing, and an id may lie beyond x.
func Prefetch[T any](x []T, width int, ids []int32) {
	if len(x) > 0 && len(ids) > 0 {
		active.prefetch((*byte)(unsafe.Pointer(unsafe.SliceData(x))), width*int(unsafe.Sizeof(x[0])), ids)
	}
}

// Products fills out (m x n) with the inner products of the m rows of a and the n rows of b, each of length d.
func Products(out, a, b []float32, m, n, d int) {
	if m == 0 || n == 0 {
		return
	}
	productsInto(out, n, a, b, m, n, d)
}

// Roundings bounds the number of successive roundings in an inner product of length d: in a tile of the
// version in use, and in Dot and SquaredDistance. Times 2^-24 it bounds the error, relative to the sum
// of absolute terms.
func Roundings(d int) (tile, dot float64) {
	const ends = 12 // tails, reduction, and the product or difference itself
	return float64(min(d, Chunk))/float64(active.tileSums) + float64(d)/Chunk + ends, float64(d)/float64(active.dotSums) + ends
}

// Gram fills out (n x n, symmetric to the bit) with the inner products of the n rows of x, each of length d.
// It computes only half of them.
func Gram(out, x []float32, n, d int) {
	gram(out[:n*n], x[:n*d], n, d)
}

// Accumulate adds weighted rows to out (k x d): out[c] += sum_i weights[i,c] rows[i], for n rows of length d
// and n x k weights. Rows are added in their order. Soft assignments make prototypes this way.
func Accumulate(out, weights, rows []float32, n, k, d int) {
	if n == 0 || k == 0 || d == 0 {
		return
	}
	active.accumulate(out[:k*d], weights[:n*k], rows[:n*d], n, k, d)
}

var panels = sync.Pool{New: func() any { return new(panel) }}

// AddOuter adds the sum over rows of x x^T, for n rows x of length d, to the upper triangle of out (d x d).
// Values below the diagonal are undefined until Mirror. Rows are added in their order.
func AddOuter(out, rows []float32, n, d int) {
	if n == 0 || d == 0 {
		return
	}
	t := panels.Get().(*panel)
	defer panels.Put(t)
	active.outer(t, out[:d*d], rows[:n*d], n, d)
}

// Mirror copies the upper triangle of a square matrix of n rows to the lower one.
func Mirror(x []float32, n int) {
	mirror(x[:n*n], n)
}

// MultiplyAdds runs independent multiply-adds in registers and returns the number of floating-point
// operations. Timed by the caller, it gives the peak with which the other operations are compared.
func MultiplyAdds(rounds int) (operations float64) {
	active.multiplyAdds(rounds)
	return float64(rounds) * float64(active.roundFlops)
}

// Groups is the number of groups of GroupMinima.
const Groups = 16

// GroupMinima assigns the values norms[j] - 2 products[j] to 16 groups, j to group j mod 16, and lowers
// minima[g] to the smallest value of group g. The r-th smallest of the minima bounds the r-th smallest
// value from above.
func GroupMinima(minima *[Groups]float32, norms, products []float32) {
	norms = norms[:len(products)]
	whole := len(products) &^ (Groups - 1)
	if whole > 0 {
		active.groupMinima(minima, norms[:whole], products[:whole])
	}
	portableGroupMinima(minima, norms[whole:], products[whole:])
}

// Below writes the positions j where norms[j] - 2 products[j] <= limit to positions, ascending, and returns
// how many there are. positions is at least as long as products.
func Below(positions []int32, norms, products []float32, limit float32) int {
	n := len(products)
	norms, positions = norms[:n], positions[:n]
	whole := n &^ (Groups - 1)
	found := 0
	if whole > 0 {
		found = active.below(positions, norms[:whole], products[:whole], limit)
	}
	for j := whole; j < n; j++ {
		if norms[j]-2*products[j] <= limit {
			positions[found] = int32(j)
			found++
		}
	}
	return found
}

// BelowEach writes the positions j where norm - 2 products[j] <= limits[j] to positions, ascending, and
// returns how many there are: Below for a column of a tile. positions is at least as long as products.
func BelowEach(positions []int32, norm float32, products, limits []float32) int {
	n := len(products)
	limits, positions = limits[:n], positions[:n]
	whole := n &^ (Groups - 1)
	found := 0
	if whole > 0 {
		found = active.belowEach(positions, norm, products[:whole], limits[:whole])
	}
	for j := whole; j < n; j++ {
		if norm-2*products[j] <= limits[j] {
			positions[found] = int32(j)
			found++
		}
	}
	return found
}

// Widen fills out with the codes times scale. out is at least as long as codes.
func Widen(out []float32, codes []int16, scale float32) {
	out = out[:len(codes)]
	whole := len(codes) &^ (Groups - 1)
	if whole > 0 {
		active.widen(out[:whole], codes[:whole], scale)
	}
	portableWiden(out[whole:], codes[whole:], scale)
}

// Narrow fills codes with the whole numbers nearest to x times by, which fit into 16 bits. codes is at least
// as long as x.
func Narrow(codes []int16, x []float32, by float32) {
	codes = codes[:len(x)]
	whole := len(x) &^ (Groups - 1)
	if whole > 0 {
		active.narrow(codes[:whole], x[:whole], by)
	}
	portableNarrow(codes[whole:], x[whole:], by)
}

// Largest returns the largest value of x, without its sign. NaN counts as larger than all others.
func Largest(x []float32) float32 {
	whole := len(x) &^ (Groups - 1)
	most := portableLargest(x[whole:])
	if whole > 0 {
		most = portableLargest([]float32{most, active.largest(x[:whole])})
	}
	return most
}

// Bytes fills codes with the whole numbers nearest to x times by, none beyond 127, and returns the sum of their
// squares. codes is at least as long as x.
func Bytes(codes []int8, x []float32, by float32) (square int32) {
	codes = codes[:len(x)]
	whole := len(x) &^ (Groups - 1)
	if whole > 0 {
		square = active.bytes(codes[:whole], x[:whole], by)
	}
	return square + portableBytes(codes[whole:], x[whole:], by)
}

// codesTogether is how many codes a step of CodeProduct takes.
const codesTogether = 64

// rowsTogether is how many rows a step of CodeProducts takes.
const rowsTogether = 4

// CodeProduct returns the inner product of whole numbers, exactly, where the sum of all absolute terms fits into 32 bits.
// b is at least as long as a.
func CodeProduct(a []int16, b []int8) int32 {
	b = b[:len(a)]
	whole := len(a) &^ (codesTogether - 1)
	if whole == 0 {
		return portableCodeProduct(a, b)
	}
	sum := active.codeProduct(a[:whole], b[:whole])
	if whole < len(a) {
		sum += portableCodeProduct(a[whole:], b[whole:])
	}
	return sum
}

// CodeProducts fills out with CodeProduct of as many rows of a, each as long as b, and b.
func CodeProducts(out []int32, a []int16, b []int8) {
	d, done := len(b), 0
	a = a[:len(out)*d]
	if whole := len(out) &^ (rowsTogether - 1); whole > 0 && d > 0 && d%codesTogether == 0 {
		active.codeProducts(out[:whole], a[:whole*d], b)
		done = whole
	}
	for ; done < len(out); done++ {
		out[done] = CodeProduct(a[done*d:][:d], b)
	}
}
