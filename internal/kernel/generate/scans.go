package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groups is how many elements one step of a scan processes, and the number of groups of GroupMinima.
const groups = 16

// two fills r with 2.
func (v vector) two(r reg.VecPhysical) {
	bits := v.GP32()
	v.MOVL(U32(0x40000000), bits)
	v.VMOVD(bits, r.AsX())
	v.VBROADCASTSS(r.AsX(), r)
}

// groupMinima processes a multiple of 16 values.
func (v vector) groupMinima() {
	v.function("GroupMinima", "func(minima *[16]float32, norms, products []float32)")
	minima := v.integer("minima")
	norms, _ := v.slice("norms")
	products, length := v.slice("products")
	parts := groups / v.lanes
	lowest, value, two := v.registers[:parts], v.registers[2:2+parts], v.registers[5]
	v.two(two)
	for i := range parts {
		v.VMOVUPS(Mem{Base: minima, Disp: i * v.bytes()}, lowest[i])
	}
	v.SHRQ(U8(4), length)
	v.Label("step")
	for i := range parts {
		v.VMOVUPS(Mem{Base: products, Disp: i * v.bytes()}, value[i])
		v.VFNMADD213PS(Mem{Base: norms, Disp: i * v.bytes()}, two, value[i])
		v.VMINPS(lowest[i], value[i], lowest[i])
	}
	v.ADDQ(U8(4*groups), norms)
	v.ADDQ(U8(4*groups), products)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	for i := range parts {
		v.VMOVUPS(lowest[i], Mem{Base: minima, Disp: i * v.bytes()})
	}
	v.VZEROUPPER()
	v.RET()
}

// below processes a multiple of 16 values. Candidates are rare, so they are written one by one.
func (v vector) below(each bool) {
	if each {
		v.function("BelowEach", "func(positions []int32, norm float32, products, limits []float32) int")
	} else {
		v.function("Below", "func(positions []int32, norms, products []float32, limit float32) int")
	}
	positions, _ := v.slice("positions")
	products, length := v.slice("products")
	parts := groups / v.lanes
	value, mask, two, fixed := v.registers[:parts], v.registers[2:2+parts], v.registers[4], v.registers[5]
	var varying reg.GPVirtual
	if each {
		varying, _ = v.slice("limits")
		v.broadcast("norm", fixed)
	} else {
		varying, _ = v.slice("norms")
		v.broadcast("limit", fixed)
	}
	v.two(two)
	base, found := v.GP64(), v.GP64()
	v.XORQ(base, base)
	v.XORQ(found, found)
	v.SHRQ(U8(4), length)

	v.Label("step")
	bits := []reg.GPVirtual{v.GP32(), v.GP32()}[:parts]
	for i := range parts {
		v.VMOVUPS(Mem{Base: products, Disp: i * v.bytes()}, value[i])
		at := Mem{Base: varying, Disp: i * v.bytes()}
		limit := Op(fixed)
		if each {
			v.VFNMADD213PS(fixed, two, value[i])
			limit = at
		} else {
			v.VFNMADD213PS(at, two, value[i])
		}
		if v.lanes == 16 {
			k := v.K()
			v.VCMPPS(U8(18), limit, value[i], k)
			v.KMOVW(k, bits[i])
		} else {
			v.VCMPPS(U8(18), limit, value[i], mask[i])
			v.VMOVMSKPS(mask[i], bits[i])
		}
	}
	if parts == 2 {
		v.SHLL(U8(8), bits[1])
		v.ORL(bits[1], bits[0])
	} else {
		v.TESTL(bits[0], bits[0])
	}
	v.JZ(LabelRef("next"))
	v.Label("candidate")
	position := v.GP32()
	v.TZCNTL(bits[0], position)
	v.ADDL(base.As32(), position)
	v.MOVL(position, Mem{Base: positions, Index: found, Scale: 4})
	v.INCQ(found)
	v.BLSRL(bits[0], bits[0])
	v.JNZ(LabelRef("candidate"))
	v.Label("next")
	v.ADDQ(U8(4*groups), products)
	v.ADDQ(U8(4*groups), varying)
	v.ADDQ(U8(groups), base)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.Store(found, v.ReturnIndex(0))
	v.VZEROUPPER()
	v.RET()
}
