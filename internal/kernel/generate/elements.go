package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// each runs body for every register of count elements, the last one masked. body uses the given load and
// store, and finally advances its pointers by step bytes.
func (v vector) each(count reg.GPVirtual, mask reg.VecPhysical, advance []reg.GPVirtual,
	body func(load loading, store storing),
) {
	whole, rest := v.split(count)
	v.TESTQ(whole, whole)
	v.JZ(LabelRef("tail"))
	v.Label("step")
	body(v.load, v.store)
	for _, pointer := range advance {
		v.ADDQ(U8(v.bytes()), pointer)
	}
	v.DECQ(whole)
	v.JNZ(LabelRef("step"))
	v.Label("tail")
	v.TESTQ(rest, rest)
	v.JZ(LabelRef("end"))
	tail := v.tailOf(rest, mask)
	body(tail.load, tail.store)
	v.Label("end")
	v.VZEROUPPER()
	v.RET()
}

func (v vector) axpy() {
	v.function("Axpy", "func(alpha float32, x, y []float32)")
	x, length := v.slice("x")
	y, _ := v.slice("y")
	r := v.registers
	v.broadcast("alpha", r[0])
	v.each(length, r[1], []reg.GPVirtual{x, y}, func(load loading, store storing) {
		load(Mem{Base: x}, r[2])
		load(Mem{Base: y}, r[3])
		v.VFMADD231PS(r[2], r[0], r[3])
		store(r[3], Mem{Base: y})
	})
}

func (v vector) scale() {
	v.function("Scale", "func(alpha float32, x []float32)")
	x, length := v.slice("x")
	r := v.registers
	v.broadcast("alpha", r[0])
	v.each(length, r[1], []reg.GPVirtual{x}, func(load loading, store storing) {
		load(Mem{Base: x}, r[2])
		v.VMULPS(r[0], r[2], r[2])
		store(r[2], Mem{Base: x})
	})
}

// threeQuarterPower takes two square roots: |x|^.75 = sqrt|x| sqrt sqrt|x|, which neither
// overflows nor underflows.
func (v vector) threeQuarterPower(c constants) {
	v.function("ThreeQuarterPower", "func(out, x []float32)")
	out, _ := v.slice("out")
	x, length := v.slice("x")
	value, sign, root, fourth := v.registers[0], v.registers[1], v.registers[2], v.registers[3]
	signs := v.registers[4]
	v.VMOVUPS(c["Sign"], signs)
	v.each(length, v.registers[5], []reg.GPVirtual{out, x}, func(load loading, store storing) {
		load(Mem{Base: x}, value)
		v.VANDPS(signs, value, sign)
		v.VANDNPS(value, signs, value)
		v.VSQRTPS(value, root)
		v.VSQRTPS(root, fourth)
		v.VMULPS(fourth, root, root)
		v.VORPS(sign, root, root)
		store(root, Mem{Base: out})
	})
}

// exp follows portableExp step by step.
func (v vector) exp(c constants) {
	v.function("Exp", "func(out, x []float32)")
	out, _ := v.slice("out")
	x, length := v.slice("x")
	v.limits(c)
	v.each(length, v.registers[7], []reg.GPVirtual{out, x}, func(load loading, store storing) {
		load(Mem{Base: x}, v.registers[0])
		store(v.power(c), Mem{Base: out})
	})
}

// limits loads registers 5 and 6 for power.
func (v vector) limits(c constants) {
	v.VMOVUPS(c["Highest"], v.registers[5])
	v.VMOVUPS(c["Lowest"], v.registers[6])
}

// power computes the exponentials of register 0 and returns the register of the result. It uses the first
// five registers, and those that limits has loaded.
func (v vector) power(c constants) reg.VecPhysical {
	value, whole, n, p, half := v.registers[0], v.registers[1], v.registers[2], v.registers[3], v.registers[4]
	v.VMINPS(value, v.registers[5], value) // if one is NaN, the result is the second operand
	v.VMAXPS(value, v.registers[6], value)
	v.VMULPS(c["Log2e"], value, whole)
	v.VCVTPS2DQ(whole, whole)
	v.VCVTDQ2PS(whole, n)
	v.VFNMADD231PS(c["Ln2High"], n, value)
	v.VFNMADD231PS(c["Ln2Low"], n, value)
	v.VMOVUPS(c["Taylor7"], p)
	for k := 6; k >= 1; k-- {
		v.VFMADD213PS(c[fmt.Sprintf("Taylor%d", k)], value, p)
	}
	v.VFMADD213PS(c["Taylor1"], value, p)
	v.VPSRAD(U8(1), whole, half)
	v.VPSUBD(half, whole, whole)
	for _, r := range []reg.VecPhysical{half, whole} {
		v.VPADDD(c["Bias"], r, r)
		v.VPSLLD(U8(23), r, r)
		v.VMULPS(r, p, p)
	}
	return p
}

// accumulate adds weighted rows to a tile of classes x vectors sums, which stay in registers over all rows.
// With one vector it processes the columns that fill no tile, the last of them masked.
func (v vector) accumulate(classes, vectors int) {
	v.function(fmt.Sprintf("Accumulate%dx%d", classes, vectors),
		"func(out *float32, weights *float32, k int, rows *float32, d, n, columns int)")
	out, weights, k := v.integer("out"), v.integer("weights"), v.integer("k")
	rows, d, n := v.integer("rows"), v.integer("d"), v.integer("n")
	columns := v.integer("columns")
	v.SHLQ(U8(2), k)
	v.SHLQ(U8(2), d)
	threeRows := v.GP64()
	v.LEAQ(Mem{Base: d, Index: d, Scale: 2}, threeRows)
	sums := v.registers[:classes*vectors]
	x := v.registers[len(sums) : len(sums)+vectors]
	weight, mask := v.registers[len(sums)+vectors], v.registers[len(sums)+vectors-1]
	if vectors == 1 {
		mask = v.registers[len(sums)+2]
	}
	result := func(c, i int) Mem {
		m := Mem{Base: out, Disp: i * v.bytes()}
		switch c {
		case 1, 2:
			m.Index, m.Scale = d, uint8(c)
		case 3:
			m.Index, m.Scale = threeRows, 1
		}
		return m
	}
	atWeights, atRows, left := v.GP64(), v.GP64(), v.GP64()
	block := func(name string, load loading, store storing) {
		for c := range classes {
			for i := range vectors {
				load(result(c, i), sums[c*vectors+i])
			}
		}
		v.MOVQ(weights, atWeights)
		v.MOVQ(rows, atRows)
		v.MOVQ(n, left)
		v.Label(name)
		for i := range vectors {
			load(Mem{Base: atRows, Disp: i * v.bytes()}, x[i])
		}
		for c := range classes {
			v.VBROADCASTSS(Mem{Base: atWeights, Disp: 4 * c}, weight)
			for i := range vectors {
				v.VFMADD231PS(x[i], weight, sums[c*vectors+i])
			}
		}
		v.ADDQ(k, atWeights)
		v.ADDQ(d, atRows)
		v.DECQ(left)
		v.JNZ(LabelRef(name))
		for c := range classes {
			for i := range vectors {
				store(sums[c*vectors+i], result(c, i))
			}
		}
	}
	v.Label("tile")
	v.CMPQ(columns, U8(vectors*v.lanes))
	v.JLT(LabelRef("tail"))
	block("row", v.load, v.store)
	v.ADDQ(I32(vectors*v.bytes()), out)
	v.ADDQ(I32(vectors*v.bytes()), rows)
	v.SUBQ(U8(vectors*v.lanes), columns)
	v.JMP(LabelRef("tile"))
	v.Label("tail")
	if vectors == 1 {
		v.TESTQ(columns, columns)
		v.JZ(LabelRef("end"))
		tail := v.tailOf(columns, mask)
		block("tailRow", tail.load, tail.store)
		v.Label("end")
	}
	v.VZEROUPPER()
	v.RET()
}
