package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vector is an instruction set: its number of float32 lanes per register, and the shapes of tile that
// fill its registers.
type vector struct {
	*build.Context
	name             string
	lanes            int
	registers        []reg.VecPhysical
	rows, columns    int  // of a tile of inner products
	classes, vectors int  // of a tile of Accumulate
	stores           *int // number so far, for distinct labels
}

// AVX2 has 16 registers: 3 x 4 sums leave room for 3 rows of a and one of b. AVX-512 has 32.
var (
	avx2 = vector{
		name: "avx2", lanes: 8, rows: 3, columns: 4, classes: 4, vectors: 3,
		registers: []reg.VecPhysical{
			reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7, reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12,
			reg.Y13, reg.Y14, reg.Y15,
		},
	}
	avx512 = vector{
		name: "avx512", lanes: 16, rows: 4, columns: 4, classes: 4, vectors: 4,
		registers: []reg.VecPhysical{
			reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7, reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12,
			reg.Z13, reg.Z14, reg.Z15,
			reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23, reg.Z24, reg.Z25, reg.Z26, reg.Z27,
			reg.Z28, reg.Z29, reg.Z30, reg.Z31,
		},
	}
)

// function begins a routine.
func (v vector) function(name, signature string) {
	v.Function(v.name + name)
	v.Attributes(attr.NOSPLIT)
	v.SignatureExpr(signature)
	v.Pragma("noescape")
}

// data begins a table of constants.
func (v vector) data(name string) Mem {
	m := v.StaticGlobal(v.name + name)
	v.DataAttributes(attr.RODATA | attr.NOPTR)
	return m
}

// bytes returns the size of a register.
func (v vector) bytes() int { return 4 * v.lanes }

// zero clears registers.
func (v vector) zero(registers ...reg.VecPhysical) {
	for _, r := range registers {
		if v.lanes == 16 {
			v.VPXORD(r, r, r)
		} else {
			v.VXORPS(r, r, r)
		}
	}
}

// loading fills a register from memory, storing writes one: all lanes, or those of a tail.
type (
	loading func(Mem, reg.VecPhysical)
	storing func(reg.VecPhysical, Mem)
)

func (v vector) load(m Mem, r reg.VecPhysical)  { v.VMOVUPS(m, r) }
func (v vector) store(r reg.VecPhysical, m Mem) { v.VMOVUPS(r, m) }

// tail restricts access to some of a register's lanes, by a mask in a vector register or in a mask register.
type tail struct {
	vector
	mask  reg.Register
	count reg.GPVirtual
}

// tailOf makes the mask of count lanes, 0 < count < lanes. On AVX2 it is in the given vector register.
func (v vector) tailOf(count reg.GPVirtual, mask reg.VecPhysical) tail {
	if v.lanes == 16 {
		ones, k := v.GP32(), v.K()
		v.MOVL(I32(-1), ones)
		v.BZHIL(count.As32(), ones, ones)
		v.KMOVW(ones, k)
		return tail{v, k, count}
	}
	at, minus := v.GP64(), v.GP64()
	v.LEAQ(NewDataAddr(Symbol{Name: v.name + "Mask", Static: true}, 0), at)
	v.MOVQ(count, minus)
	v.NEGQ(minus)
	v.VMOVUPS(Mem{Base: at, Index: minus, Scale: 4, Disp: v.bytes()}, mask)
	return tail{v, mask, count}
}

// load fills r with the masked lanes at m, and zeros elsewhere.
func (t tail) load(m Mem, r reg.VecPhysical) {
	if t.lanes == 16 {
		t.VMOVUPS_Z(m, t.mask, r)
	} else {
		t.VMASKMOVPS(m, t.mask, r)
	}
}

// keep sets the other lanes of r to zero. Exponentials that underflow there would take longer than all else.
func (t tail) keep(r reg.VecPhysical) {
	if t.lanes == 16 {
		t.VMOVUPS_Z(r, t.mask, r)
	} else {
		t.VANDPS(t.mask.(reg.VecPhysical), r, r)
	}
}

// store writes the masked lanes of r to m. On AVX2 it destroys r and the mask, so it must follow the
// last load. It stores four lanes, two and one separately, as masked stores take several times as long
// on some processors.
func (t tail) store(r reg.VecPhysical, m Mem) {
	if t.lanes == 16 {
		t.VMOVUPS(r, t.mask, m)
		return
	}
	at, spare := t.GP64(), t.mask.(reg.VecPhysical)
	t.LEAQ(m, at)
	*t.stores++
	label := func(name string) string { return fmt.Sprintf("%s%d", name, *t.stores) }
	t.TESTQ(U32(4), t.count)
	t.JZ(LabelRef(label("two")))
	t.VMOVUPS(r.AsX(), Mem{Base: at})
	t.upper(r, spare.AsX())
	t.VMOVUPS(spare, r)
	t.ADDQ(U8(16), at)
	t.Label(label("two"))
	t.TESTQ(U32(2), t.count)
	t.JZ(LabelRef(label("one")))
	t.VMOVLPS(r.AsX(), Mem{Base: at})
	t.VPERMILPS(U8(0x0e), r.AsX(), r.AsX())
	t.ADDQ(U8(8), at)
	t.Label(label("one"))
	t.TESTQ(U32(1), t.count)
	t.JZ(LabelRef(label("stored")))
	t.VMOVSS(r.AsX(), Mem{Base: at})
	t.Label(label("stored"))
}

// split returns the number of whole registers in count, and the rest.
func (v vector) split(count reg.GPVirtual) (whole, rest reg.GPVirtual) {
	whole, rest = v.GP64(), v.GP64()
	v.MOVQ(count, whole)
	v.SHRQ(U8(int(math.Log2(float64(v.lanes)))), whole)
	v.MOVQ(count, rest)
	v.ANDQ(U8(v.lanes-1), rest)
	return whole, rest
}

// integer loads a parameter into a general register.
func (v vector) integer(name string) reg.GPVirtual {
	r := v.GP64()
	v.Load(v.Param(name), r)
	return r
}

// slice loads the address and the length of a slice.
func (v vector) slice(name string) (base, length reg.GPVirtual) {
	base, length = v.GP64(), v.GP64()
	v.Load(v.Param(name).Base(), base)
	v.Load(v.Param(name).Len(), length)
	return base, length
}

// broadcast fills every lane of r with a float32 parameter.
func (v vector) broadcast(name string, r reg.VecPhysical) {
	at, err := v.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	v.VBROADCASTSS(at.Addr, r)
}

// sum adds the lanes of r into lane 0, in the same order as sums4. It uses other.
func (v vector) sum(r, other reg.VecPhysical) {
	v.halve(r, other)
	x, y := r.AsX(), other.AsX()
	high := other.AsY()
	v.VPERMILPS(U8(0x4e), r.AsY(), high)
	v.VADDPS(high, r.AsY(), r.AsY())
	v.VPERMILPS(U8(0xb1), r.AsY(), high)
	v.VADDPS(high, r.AsY(), r.AsY())
	v.upper(r, y)
	v.VADDPS(y, x, x)
}

// sums4 adds the lanes of four registers and leaves the sums in the lowest four lanes of the first: within
// each half of eight lanes (0+2)+(1+3), then lower half plus upper.
func (v vector) sums4(r []reg.VecPhysical, one, two reg.VecPhysical) {
	for i := range 4 {
		v.halve(r[i], one)
	}
	a, b, c, d := r[0].AsY(), r[1].AsY(), r[2].AsY(), r[3].AsY()
	t, u := one.AsY(), two.AsY()
	v.VUNPCKLPS(b, a, t)
	v.VUNPCKHPS(b, a, u)
	v.VADDPS(u, t, a)
	v.VUNPCKLPS(d, c, t)
	v.VUNPCKHPS(d, c, u)
	v.VADDPS(u, t, c)
	v.VSHUFPS(U8(0x44), c, a, t)
	v.VSHUFPS(U8(0xee), c, a, u)
	v.VADDPS(u, t, a)
	v.upper(r[0], one.AsX())
	v.VADDPS(one.AsX(), r[0].AsX(), r[0].AsX())
}

// sums16 is sums4 of four rows of four registers of sixteen lanes at a time, in the same order, and leaves the sums of each
// row in the lowest four lanes of its first register.
func (v vector) sums16(r []reg.VecPhysical, one, two reg.VecPhysical) {
	for _, row := range []int{0, 8} { // two rows share a register: a half of eight lanes each
		own := r[row : row+4]
		for j := range own {
			low, high := r[row+j], r[row+j+4]
			v.VSHUFF32X4(U8(0x44), high, low, one)
			v.VSHUFF32X4(U8(0xee), high, low, two)
			v.VADDPS(two, one, low)
		}
		for _, j := range []int{0, 2} {
			v.VUNPCKLPS(own[j+1], own[j], one)
			v.VUNPCKHPS(own[j+1], own[j], two)
			v.VADDPS(two, one, own[j])
		}
		v.VSHUFPS(U8(0x44), own[2], own[0], one)
		v.VSHUFPS(U8(0xee), own[2], own[0], two)
		v.VADDPS(two, one, own[0])
	}
	v.VSHUFF32X4(U8(0x88), r[8], r[0], one)
	v.VSHUFF32X4(U8(0xdd), r[8], r[0], two)
	v.VADDPS(two, one, r[0])
	for i := 1; i < 4; i++ {
		v.VEXTRACTF32X4(U8(i), r[0], r[4*i].AsX())
	}
}

// upper copies lanes 4 to 7 of r to x. Registers above 15 exist for the AVX-512 form only.
func (v vector) upper(r reg.VecPhysical, x Op) {
	if v.lanes == 16 {
		v.VEXTRACTF32X4(U8(1), r.AsY(), x)
	} else {
		v.VEXTRACTF128(U8(1), r.AsY(), x)
	}
}

// halve adds the upper eight of sixteen lanes to the lower.
func (v vector) halve(r, other reg.VecPhysical) {
	if v.lanes == 16 {
		v.VEXTRACTF64X4(U8(1), r, other.AsY())
		v.VADDPS(other.AsY(), r.AsY(), r.AsY())
	}
}

// splitLn2 is the part of ln 2 whose multiples are exact in float32.
const splitLn2 = 0x1.62e4p-1

// constants are 64 bytes of one number each, which suit both widths.
type constants map[string]Mem

func (v vector) constants() constants {
	if v.lanes == 8 {
		v.data("Mask")
		for i := range 16 {
			if i < 8 {
				v.AddDatum(4*i, U32(math.MaxUint32))
			} else {
				v.AddDatum(4*i, U32(0))
			}
		}
	}
	c := constants{}
	number := func(name string, bits uint32) {
		c[name] = v.data(name)
		for i := range v.lanes {
			v.AddDatum(4*i, U32(bits))
		}
	}
	// The same numbers as in portable.go.
	floats := map[string]float64{
		"Lowest": -104, "Highest": 89, "Log2e": 1 / math.Ln2, "Ln2High": splitLn2,
		"Ln2Low": math.Ln2 - splitLn2,
	}
	for _, name := range []string{"Lowest", "Highest", "Log2e", "Ln2High", "Ln2Low"} {
		number(name, math.Float32bits(float32(floats[name])))
	}
	factorial := 1.
	for k := 1; k <= 7; k++ {
		factorial *= float64(k)
		number(fmt.Sprintf("Taylor%d", k), math.Float32bits(float32(1/factorial)))
	}
	number("Bias", 127)
	number("Least", 0xff800000)
	v.data("Fill") // zeros, then -Inf
	for i := range 2 * shortRow {
		if i < shortRow {
			v.AddDatum(4*i, U32(0))
		} else {
			v.AddDatum(4*i, U32(0xff800000))
		}
	}
	number("Sign", 1<<31)
	return c
}
