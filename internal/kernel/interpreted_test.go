//go:build amd64

package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"
)

// interpreted returns the version of an assembly file, executed by the interpreter.
func interpreted(t *testing.T, name string, rows, wide, vectors int) version {
	t.Helper()
	m, err := interpret(name + "_amd64.s")
	if err != nil {
		t.Fatal(err)
	}
	frame := func(values ...any) map[string]uint64 {
		f := map[string]uint64{}
		for i := 0; i < len(values); i += 2 {
			key := values[i].(string)
			switch v := values[i+1].(type) {
			case int:
				f[key] = uint64(v)
			case float32:
				f[key] = uint64(math.Float32bits(v))
			case *float32:
				f[key] = address(v)
			case []float32:
				if len(v) > 0 {
					f[key+"_base"] = address(&v[0])
				} else {
					f[key+"_base"] = 0
				}
				f[key+"_len"] = uint64(len(v))
			case []int8:
				f[key+"_base"], f[key+"_len"] = address(unsafe.SliceData(v)), uint64(len(v))
			case []int16:
				f[key+"_base"], f[key+"_len"] = address(unsafe.SliceData(v)), uint64(len(v))
			case []int32:
				f[key+"_base"], f[key+"_len"] = address(unsafe.SliceData(v)), uint64(len(v))
			}
		}
		return f
	}
	strip := func(shape string) tile {
		return func(out *float32, stride int, a, b *float32, d, length, groups, add int) {
			m.run(
				name+"Strip"+shape,
				frame("out", out, "stride", stride, "a", a, "b", b, "d", d, "length", length, "groups", groups, "add", add),
			)
		}
	}
	sums := func(shape string) weighted {
		return func(out, weights *float32, k int, rows *float32, d, n, columns int) {
			m.run(name+"Accumulate"+shape, frame("out", out, "weights", weights, "k", k, "rows", rows, "d", d, "n", n, "columns", columns))
		}
	}
	full, w := fmt.Sprint(rows), fmt.Sprint(vectors)
	products := tiles{rows, strip(full + "x4"), strip(full + "x1"), strip("1x4"), strip("1x1")}
	weighted := weightedTiles{wide, sums("4x" + w), sums("4x1"), sums("1x" + w), sums("1x1"), portableAxpy}
	return version{
		name: name + ", interpreted", rows: rows,
		dot: func(a, b []float32) float32 {
			m.pin(a, b)
			m.run(name+"Dot", frame("a", a, "b", b))
			return math.Float32frombits(uint32(m.returned))
		},
		squaredDistance: func(a, b []float32) float32 {
			m.pin(a, b)
			m.run(name+"SquaredDistance", frame("a", a, "b", b))
			return math.Float32frombits(uint32(m.returned))
		},
		difference: func(out, a, b []float32) float32 {
			m.pin(out, a, b)
			m.run(name+"Difference", frame("out", out, "a", a, "b", b))
			return math.Float32frombits(uint32(m.returned))
		},
		axpy: func(alpha float32, x, y []float32) {
			m.pin(x, y)
			m.run(name+"Axpy", frame("alpha", alpha, "x", x, "y", y))
		},
		scale: func(alpha float32, x []float32) {
			m.pin(x)
			m.run(name+"Scale", frame("alpha", alpha, "x", x))
		},
		exp: func(out, x []float32) {
			m.pin(out, x)
			m.run(name+"Exp", frame("out", out, "x", x))
		},
		threeQuarterPower: func(out, x []float32) {
			m.pin(out, x)
			m.run(name+"ThreeQuarterPower", frame("out", out, "x", x))
		},
		softmax: func(x []float32) {
			m.pin(x)
			m.run(name+"Softmax", frame("x", x))
		},
		addRows: func(out []float32, alpha float32, rows *float32, ids []int32, weights *float32) {
			if len(ids) == 0 {
				return
			}
			high := int(slices.Max(ids)) + 1
			all := unsafe.Slice(rows, high*len(out))
			m.pin(out, all, ids, unsafe.Slice(weights, len(ids)))
			m.run(name+"AddRows", frame("out", out, "alpha", alpha, "rows", rows, "ids", ids, "weights", weights))
		},
		relax: func(row, scores []float32, alpha float32, rows *float32, ids []int32, weights *float32) float32 {
			high := 0
			for _, id := range ids {
				high = max(high, int(id)+1)
			}
			m.pin(row, scores, unsafe.Slice(rows, high*len(row)), ids, unsafe.Slice(weights, len(ids)))
			m.run(name+"Relax", frame("row", row, "scores", scores, "alpha", alpha, "rows", rows, "ids", ids,
				"weights", weights))
			return math.Float32frombits(uint32(m.returned))
		},
		strip: func(out []float32, stride int, a, b []float32, length, d, r, c int, add bool) {
			m.pin(out, a, b)
			products.strip(out, stride, a, b, length, d, r, c, add)
		},
		accumulate: func(out, weights, x []float32, n, k, d int) {
			m.pin(out, weights, x)
			weighted.accumulate(out, weights, x, n, k, d)
		},
		outer: func(t *panel, out, x []float32, n, d int) {
			m.pin(out, x, t.rows[:], t.sums[:])
			weighted.outer(t, out, x, n, d)
		},
		groupMinima: func(minima *[Groups]float32, norms, products []float32) {
			m.pin(minima[:], norms, products)
			m.run(name+"GroupMinima", frame("minima", &minima[0], "norms", norms, "products", products))
		},
		below: func(positions []int32, norms, products []float32, limit float32) int {
			m.pin(positions, norms, products)
			m.run(name+"Below", frame("positions", positions, "norms", norms, "products", products, "limit", limit))
			return int(m.returned)
		},
		belowEach: func(positions []int32, norm float32, products, limits []float32) int {
			m.pin(positions, products, limits)
			m.run(name+"BelowEach", frame("positions", positions, "norm", norm,
				"products", products, "limits", limits))
			return int(m.returned)
		},
		widen: func(out []float32, codes []int16, scale float32) {
			m.pin(out, codes)
			m.run(name+"Widen", frame("out", out, "codes", codes, "scale", scale))
		},
		narrow: func(codes []int16, x []float32, by float32) {
			m.pin(codes, x)
			m.run(name+"Narrow", frame("codes", codes, "x", x, "by", by))
		},
		largest: func(x []float32) float32 {
			m.pin(x)
			m.run(name+"Largest", frame("x", x))
			return math.Float32frombits(uint32(m.returned))
		},
		bytes: func(codes []int8, x []float32, by float32) int32 {
			m.pin(codes, x)
			m.run(name+"Bytes", frame("codes", codes, "x", x, "by", by))
			return int32(m.returned)
		},
		codeProduct: func(a []int16, b []int8) int32 {
			m.pin(a, b)
			m.run(name+"CodeProduct", frame("a", a, "b", b))
			return int32(m.returned)
		},
		codeProducts: func(out []int32, a []int16, b []int8) {
			m.pin(out, a, b)
			m.run(name+"CodeProducts", frame("out", out, "a", a, "b", b))
		},
		transpose: func(to, from *float32, stride, blocks int) {
			out, in := unsafe.Slice(to, (8*blocks-1)*stride+8), unsafe.Slice(from, 7*stride+8*blocks)
			m.pin(out, in)
			m.run(name+"Transpose", frame("to", to, "from", from, "stride", stride, "blocks", blocks))
		},
	}
}

var interpretedShapes = []shape{
	{1, 1, 1, 0, 1, 0, false},
	{3, 4, 8, 1, 2, 0, false},
	{4, 4, 16, 3, 3, 1, false},
	{7, 9, 33, 5, 4, 2, false},
	{13, 21, 130, 7, 5, 0, false},
	{5, 5, 0, 0, 7, 0, false},
	{2, 3, 1600, 1, 8, 0, false},
	{9, 6, 15, 0, 9, 1, false},
	{6, 11, 17, 2, 10, 0, false},
	{11, 3, 47, 0, 11, 0, false},
	{26, 3, 64, 4, 12, 0, false},
	{3, 17, 100, 0, 13, 3, false},
}

// TestInterpretedAVX512Agrees executes the AVX-512 assembly without a processor that has it.
func TestInterpretedAVX512Agrees(t *testing.T) {
	v := interpreted(t, "avx512", 4, 64, 4)
	if err := check(v); err != nil {
		t.Errorf("start-up check: %v", err)
	}
	shapes := interpretedShapes
	for d := range 70 {
		shapes = append(shapes, shape{1 + d%9, 1 + d%11, d, d % 16, uint64(d), float64(d % 4), false})
	}
	for _, s := range shapes {
		if err := s.agrees(v); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestInterpreterIsTheProcessor compares the interpreter with the processor on the AVX2 assembly,
// bit for bit.
func TestInterpreterIsTheProcessor(t *testing.T) {
	v := interpreted(t, "avx2", 3, 24, 3)
	var native version
	for _, has := range versions() {
		if has.name == "avx2" {
			native = has
		}
	}
	if native.name == "" {
		t.Log("this machine has no AVX2: the interpreter is compared with the portable version instead")
		native = portable
	}
	for _, s := range interpretedShapes {
		s.exactly = native.name == "avx2"
		if err := s.agreesWith(v, native); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
