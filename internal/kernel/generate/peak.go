package main

import (
	. "github.com/mmcloughlin/avo/operand"
)

// peakSums is the number of independent sums in multiplyAdds: enough to hide the latency of a multiply-add.
const peakSums = 12

// multiplyAdds only multiplies and adds in registers, to measure the processor's peak.
func (v vector) multiplyAdds() {
	v.function("MultiplyAdds", "func(rounds int)")
	rounds := v.integer("rounds")
	v.zero(v.registers[:peakSums+2]...)
	v.Label("round")
	for i := range peakSums {
		v.VFMADD231PS(v.registers[peakSums], v.registers[peakSums+1], v.registers[i])
	}
	v.DECQ(rounds)
	v.JNZ(LabelRef("round"))
	v.VZEROUPPER()
	v.RET()
}
