package main

import (
	. "github.com/mmcloughlin/avo/operand"
)

// peakSums is how many independent sums multiplyAdds keeps: enough to hide the latency of a multiply-add.
const peakSums = 12

// multiplyAdds does nothing but multiply and add in registers: what the processor can do at most.
func (v vector) multiplyAdds() {
	v.function("MultiplyAdds", "func(rounds int)", "multiplies and adds 12 registers in each round.")
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
