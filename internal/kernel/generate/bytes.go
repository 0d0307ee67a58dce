package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// largest processes a multiple of 16 values. Without their signs, floats sort as their bits.
func (v vector) largest(c constants) {
	v.function("Largest", "func(x []float32) float32")
	x, length := v.slice("x")
	parts := groups / v.lanes
	most, value, sign := v.registers[:parts], v.registers[2:2+parts], v.registers[4]
	v.VMOVUPS(c["Sign"], sign)
	v.zero(most...)
	v.SHRQ(U8(4), length)
	v.Label("step")
	for i := range parts {
		v.VANDNPS(Mem{Base: x, Disp: i * v.bytes()}, sign, value[i])
		v.VPMAXSD(value[i], most[i], most[i])
	}
	v.ADDQ(U8(4*groups), x)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.fold(most, value[0], v.VPMAXSD)
	result, err := v.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	v.VMOVSS(most[0].AsX(), result.Addr)
	v.VZEROUPPER()
	v.RET()
}

// narrowBytes processes a multiple of 16 values.
func (v vector) narrowBytes() {
	v.function("Bytes", "func(codes []int8, x []float32, by float32) int32")
	codes, _ := v.slice("codes")
	x, length := v.slice("x")
	parts := groups / v.lanes
	value, squares, square, by := v.registers[:parts], v.registers[2:2+parts], v.registers[4], v.registers[5]
	v.broadcast("by", by)
	v.zero(squares...)
	v.SHRQ(U8(4), length)
	v.Label("step")
	for i := range parts {
		v.VMULPS(Mem{Base: x, Disp: i * v.bytes()}, by, value[i])
		v.VCVTPS2DQ(value[i], value[i])
		v.VPMULLD(value[i], value[i], square)
		v.VPADDD(square, squares[i], squares[i])
	}
	if v.lanes == 16 {
		v.VPMOVSDB(value[0], Mem{Base: codes})
	} else {
		v.VPACKSSDW(value[1], value[0], value[0]) // within each half of a register
		v.VPERMQ(U8(0xd8), value[0], value[0])
		v.upper(value[0], value[1].AsX())
		v.VPACKSSWB(value[1].AsX(), value[0].AsX(), value[0].AsX())
		v.VMOVUPS(value[0].AsX(), Mem{Base: codes})
	}
	v.ADDQ(U8(4*groups), x)
	v.ADDQ(U8(groups), codes)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.fold(squares, square, v.VPADDD)
	total := v.GP32()
	v.VMOVD(squares[0].AsX(), total)
	v.Store(total, v.ReturnIndex(0))
	v.VZEROUPPER()
	v.RET()
}

// codesTogether is how many values a step of codeProduct takes, and rowsTogether how many rows one of codeProducts, as
// package kernel has them: it checks both when it starts.
const (
	codesTogether = 64
	rowsTogether  = 4
)

// codeProduct processes a multiple of codesTogether values.
func (v vector) codeProduct() {
	v.function("CodeProduct", "func(a []int16, b []int8) int32")
	a, length := v.slice("a")
	b, _ := v.slice("b")
	parts := groups / v.lanes
	sums, value := v.registers[:parts], v.registers[2]
	v.zero(sums...)
	v.SHRQ(U8(6), length)
	v.Label("step")
	for i := range codesTogether / (2 * v.lanes) {
		v.VPMOVSXBW(Mem{Base: b, Disp: 2 * i * v.lanes}, value)
		v.VPMADDWD(Mem{Base: a, Disp: i * v.bytes()}, value, value)
		v.VPADDD(value, sums[i%parts], sums[i%parts])
	}
	v.ADDQ(I32(2*codesTogether), a)
	v.ADDQ(I32(codesTogether), b)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.fold(sums, value, v.VPADDD)
	total := v.GP32()
	v.VMOVD(sums[0].AsX(), total)
	v.Store(total, v.ReturnIndex(0))
	v.VZEROUPPER()
	v.RET()
}

// codeProducts processes a multiple of rowsTogether rows of a multiple of codesTogether values.
func (v vector) codeProducts() {
	v.function("CodeProducts", "func(out []int32, a []int16, b []int8)")
	out, count := v.slice("out")
	a, _ := v.slice("a")
	b, length := v.slice("b")
	parts := groups / v.lanes
	sums, value, product := v.registers[:rowsTogether*parts], v.registers[8], v.registers[9]
	stride, thrice := v.GP64(), v.GP64()
	v.LEAQ(Mem{Base: length, Index: length, Scale: 1}, stride)
	v.LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, thrice)
	v.SHRQ(U8(6), length)
	v.SHRQ(U8(2), count)
	v.Label("rows")
	v.zero(sums...)
	at, left := v.GP64(), v.GP64()
	v.MOVQ(b, at)
	v.MOVQ(length, left)
	v.Label("step")
	for i := range codesTogether / (2 * v.lanes) {
		v.VPMOVSXBW(Mem{Base: at, Disp: 2 * i * v.lanes}, value)
		for row, from := range []Mem{
			{Base: a}, {Base: a, Index: stride, Scale: 1}, {Base: a, Index: stride, Scale: 2}, {Base: a, Index: thrice, Scale: 1},
		} {
			from.Disp = i * v.bytes()
			v.VPMADDWD(from, value, product)
			sum := sums[row*parts+i%parts]
			v.VPADDD(product, sum, sum)
		}
	}
	v.ADDQ(I32(2*codesTogether), a)
	v.ADDQ(I32(codesTogether), at)
	v.DECQ(left)
	v.JNZ(LabelRef("step"))
	for row := range rowsTogether {
		own := sums[row*parts : (row+1)*parts]
		v.fold(own, value, v.VPADDD)
		v.VMOVSS(own[0].AsX(), Mem{Base: out, Disp: 4 * row})
	}
	v.ADDQ(thrice, a)
	v.ADDQ(U8(4*rowsTogether), out)
	v.DECQ(count)
	v.JNZ(LabelRef("rows"))
	v.VZEROUPPER()
	v.RET()
}

// fold combines the lanes of registers, sixteen in all, in lane 0 of the first. It uses other.
func (v vector) fold(r []reg.VecPhysical, other reg.VecPhysical, combine func(...Op)) {
	x, y := r[0].AsX(), other.AsX()
	if v.lanes == 16 {
		v.VEXTRACTF64X4(U8(1), r[0], other.AsY())
		combine(other.AsY(), r[0].AsY(), r[0].AsY())
	} else {
		combine(r[1], r[0], r[0])
	}
	v.upper(r[0], y)
	combine(y, x, x)
	for _, order := range []uint8{0x4e, 0xb1} {
		v.VPERMILPS(U8(order), x, y)
		combine(y, x, x)
	}
}
