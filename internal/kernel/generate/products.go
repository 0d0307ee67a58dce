package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unrolled is the number of steps along the columns in one round of a strip.
const unrolled = 4

// strip computes the inner products of some rows of a with groups of rows of b, one tile per group. Every
// product has one register of sums, filled in the order of the columns, and is reduced in one order. So it
// has the same bits in every shape of tile.
func (v vector) strip(rows, columns int) {
	v.function(fmt.Sprintf("Strip%dx%d", rows, columns),
		"func(out *float32, stride int, a, b *float32, d, length, groups, add int)")
	out, stride := v.integer("out"), v.integer("stride")
	a, b, d := v.integer("a"), v.integer("b"), v.integer("d")
	groups, add := v.integer("groups"), v.integer("add")
	whole, rest := v.split(v.integer("length"))
	v.SHLQ(U8(2), stride)
	v.SHLQ(U8(2), d)
	threeRows := v.GP64()
	v.LEAQ(Mem{Base: d, Index: d, Scale: 2}, threeRows)

	sums := v.registers[:rows*columns]
	free := v.registers[len(sums):]
	sum := func(i, j int) reg.VecPhysical { return sums[i*columns+j] }
	row := func(base reg.GPVirtual, i int) Mem {
		switch i {
		case 0:
			return Mem{Base: base}
		case 3:
			return Mem{Base: base, Index: threeRows, Scale: 1}
		}
		return Mem{Base: base, Index: d, Scale: uint8(i)}
	}
	atA, atB, steps := v.GP64(), v.GP64(), v.GP64()

	v.Label("group")
	v.zero(sums...)
	v.MOVQ(a, atA)
	v.MOVQ(b, atB)
	v.MOVQ(whole, steps)
	v.TESTQ(steps, steps)
	v.JZ(LabelRef("tail"))

	v.CMPQ(steps, U8(unrolled))
	v.JLT(LabelRef("step"))
	step := func(displacement int) {
		at := func(m Mem) Mem { m.Disp = displacement; return m }
		for i := range rows {
			v.VMOVUPS(at(row(atA, i)), free[i])
		}
		for j := range columns {
			v.VMOVUPS(at(row(atB, j)), free[rows])
			for i := range rows {
				v.VFMADD231PS(free[rows], free[i], sum(i, j))
			}
		}
	}

	v.Label("steps") // few rounds, because processors mispredict the end of a long loop
	for u := range unrolled {
		step(u * v.bytes())
	}
	v.ADDQ(I32(unrolled*v.bytes()), atA)
	v.ADDQ(I32(unrolled*v.bytes()), atB)
	v.SUBQ(U8(unrolled), steps)
	v.CMPQ(steps, U8(unrolled))
	v.JGE(LabelRef("steps"))
	v.TESTQ(steps, steps)
	v.JZ(LabelRef("tail"))

	v.Label("step")
	step(0)
	v.ADDQ(U8(v.bytes()), atA)
	v.ADDQ(U8(v.bytes()), atB)
	v.DECQ(steps)
	v.JNZ(LabelRef("step"))

	v.Label("tail")
	v.TESTQ(rest, rest)
	v.JZ(LabelRef("reduce"))
	tail := v.tailOf(rest, free[2])
	for i := range rows {
		tail.load(row(atA, i), free[0])
		for j := range columns {
			tail.load(row(atB, j), free[1])
			v.VFMADD231PS(free[1], free[0], sum(i, j))
		}
	}

	v.Label("reduce")
	at := v.GP64()
	v.MOVQ(out, at)
	wide := v.lanes == 16 && rows == 4 && columns == 4
	if wide {
		v.sums16(sums, free[0], free[1])
	}
	for i := range rows {
		first := sum(i, 0)
		switch {
		case wide:
		case columns == 4:
			v.sums4(sums[i*columns:i*columns+columns], free[0], free[1])
		default:
			v.sum(first, free[0])
		}
		label := fmt.Sprintf("store%d", i)
		v.TESTQ(add, add)
		v.JZ(LabelRef(label))
		if columns == 4 {
			v.VADDPS(Mem{Base: at}, first.AsX(), first.AsX())
		} else {
			v.VADDSS(Mem{Base: at}, first.AsX(), first.AsX())
		}
		v.Label(label)
		if columns == 4 {
			v.VMOVUPS(first.AsX(), Mem{Base: at})
		} else {
			v.VMOVSS(first.AsX(), Mem{Base: at})
		}
		if i < rows-1 {
			v.ADDQ(stride, at)
		}
	}
	v.ADDQ(U8(4*columns), out)
	v.LEAQ(Mem{Base: b, Index: d, Scale: uint8(columns)}, b)
	v.DECQ(groups)
	v.JNZ(LabelRef("group"))
	v.VZEROUPPER()
	v.RET()
}

// The routines of dot.
const (
	dot             = "Dot"
	squaredDistance = "SquaredDistance"
	difference      = "Difference" // a squared distance that writes the differences to out
)

// dot computes an inner product, or a squared distance, with four registers of sums.
func (v vector) dot(name string) {
	parameters := "a, b []float32"
	if name == difference {
		parameters = "out, " + parameters
	}
	v.function(name, "func("+parameters+") float32")
	var out reg.GPVirtual
	if name == difference {
		out, _ = v.slice("out")
	}
	a, length := v.slice("a")
	b, _ := v.slice("b")
	whole, rest := v.split(length)
	sums, left, right := v.registers[:4], v.registers[4:8], v.registers[8:12]
	v.zero(sums...)
	term := func(left, right, sum reg.VecPhysical) {
		if name == dot {
			v.VFMADD231PS(right, left, sum)
		} else {
			v.VSUBPS(right, left, left)
			v.VFMADD231PS(left, left, sum)
		}
	}
	keep := func(store storing, left reg.VecPhysical, displacement int) {
		if name == difference {
			store(left, Mem{Base: out, Disp: displacement})
		}
	}
	advance := func(bytes Op) {
		v.ADDQ(bytes, a)
		v.ADDQ(bytes, b)
		if name == difference {
			v.ADDQ(bytes, out)
		}
	}

	v.Label("four")
	v.CMPQ(whole, U8(4))
	v.JLT(LabelRef("one"))
	for i := range 4 {
		v.VMOVUPS(Mem{Base: a, Disp: i * v.bytes()}, left[i])
		v.VMOVUPS(Mem{Base: b, Disp: i * v.bytes()}, right[i])
		term(left[i], right[i], sums[i])
		keep(v.store, left[i], i*v.bytes())
	}
	advance(I32(4 * v.bytes()))
	v.SUBQ(U8(4), whole)
	v.JMP(LabelRef("four"))

	v.Label("one")
	v.TESTQ(whole, whole)
	v.JZ(LabelRef("tail"))
	v.VMOVUPS(Mem{Base: a}, left[0])
	v.VMOVUPS(Mem{Base: b}, right[0])
	term(left[0], right[0], sums[0])
	keep(v.store, left[0], 0)
	advance(U8(v.bytes()))
	v.DECQ(whole)
	v.JMP(LabelRef("one"))

	v.Label("tail")
	v.TESTQ(rest, rest)
	v.JZ(LabelRef("reduce"))
	tail := v.tailOf(rest, v.registers[12])
	tail.load(Mem{Base: a}, left[0])
	tail.load(Mem{Base: b}, right[0])
	term(left[0], right[0], sums[1])
	keep(tail.store, left[0], 0)

	v.Label("reduce")
	v.VADDPS(sums[1], sums[0], sums[0])
	v.VADDPS(sums[3], sums[2], sums[2])
	v.VADDPS(sums[2], sums[0], sums[0])
	v.sum(sums[0], sums[1])
	result, err := v.ReturnIndex(0).Resolve()
	if err != nil {
		panic(err)
	}
	v.VMOVSS(sums[0].AsX(), result.Addr)
	v.VZEROUPPER()
	v.RET()
}
