package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// softmax passes over a row three times: for its largest value, for the exponentials and their sum, and
// for the division. A short row stays in registers, with the same bits.
func (v vector) softmax(c constants) {
	v.function("Softmax", "func(x []float32)")
	x, length := v.slice("x")
	v.CMPQ(length, U8(shortRow+1))
	v.JGE(LabelRef("long"))
	short := v.shortRow(length)
	row := v.registers[9 : 9+len(short)]
	for i, part := range short {
		part.load(Mem{Base: x, Disp: i * v.bytes()}, row[i])
	}
	v.shortSoftmax(c, row, short, length)
	for i, part := range short {
		part.storeAll(row[i], Mem{Base: x, Disp: i * v.bytes()})
	}
	v.VZEROUPPER()
	v.RET()

	v.Label("long")
	whole, rest := v.split(length)
	value, mask, fill := v.registers[0], v.registers[7], v.registers[8]
	top, sum := v.registers[9], v.registers[10]
	table, minus, at, left := v.GP64(), v.GP64(), v.GP64(), v.GP64()
	v.LEAQ(NewDataAddr(Symbol{Name: v.name + "Fill", Static: true}, 0), table)
	v.MOVQ(rest, minus)
	v.NEGQ(minus)
	v.VMOVUPS(Mem{Base: table, Index: minus, Scale: 4, Disp: 4 * shortRow}, fill)
	v.limits(c)
	v.VMOVUPS(c["Least"], top)
	pass := func(name string, body func(keep func(reg.VecPhysical), store storing)) {
		v.MOVQ(x, at)
		v.MOVQ(whole, left)
		v.TESTQ(left, left)
		v.JZ(LabelRef(name + "Tail"))
		v.Label(name)
		v.VMOVUPS(Mem{Base: at}, value)
		body(func(reg.VecPhysical) {}, v.store)
		v.ADDQ(U8(v.bytes()), at)
		v.DECQ(left)
		v.JNZ(LabelRef(name))
		v.Label(name + "Tail")
		v.TESTQ(rest, rest)
		v.JZ(LabelRef(name + "End"))
		tail := v.tailOf(rest, mask)
		tail.load(Mem{Base: at}, value)
		v.VORPS(fill, value, value) // -Inf in masked-out lanes
		body(tail.keep, tail.store)
		v.Label(name + "End")
	}
	pass("largest", func(func(reg.VecPhysical), storing) { v.VMAXPS(value, top, top) })
	v.reduce(top, value, v.VMAXPS)
	v.zero(sum)
	pass("exponentials", func(keep func(reg.VecPhysical), store storing) {
		v.VSUBPS(top, value, value)
		keep(value)
		p := v.power(c)
		keep(p)
		v.VADDPS(p, sum, sum)
		store(p, Mem{Base: at})
	})
	v.reduce(sum, value, v.VADDPS)
	v.VMOVUPS(c["Taylor1"], top)
	v.VDIVPS(sum, top, top)
	pass("shares", func(_ func(reg.VecPhysical), store storing) {
		v.VMULPS(top, value, value)
		store(value, Mem{Base: at})
	})
	v.VZEROUPPER()
	v.RET()
}

// shortRow is the longest row that softmax and relax keep in registers.
const shortRow = 16

// shortRow returns the masks of the registers of a row of up to shortRow values. On AVX2 they are in
// registers 7 and 8.
func (v vector) shortRow(length reg.GPVirtual) []tail {
	if v.lanes == shortRow {
		return []tail{v.tailOf(length, nil)}
	}
	first, second := v.GP64(), v.GP64()
	v.MOVQ(length, first)
	v.CMPQ(length, U8(v.lanes))
	v.JLT(LabelRef("narrow"))
	v.MOVQ(U32(v.lanes), first)
	v.Label("narrow")
	v.MOVQ(length, second)
	v.SUBQ(first, second)
	return []tail{v.tailOf(first, v.registers[7]), v.tailOf(second, v.registers[8])}
}

// storeAll is store for a count from none to all lanes.
func (t tail) storeAll(r reg.VecPhysical, m Mem) {
	if t.lanes == shortRow {
		t.store(r, m)
		return
	}
	*t.stores++
	some, done := fmt.Sprintf("some%d", *t.stores), fmt.Sprintf("done%d", *t.stores)
	t.TESTQ(U32(uint32(t.lanes)), t.count)
	t.JZ(LabelRef(some))
	t.VMOVUPS(r, m)
	t.JMP(LabelRef(done))
	t.Label(some)
	t.store(r, m)
	t.Label(done)
}

// shortSoftmax replaces a row of length values in registers by its softmax. It uses the first seven
// registers, 11 and 12.
func (v vector) shortSoftmax(c constants, row []reg.VecPhysical, parts []tail,
	length reg.GPVirtual,
) {
	value, top, sum := v.registers[0], v.registers[11], v.registers[12]
	table, minus := v.GP64(), v.GP64()
	v.LEAQ(NewDataAddr(Symbol{Name: v.name + "Fill", Static: true}, 0), table)
	v.MOVQ(length, minus)
	v.NEGQ(minus)
	v.limits(c)
	for i, r := range row { // -Inf in masked-out lanes
		v.VORPS(Mem{Base: table, Index: minus, Scale: 4, Disp: shortRow*4 + i*v.bytes()}, r, r)
	}
	v.VMOVUPS(row[0], top)
	for _, r := range row[1:] {
		v.VMAXPS(r, top, top)
	}
	v.reduce(top, value, v.VMAXPS)
	v.zero(sum)
	for i, r := range row {
		v.VSUBPS(top, r, value)
		parts[i].keep(value)
		p := v.power(c)
		parts[i].keep(p)
		v.VADDPS(p, sum, sum)
		v.VMOVUPS(p, r)
	}
	v.reduce(sum, value, v.VADDPS)
	v.VMOVUPS(c["Taylor1"], top)
	v.VDIVPS(sum, top, top)
	for _, r := range row {
		v.VMULPS(top, r, r)
	}
}

// relax adds weighted rows to scores and replaces a row by their softmax, all in registers.
func (v vector) relax(c constants) {
	v.function("Relax",
		"func(row, scores []float32, alpha float32, rows *float32, ids []int32, weights *float32) float32")
	row, length := v.slice("row")
	scores, _ := v.slice("scores")
	rows := v.integer("rows")
	ids, count := v.slice("ids")
	weights := v.integer("weights")
	parts := v.shortRow(length)
	next, sums := v.registers[9:9+len(parts)], v.registers[13:13+len(parts)]
	x, weight := v.registers[0], v.registers[1]
	v.zero(sums...)
	v.TESTQ(count, count)
	v.JZ(LabelRef("added"))
	width, id := v.GP64(), v.GP64()
	v.MOVQ(length, width)
	v.SHLQ(U8(2), width)
	v.Label("add")
	v.MOVL(Mem{Base: ids}, id.As32())
	v.IMULQ(width, id)
	v.VBROADCASTSS(Mem{Base: weights}, weight)
	for i, part := range parts {
		part.load(Mem{Base: rows, Index: id, Scale: 1, Disp: i * v.bytes()}, x)
		v.VFMADD231PS(x, weight, sums[i])
	}
	v.ADDQ(U8(4), ids)
	v.ADDQ(U8(4), weights)
	v.DECQ(count)
	v.JNZ(LabelRef("add"))
	v.Label("added")
	v.broadcast("alpha", weight)
	for i, part := range parts {
		part.load(Mem{Base: scores, Disp: i * v.bytes()}, next[i])
		v.VFMADD231PS(sums[i], weight, next[i])
	}
	v.shortSoftmax(c, next, parts, length)
	change, signs := v.registers[1], v.registers[2]
	v.zero(change)
	v.VMOVUPS(c["Sign"], signs)
	for i, part := range parts {
		part.load(Mem{Base: row, Disp: i * v.bytes()}, x)
		v.VSUBPS(x, next[i], x)
		v.VANDNPS(x, signs, x)
		v.VADDPS(x, change, change)
	}
	v.reduce(change, x, v.VADDPS)
	result, err := v.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	v.VMOVSS(change.AsX(), result.Addr)
	for i, part := range parts {
		part.storeAll(next[i], Mem{Base: row, Disp: i * v.bytes()})
	}
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
	v.function("AddRows", "func(out []float32, alpha float32, rows *float32, ids []int32, weights *float32)")
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
	block := func(name string, load loading, store storing) {
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
	block("row", v.load, v.store)
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
