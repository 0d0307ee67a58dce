package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax passes over a row three times: for its largest value, for the exponentials and their sum, and
// for the division.
func (v vector) softmax(c constants) {
	v.function("Softmax", "func(x []float32)", "replaces x by exp(x)/sum exp(x).")
	x, length := v.slice("x")
	whole, rest := v.split(length)
	value, mask, fill := v.registers[0], v.registers[7], v.registers[8]
	top, sum := v.registers[9], v.registers[10]
	table, minus, at, left := v.GP64(), v.GP64(), v.GP64(), v.GP64()
	v.LEAQ(NewDataAddr(Symbol{Name: v.name + "Fill", Static: true}, 0), table)
	v.MOVQ(rest, minus)
	v.NEGQ(minus)
	v.VMOVUPS(Mem{Base: table, Index: minus, Scale: 4, Disp: v.bytes()}, fill)
	v.limits(c)
	v.VMOVUPS(c["Least"], top)
	pass := func(name string, body func(store func(reg.VecPhysical, Mem))) {
		v.MOVQ(x, at)
		v.MOVQ(whole, left)
		v.TESTQ(left, left)
		v.JZ(LabelRef(name + "Tail"))
		v.Label(name)
		v.VMOVUPS(Mem{Base: at}, value)
		body(func(r reg.VecPhysical, m Mem) { v.VMOVUPS(r, m) })
		v.ADDQ(U8(v.bytes()), at)
		v.DECQ(left)
		v.JNZ(LabelRef(name))
		v.Label(name + "Tail")
		v.TESTQ(rest, rest)
		v.JZ(LabelRef(name + "End"))
		tail := v.tailOf(rest, mask)
		tail.load(Mem{Base: at}, value)
		v.VORPS(fill, value, value) // -Inf in masked-out lanes
		body(tail.store)
		v.Label(name + "End")
	}
	pass("largest", func(func(reg.VecPhysical, Mem)) { v.VMAXPS(value, top, top) })
	v.reduce(top, value, v.VMAXPS)
	v.zero(sum)
	pass("exponentials", func(store func(reg.VecPhysical, Mem)) {
		v.VSUBPS(top, value, value)
		p := v.power(c)
		v.VADDPS(p, sum, sum)
		store(p, Mem{Base: at})
	})
	v.reduce(sum, value, v.VADDPS)
	v.VMOVUPS(c["Taylor1"], top)
	v.VDIVPS(sum, top, top)
	pass("shares", func(store func(reg.VecPhysical, Mem)) {
		v.VMULPS(top, value, value)
		store(value, Mem{Base: at})
	})
	v.VZEROUPPER()
	v.RET()
}

// reduce combines all lanes of r and fills r with the result. It uses other.
func (v vector) reduce(r, other reg.VecPhysical, combine func(...Op)) {
	if v.lanes == 16 {
		v.VEXTRACTF64X4(U8(1), r, other.AsY())
		combine(other.AsY(), r.AsY(), r.AsY())
	}
	for _, by := range []uint8{0x4e, 0xb1} {
		v.VPERMILPS(U8(by), r.AsY(), other.AsY())
		combine(other.AsY(), r.AsY(), r.AsY())
	}
	v.upper(r, other.AsX())
	combine(other.AsX(), r.AsX(), r.AsX())
	v.VBROADCASTSS(r.AsX(), r)
}

// addRows sums the rows, one register of columns at a time.
func (v vector) addRows() {
	v.function("AddRows",
		"func(out []float32, alpha float32, rows *float32, ids []int32, weights *float32)",
		"adds alpha times some weighted rows to out.")
	out, length := v.slice("out")
	rows := v.integer("rows")
	ids, count := v.slice("ids")
	weights := v.integer("weights")
	alpha, sum, x, weight, mask := v.registers[0], v.registers[1], v.registers[2], v.registers[3], v.registers[4]
	v.broadcast("alpha", alpha)
	v.TESTQ(count, count)
	v.JZ(LabelRef("end"))
	whole, rest := v.split(length)
	v.SHLQ(U8(2), length)
	atIDs, atWeights, left, id := v.GP64(), v.GP64(), v.GP64(), v.GP64()
	block := func(name string, load func(Mem, reg.VecPhysical), store func(reg.VecPhysical, Mem)) {
		v.MOVQ(ids, atIDs)
		v.MOVQ(weights, atWeights)
		v.MOVQ(count, left)
		v.zero(sum)
		v.Label(name)
		v.MOVL(Mem{Base: atIDs}, id.As32())
		v.IMULQ(length, id)
		load(Mem{Base: rows, Index: id, Scale: 1}, x)
		v.VBROADCASTSS(Mem{Base: atWeights}, weight)
		v.VFMADD231PS(x, weight, sum)
		v.ADDQ(U8(4), atIDs)
		v.ADDQ(U8(4), atWeights)
		v.DECQ(left)
		v.JNZ(LabelRef(name))
		load(Mem{Base: out}, x)
		v.VFMADD231PS(sum, alpha, x)
		store(x, Mem{Base: out})
	}
	v.TESTQ(whole, whole)
	v.JZ(LabelRef("tail"))
	v.Label("columns")
	block("row", func(m Mem, r reg.VecPhysical) { v.VMOVUPS(m, r) },
		func(r reg.VecPhysical, m Mem) { v.VMOVUPS(r, m) })
	v.ADDQ(U8(v.bytes()), out)
	v.ADDQ(U8(v.bytes()), rows)
	v.DECQ(whole)
	v.JNZ(LabelRef("columns"))
	v.Label("tail")
	v.TESTQ(rest, rest)
	v.JZ(LabelRef("end"))
	tail := v.tailOf(rest, mask)
	block("tailRow", tail.load, tail.store)
	v.Label("end")
	v.VZEROUPPER()
	v.RET()
}
