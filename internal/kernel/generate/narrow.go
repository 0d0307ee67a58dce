package main

import (
	. "github.com/mmcloughlin/avo/operand"
)

// widen and narrow process a multiple of 16 values.

func (v vector) widen() {
	v.function("Widen", "func(out []float32, codes []int16, scale float32)")
	out, length := v.slice("out")
	codes, _ := v.slice("codes")
	r := v.registers
	v.broadcast("scale", r[0])
	v.SHRQ(U8(4), length)
	v.Label("step")
	for i := range groups / v.lanes {
		v.VPMOVSXWD(Mem{Base: codes, Disp: 2 * i * v.lanes}, r[1+i])
		v.VCVTDQ2PS(r[1+i], r[1+i])
		v.VMULPS(r[0], r[1+i], r[1+i])
		v.VMOVUPS(r[1+i], Mem{Base: out, Disp: i * v.bytes()})
	}
	v.ADDQ(U8(2*groups), codes)
	v.ADDQ(U8(4*groups), out)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.VZEROUPPER()
	v.RET()
}

func (v vector) narrow() {
	v.function("Narrow", "func(codes []int16, x []float32, by float32)")
	codes, _ := v.slice("codes")
	x, length := v.slice("x")
	r := v.registers
	v.broadcast("by", r[0])
	v.SHRQ(U8(4), length)
	v.Label("step")
	for i := range groups / v.lanes {
		v.VMULPS(Mem{Base: x, Disp: i * v.bytes()}, r[0], r[1+i])
		v.VCVTPS2DQ(r[1+i], r[1+i])
	}
	if v.lanes == 16 {
		v.VPMOVSDW(r[1], Mem{Base: codes})
	} else {
		v.VPACKSSDW(r[2], r[1], r[1]) // within each half of a register
		v.VPERMQ(U8(0xd8), r[1], r[1])
		v.VMOVUPS(r[1], Mem{Base: codes})
	}
	v.ADDQ(U8(4*groups), x)
	v.ADDQ(U8(2*groups), codes)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.VZEROUPPER()
	v.RET()
}
