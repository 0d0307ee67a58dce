package kernel

import (
	"math"
	"unsafe"
)

// The portable version is the specification. Products are converted to float32 before they are added: this
// keeps compilers from fusing them, so that every machine computes the same bits.

var portable = version{
	name:              "portable",
	rows:              1,
	tileSums:          4,
	dotSums:           4,
	dot:               portableDot,
	squaredDistance:   portableSquaredDistance,
	difference:        portableDifference,
	axpy:              portableAxpy,
	scale:             portableScale,
	exp:               portableExp,
	threeQuarterPower: portableThreeQuarterPower,
	softmax:           func(x []float32) { softmaxBy(portableExp, x) },
	addRows:           portableAddRows,
	strip:             portableStrip,
	accumulate:        portableAccumulate,
	outer:             portableOuter,
	groupMinima:       portableGroupMinima,
	below:             portableBelow,
	belowEach:         portableBelowEach,
	widen:             portableWiden,
	narrow:            portableNarrow,
	largest:           portableLargest,
	bytes:             portableBytes,
	codeProduct:       portableCodeProduct,
	codeProducts:      func(out []int32, a []int16, b []int8) { codeProductsBy(portableCodeProduct, out, a, b) },
	prefetch:          func(*byte, int, []int32) {},
	transpose:         portableTranspose,
	multiplyAdds:      portableMultiplyAdds,
	roundFlops:        8,
}

func portableDot(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s2) + (s1 + s3)
}

func portableSquaredDistance(a, b []float32) float32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		d0, d1, d2, d3 := a[i]-b[i], a[i+1]-b[i+1], a[i+2]-b[i+2], a[i+3]-b[i+3]
		s0 += float32(d0 * d0)
		s1 += float32(d1 * d1)
		s2 += float32(d2 * d2)
		s3 += float32(d3 * d3)
	}
	for ; i < len(a); i++ {
		d := a[i] - b[i]
		s0 += float32(d * d)
	}
	return (s0 + s2) + (s1 + s3)
}

func portableDifference(out, a, b []float32) float32 {
	for i, v := range a {
		out[i] = v - b[i]
	}
	return portableDot(out, out)
}

func portableAxpy(alpha float32, x, y []float32) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += float32(alpha * v)
	}
}

func portableScale(alpha float32, x []float32) {
	for i := range x {
		x[i] *= alpha
	}
}

// exp(x) = 2^n exp(r), n = round(x/ln 2), |r| <= ln(2)/2. ln 2 is split so that n*ln2High is exact; the Taylor
// polynomial of degree 7 is within 6e-9 of exp(r). 2^n is applied as two factors, since n reaches from -150 to 128.
const (
	expLowest  = -104
	expHighest = 89
	log2e      = 1 / math.Ln2
	ln2High    = 0x1.62e4p-1
	ln2Low     = math.Ln2 - ln2High
)

// taylor holds 1/k! from the seventh down to the zeroth term.
var taylor = [8]float32{1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1}

func portableExp(out, x []float32) {
	out = out[:len(x)]
	for i, v := range x {
		if v != v {
			out[i] = v
			continue
		}
		v = max(min(v, expHighest), expLowest)
		whole := math.RoundToEven(float64(float32(v * log2e)))
		n := float32(whole)
		r := v - float32(n*ln2High)
		r -= float32(n * ln2Low)
		p := taylor[0]
		for _, c := range taylor[1:] {
			p = float32(p*r) + c
		}
		half := int32(whole) >> 1
		p *= math.Float32frombits(uint32(half+127) << 23)
		out[i] = p * math.Float32frombits(uint32(int32(whole)-half+127)<<23)
	}
}

func portableThreeQuarterPower(out, x []float32) {
	out = out[:len(x)]
	for i, v := range x {
		root := float32(math.Sqrt(math.Abs(float64(v))))
		fourth := float32(math.Sqrt(float64(root)))
		out[i] = float32(math.Copysign(float64(root*fourth), float64(v)))
	}
}

// softmaxBy computes the softmax of one row with exp for the exponentials.
func softmaxBy(exp func(out, x []float32), x []float32) {
	top := x[0]
	for _, v := range x[1:] {
		if v > top {
			top = v
		}
	}
	for j := range x {
		x[j] -= top
	}
	exp(x, x)
	var sum float32
	for _, v := range x {
		sum += v
	}
	inverse := 1 / sum
	for j := range x {
		x[j] *= inverse
	}
}

func portableAddRows(out []float32, alpha float32, rows *float32, ids []int32, weights *float32) {
	k := len(out)
	for c := range out {
		var sum float32
		for j, id := range ids {
			weight := *(*float32)(unsafe.Add(unsafe.Pointer(weights), 4*j))
			sum += float32(weight * *(*float32)(unsafe.Add(unsafe.Pointer(rows), 4*(int(id)*k+c))))
		}
		out[c] += float32(alpha * sum)
	}
}

// portableStrip multiplies one row of a by 4 rows of b at a time.
func portableStrip(out []float32, stride int, a, b []float32, length, d, rows, columns int, add bool) {
	for i := range rows {
		for j := range columns {
			v := portableDot(a[i*d:i*d+length], b[j*d:j*d+length])
			if add {
				v += out[i*stride+j]
			}
			out[i*stride+j] = v
		}
	}
}

func portableAccumulate(out, weights, rows []float32, n, k, d int) {
	for i := range n {
		for c := range k {
			portableAxpy(weights[i*k+c], rows[i*d:i*d+d], out[c*d:c*d+d])
		}
	}
}

func portableOuter(_ *panel, out, rows []float32, n, d int) {
	for i := range n {
		row := rows[i*d : i*d+d]
		for c, v := range row {
			portableAxpy(v, row[c:], out[c*d+c:c*d+d])
		}
	}
}

func portableGroupMinima(minima *[Groups]float32, norms, products []float32) {
	for j, p := range products {
		if v := norms[j] - 2*p; v < minima[j%Groups] {
			minima[j%Groups] = v
		}
	}
}

func portableBelow(positions []int32, norms, products []float32, limit float32) int {
	found := 0
	for j, p := range products {
		if norms[j]-2*p <= limit {
			positions[found] = int32(j)
			found++
		}
	}
	return found
}

func portableBelowEach(positions []int32, norm float32, products, limits []float32) int {
	found := 0
	for j, p := range products {
		if norm-2*p <= limits[j] {
			positions[found] = int32(j)
			found++
		}
	}
	return found
}

func portableWiden(out []float32, codes []int16, scale float32) {
	for j, code := range codes {
		out[j] = float32(code) * scale
	}
}

func portableNarrow(codes []int16, x []float32, by float32) {
	for j, v := range x {
		// The sum with so large a number keeps whole numbers only, the nearest one, in its last bits.
		codes[j] = int16(math.Float32bits(float32(v*by) + 3<<22))
	}
}

func portableLargest(x []float32) float32 {
	// Without their signs, floats sort as their bits.
	var most uint32
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	return math.Float32frombits(most)
}

func portableBytes(codes []int8, x []float32, by float32) (square int32) {
	for j, v := range x {
		// As in portableNarrow. 3<<22 has these bits.
		code := int32(math.Float32bits(float32(v*by)+3<<22) - 0x4b400000)
		codes[j] = int8(code)
		square += code * code
	}
	return square
}

func portableCodeProduct(a []int16, b []int8) (sum int32) {
	b = b[:len(a)]
	for j, v := range a {
		sum += int32(v) * int32(b[j])
	}
	return sum
}

// codeProductsBy takes row by row.
func codeProductsBy(product func([]int16, []int8) int32, out []int32, a []int16, b []int8) {
	for i := range out {
		out[i] = product(a[i*len(b):][:len(b)], b)
	}
}

func portableTranspose(to, from *float32, stride, blocks int) {
	out, in := unsafe.Slice(to, (8*blocks-1)*stride+8), unsafe.Slice(from, 7*stride+8*blocks)
	for i := range 8 {
		for j := range 8 * blocks {
			out[j*stride+i] = in[i*stride+j]
		}
	}
}

// sink keeps the compiler from removing the multiply-adds.
var sink float32

func portableMultiplyAdds(rounds int) {
	a, b, c, d := sink, sink, sink, sink
	x := sink
	for range rounds {
		a += x * x
		b += x * x
		c += x * x
		d += x * x
	}
	sink = a + b + c + d
}
