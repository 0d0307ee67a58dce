package main

import (
	. "github.com/mmcloughlin/avo/operand"
)

// line is the size of a cache line.
const line = 64

// prefetch requests every line of a row, including that of its end, because rows are not aligned.
func (v vector) prefetch() {
	v.function("Prefetch", "func(rows *byte, bytes int, ids []int32)")
	rows, bytes := v.integer("rows"), v.integer("bytes")
	ids, count := v.slice("ids")
	v.Label("row")
	at, end := v.GP64(), v.GP64()
	v.MOVLQSX(Mem{Base: ids}, at)
	v.IMULQ(bytes, at)
	v.ADDQ(rows, at)
	v.LEAQ(Mem{Base: at, Index: bytes, Scale: 1, Disp: -1}, end)
	v.Label("line")
	v.PREFETCHT0(Mem{Base: at})
	v.ADDQ(U8(line), at)
	v.CMPQ(at, end)
	v.JLS(LabelRef("line"))
	v.PREFETCHT0(Mem{Base: end})
	v.ADDQ(U8(4), ids)
	v.DECQ(count)
	v.JNZ(LabelRef("row"))
	v.RET()
}

func (n *neon) prefetch() {
	n.function("Prefetch", "(rows *byte, bytes int, ids []int32)", 40)
	n.emit("MOVD rows+0(FP), R0")
	n.emit("MOVD bytes+8(FP), R1")
	n.emit("MOVD ids_base+16(FP), R2")
	n.emit("MOVD ids_len+24(FP), R3")
	n.loop(3, func() {
		n.emit("MOVW.P 4(R2), R4") // sign-extended
		n.emit("MADD R1, R0, R4, R4")
		n.emit("ADD R1, R4, R5")
		n.emit("SUB $1, R5, R5")
		again := n.fresh("line")
		n.label(again)
		n.emit("PRFM (R4), PLDL1KEEP")
		n.emit("ADD $%d, R4, R4", line)
		n.emit("CMP R5, R4")
		n.emit("BLS %s", again)
		n.emit("PRFM (R5), PLDL1KEEP")
	})
	n.emit("RET")
}
