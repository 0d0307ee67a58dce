package main

import (
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// codeStep is how many codes one step processes.
const codeStep = 16

// toCodes processes a multiple of 16 values.
func (v vector) toCodes(c constants) {
	v.function("ToCodes", "func(codes []byte, values []float32, scale float32, scales, dither []float32)")
	codes, length := v.slice("codes")
	values, _ := v.slice("values")
	scales, _ := v.slice("scales")
	dither, _ := v.slice("dither")
	r := v.registers
	scale, signs, one, most, large := r[0], r[1], r[2], r[3], r[4]
	value, sign, root, bytes := r[5], r[6], r[7], r[8]
	v.broadcast("scale", scale)
	v.VMOVUPS(c["Sign"], signs)
	v.VMOVUPS(c["Taylor1"], one)
	v.VMOVUPS(c["CodeMost"], most)
	v.VMOVUPS(c["CodeLarge"], large)
	if v.lanes == 8 {
		v.VMOVUPS(c["FirstBytes"], bytes)
	}
	v.SHRQ(U8(4), length)
	v.Label("step")
	for i := range codeStep / v.lanes {
		v.VMULPS(Mem{Base: values, Disp: i * v.bytes()}, scale, value)
		v.VMULPS(Mem{Base: scales, Disp: i * v.bytes()}, value, value)
		v.VANDPS(signs, value, sign)
		v.VANDNPS(value, signs, value)
		v.VSQRTPS(value, root)
		v.VSQRTPS(root, value)
		v.VMULPS(value, root, value)
		v.VMINPS(one, value, value)
		v.VORPS(sign, value, value)
		v.VMULPS(most, value, value)
		v.VADDPS(Mem{Base: dither, Disp: i * v.bytes()}, value, value)
		v.VADDPS(large, value, value)
		if v.lanes == 16 {
			v.VPMOVDB(value, Mem{Base: codes})
			continue
		}
		v.VPSHUFB(bytes, value, value)
		v.VMOVD(value.AsX(), Mem{Base: codes, Disp: 8 * i})
		v.upper(value, sign.AsX())
		v.VMOVD(sign.AsX(), Mem{Base: codes, Disp: 8*i + 4})
	}
	v.ADDQ(U8(4*codeStep), values)
	v.ADDQ(U8(4*codeStep), scales)
	v.ADDQ(U8(4*codeStep), dither)
	v.ADDQ(U8(codeStep), codes)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.VZEROUPPER()
	v.RET()
}

// fromCodes processes a multiple of 16 codes, for registers of 16 lanes: eight registers hold the
// values of codes 0 to 127. Five bits of a code select among those of two registers, the other two bits
// among the pairs.
func (v vector) fromCodes() {
	v.function("FromCodes",
		"func(out []float32, codes []byte, scale float32, scales []float32, table *float32)")
	out, length := v.slice("out")
	codes, _ := v.slice("codes")
	scales, _ := v.slice("scales")
	table := v.integer("table")
	r := v.registers
	values, found := r[:8], r[8:12]
	scale, signs, most, low, high, code, size := r[12], r[13], r[14], r[15], r[16], r[17], r[18]
	v.broadcast("scale", scale)
	for i, register := range values {
		v.VMOVUPS(Mem{Base: table, Disp: i * v.bytes()}, register)
	}
	number := func(n uint32, r reg.VecPhysical) {
		bits := v.GP32()
		v.MOVL(U32(n), bits)
		v.VPBROADCASTD(bits, r)
	}
	number(1<<31, signs)
	number(127, most)
	number(32, low)
	number(64, high)
	odd, upper := v.K(), v.K()
	v.SHRQ(U8(4), length)
	v.Label("step")
	v.VPMOVSXBD(Mem{Base: codes}, code)
	v.VPABSD(code, size)
	v.VPMINUD(most, size, size)
	v.VPTESTMD(low, size, odd)
	v.VPTESTMD(high, size, upper)
	for i, register := range found {
		v.VMOVUPS(size, register)
		v.VPERMI2PS(values[2*i+1], values[2*i], register)
	}
	v.VMOVUPS(found[1], odd, found[0])
	v.VMOVUPS(found[3], odd, found[2])
	v.VMOVUPS(found[2], upper, found[0])
	v.VPANDD(signs, code, code)
	v.VPORD(code, found[0], found[0])
	v.VMULPS(scale, found[0], found[0])
	v.VMULPS(Mem{Base: scales}, found[0], found[0])
	v.VMOVUPS(found[0], Mem{Base: out})
	v.ADDQ(U8(4*codeStep), out)
	v.ADDQ(U8(4*codeStep), scales)
	v.ADDQ(U8(codeStep), codes)
	v.DECQ(length)
	v.JNZ(LabelRef("step"))
	v.VZEROUPPER()
	v.RET()
}
