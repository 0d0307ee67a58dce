package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpose copies blocks of 8 x 8 to their mirror images, in registers of eight lanes for
// both instruction sets.
func (v vector) transpose() {
	v.function("Transpose", "func(to, from *float32, stride, blocks int)")
	to, from, stride, blocks := v.integer("to"), v.integer("from"), v.integer("stride"), v.integer("blocks")
	v.SHLQ(U8(2), stride)
	three, row := v.GP64(), v.GP64()
	v.LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, three)
	y := make([]reg.VecPhysical, 16)
	for i := range y {
		y[i] = v.registers[i].AsY().(reg.VecPhysical)
	}
	// at addresses row i of 8 from base; base4 points four rows further.
	at := func(base, base4 reg.GPVirtual, i int) Mem {
		if i >= 4 {
			base, i = base4, i-4
		}
		switch i {
		case 0:
			return Mem{Base: base}
		case 3:
			return Mem{Base: base, Index: three, Scale: 1}
		}
		return Mem{Base: base, Index: stride, Scale: uint8(i)}
	}
	v.Label("block")
	v.LEAQ(Mem{Base: from, Index: stride, Scale: 4}, row)
	a, b := y[:8], y[8:]
	for i := range 8 {
		v.VMOVUPS(at(from, row, i), a[i])
	}
	for i := 0; i < 8; i += 2 { // b: pairs of rows, interleaved
		v.VUNPCKLPS(a[i+1], a[i], b[i])
		v.VUNPCKHPS(a[i+1], a[i], b[i+1])
	}
	for i := 0; i < 8; i += 4 { // a: columns of four rows in each half
		v.VSHUFPS(U8(0x44), b[i+2], b[i], a[i])
		v.VSHUFPS(U8(0xee), b[i+2], b[i], a[i+1])
		v.VSHUFPS(U8(0x44), b[i+3], b[i+1], a[i+2])
		v.VSHUFPS(U8(0xee), b[i+3], b[i+1], a[i+3])
	}
	for i := range 4 {
		v.VPERM2F128(U8(0x20), a[i+4], a[i], b[i])
		v.VPERM2F128(U8(0x31), a[i+4], a[i], b[i+4])
	}
	v.LEAQ(Mem{Base: to, Index: stride, Scale: 4}, row)
	for i := range 8 {
		v.VMOVUPS(b[i], at(to, row, i))
	}
	v.ADDQ(U8(32), from)
	v.LEAQ(Mem{Base: to, Index: stride, Scale: 8}, to)
	v.DECQ(blocks)
	v.JNZ(LabelRef("block"))
	v.VZEROUPPER()
	v.RET()
}
