//go:build amd64

package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"
)

// multiplyAdd returns a b + c, rounded once. The product is exact in float64; the sum is rounded to odd
// there, which makes the second rounding correct.
func multiplyAdd(a, b, c float32) float32 {
	p := float64(a) * float64(b)
	s := p + float64(c)
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return float32(s)
	}
	t := s - p
	lost := (p - (s - t)) + (float64(c) - t)
	if lost != 0 {
		if (lost < 0) == (s > 0) {
			s = math.Nextafter(s, 0)
		}
		s = math.Float64frombits(math.Float64bits(s) | 1)
	}
	return float32(s)
}

// saturated returns two integers as the nearest ones of 16 bits, the first in the lower half.
func saturated(a, b uint32) uint32 {
	low := func(v uint32) uint32 {
		return uint32(uint16(max(math.MinInt16, min(math.MaxInt16, int32(v)))))
	}
	return low(a) | low(b)<<16
}

// saturatedBytes returns four integers of 16 bits, two in each word, as the nearest ones of 8, the first lowest.
func saturatedBytes(words ...uint32) (bytes uint32) {
	for i, word := range words {
		for half := range 2 {
			v := int16(word >> (16 * half))
			bytes |= uint32(uint8(max(math.MinInt8, min(math.MaxInt8, v)))) << (16*i + 8*half)
		}
	}
	return bytes
}

// run executes a routine with its parameters by name.
func (m *interpreter) run(name string, frame map[string]uint64) {
	r, known := m.routines[name]
	if !known {
		panic("no routine " + name)
	}
	m.frame = frame
	for at := 0; ; {
		i := r.code[at]
		at++
		jump := false
		switch i.name {
		case "RET":
			return
		case "VZEROUPPER":
		case "JMP":
			jump = true
		case "JZ":
			jump = m.zero
		case "JNZ":
			jump = !m.zero
		case "JLT":
			jump = m.less
		case "JGE":
			jump = !m.less
		default:
			m.step(i)
		}
		if jump {
			at = r.labels[i.target]
		}
	}
}

// step executes one instruction that does not jump.
func (m *interpreter) step(i instruction) {
	o := i.operands
	last := o[len(o)-1]
	switch {
	case strings.HasPrefix(i.name, "V"):
		m.stepVector(i.name, o, last)
		return
	case i.name == "KMOVW":
		v := m.scalar(o[0]) & 0xffff
		if last.kind == maskRegister {
			m.masks[last.number] = v
		} else {
			m.general[last.number] = v
		}
		return
	}
	var result uint64
	store := true
	switch i.name {
	case "MOVQ", "MOVL":
		result = m.scalar(o[0])
		if i.name == "MOVL" {
			result &= math.MaxUint32
		}
		switch last.kind {
		case memory:
			binary.LittleEndian.PutUint32(m.word(m.effective(last)), uint32(result))
		case parameter:
			m.returned = result
		default:
			m.general[last.number] = result
		}
		return
	case "LEAQ":
		m.general[last.number] = m.effective(o[0])
		return
	case "BZHIL":
		result = m.scalar(o[1]) & (1<<(m.scalar(o[0])&255) - 1)
	case "TZCNTL":
		result = uint64(bits.TrailingZeros32(uint32(m.scalar(o[0]))))
	case "BLSRL":
		v := uint32(m.scalar(o[0]))
		result = uint64(v & (v - 1))
	case "ADDQ":
		result = m.scalar(last) + m.scalar(o[0])
	case "ADDL":
		result = uint64(uint32(m.scalar(last) + m.scalar(o[0])))
	case "IMULQ":
		result = m.scalar(last) * m.scalar(o[0])
	case "SUBQ":
		result = m.scalar(last) - m.scalar(o[0])
	case "CMPQ":
		result, store = m.scalar(o[0])-m.scalar(last), false
	case "TESTQ":
		result, store = m.scalar(o[0])&m.scalar(last), false
	case "TESTL":
		result, store = uint64(uint32(m.scalar(o[0])&m.scalar(last))), false
	case "INCQ":
		result = m.scalar(last) + 1
	case "DECQ":
		result = m.scalar(last) - 1
	case "NEGQ":
		result = -m.scalar(last)
	case "XORQ":
		result = m.scalar(last) ^ m.scalar(o[0])
	case "ANDQ":
		result = m.scalar(last) & m.scalar(o[0])
	case "ORL":
		result = uint64(uint32(m.scalar(last) | m.scalar(o[0])))
	case "SHLQ":
		result = m.scalar(last) << m.scalar(o[0])
	case "SHLL":
		result = uint64(uint32(m.scalar(last) << m.scalar(o[0])))
	case "SHRQ":
		result = m.scalar(last) >> m.scalar(o[0])
	default:
		panic("instruction " + i.name)
	}
	m.zero, m.less = result == 0, int64(result) < 0
	if store {
		m.general[last.number] = result
	}
}

// stepVector executes a vector instruction. Operands come in Go's order: the destination last.
func (m *interpreter) stepVector(name string, o []operand, last operand) {
	lanes := last.lanes
	of := func(value func(i int) uint32) { m.write(last, lanes, value) }
	floats := func(value func(a, b float32) float32) { // destination = value(second source, first source)
		of(func(i int) uint32 { return math.Float32bits(value(float(m.lane(o[1], i)), float(m.lane(o[0], i)))) })
	}
	unary := func(value func(a uint32) uint32) { of(func(i int) uint32 { return value(m.lane(o[0], i)) }) }
	binaryBits := func(value func(a, b uint32) uint32) {
		of(func(i int) uint32 { return value(m.lane(o[1], i), m.lane(o[0], i)) })
	}
	fused := func(value func(third, second, destination float32) float32) {
		of(func(i int) uint32 {
			return math.Float32bits(value(float(m.lane(o[0], i)), float(m.lane(o[1], i)), float(m.lane(last, i))))
		})
	}
	quarters := func(value func(a, b [4]uint32) [4]uint32) { // within each group of four lanes
		var result [16]uint32
		for q := 0; q < lanes; q += 4 {
			var a, b [4]uint32
			for i := range 4 {
				a[i], b[i] = m.lane(o[len(o)-2], q+i), m.lane(o[len(o)-3], q+i)
			}
			r := value(a, b)
			copy(result[q:], r[:])
		}
		m.vectors[last.number] = result
	}
	switch name {
	case "VMOVUPS":
		switch {
		case len(o) == 3: // masked store
			for i := range o[0].lanes {
				if m.masks[o[1].number]>>i&1 != 0 {
					binary.LittleEndian.PutUint32(m.word(m.effective(last)+4*uint64(i)), m.vectors[o[0].number][i])
				}
			}
		case last.kind == memory:
			for i := range o[0].lanes {
				binary.LittleEndian.PutUint32(m.word(m.effective(last)+4*uint64(i)), m.vectors[o[0].number][i])
			}
		default:
			unary(func(a uint32) uint32 { return a })
		}
	case "VMOVUPS.Z":
		of(func(i int) uint32 {
			if m.masks[o[1].number]>>i&1 == 0 {
				return 0
			}
			return m.lane(o[0], i)
		})
	case "VMASKMOVPS":
		if last.kind == memory {
			for i := range o[0].lanes {
				if m.vectors[o[1].number][i]>>31 != 0 {
					binary.LittleEndian.PutUint32(m.word(m.effective(last)+4*uint64(i)), m.vectors[o[0].number][i])
				}
			}
			return
		}
		of(func(i int) uint32 {
			if m.vectors[o[1].number][i]>>31 == 0 {
				return 0
			}
			return m.lane(o[0], i)
		})
	case "VMOVSS":
		switch last.kind {
		case memory:
			binary.LittleEndian.PutUint32(m.word(m.effective(last)), m.vectors[o[0].number][0])
		case parameter:
			m.returned = uint64(m.vectors[o[0].number][0])
		default:
			panic("VMOVSS into a register")
		}
	case "VMOVLPS":
		for i := range 2 {
			binary.LittleEndian.PutUint32(m.word(m.effective(last)+4*uint64(i)), m.vectors[o[0].number][i])
		}
	case "VADDSS":
		r := m.vectors[o[1].number]
		r[0] = math.Float32bits(float(r[0]) + float(m.lane(o[0], 0)))
		copy(r[4:], make([]uint32, 12))
		m.vectors[last.number] = r
	case "VMOVD":
		if last.kind == general {
			m.general[last.number] = uint64(m.vectors[o[0].number][0])
			return
		}
		m.write(last, 1, func(int) uint32 { return uint32(m.scalar(o[0])) })
	case "VBROADCASTSS":
		var v uint32
		if o[0].kind == parameter {
			v = uint32(m.scalar(o[0]))
		} else {
			v = m.lane(o[0], 0)
		}
		of(func(int) uint32 { return v })
	case "VXORPS", "VPXORD":
		binaryBits(func(a, b uint32) uint32 { return a ^ b })
	case "VANDPS":
		binaryBits(func(a, b uint32) uint32 { return a & b })
	case "VANDNPS":
		binaryBits(func(a, b uint32) uint32 { return ^a & b })
	case "VORPS":
		binaryBits(func(a, b uint32) uint32 { return a | b })
	case "VADDPS":
		floats(func(a, b float32) float32 { return a + b })
	case "VSUBPS":
		floats(func(a, b float32) float32 { return a - b })
	case "VMULPS":
		floats(func(a, b float32) float32 { return a * b })
	case "VDIVPS":
		floats(func(a, b float32) float32 { return a / b })
	case "VMINPS":
		floats(func(a, b float32) float32 {
			if a < b {
				return a
			}
			return b
		})
	case "VMAXPS":
		floats(func(a, b float32) float32 {
			if a > b {
				return a
			}
			return b
		})
	case "VSQRTPS":
		unary(func(a uint32) uint32 { return math.Float32bits(float32(math.Sqrt(float64(float(a))))) })
	case "VFMADD231PS":
		fused(func(c, b, d float32) float32 { return multiplyAdd(b, c, d) })
	case "VFMADD213PS":
		fused(func(c, b, d float32) float32 { return multiplyAdd(b, d, c) })
	case "VFNMADD231PS":
		fused(func(c, b, d float32) float32 { return multiplyAdd(-b, c, d) })
	case "VFNMADD213PS":
		fused(func(c, b, d float32) float32 { return multiplyAdd(-b, d, c) })
	case "VPADDD":
		binaryBits(func(a, b uint32) uint32 { return a + b })
	case "VPMULLD":
		binaryBits(func(a, b uint32) uint32 { return a * b })
	case "VPMAXSD":
		binaryBits(func(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) })
	case "VPSUBD":
		binaryBits(func(a, b uint32) uint32 { return a - b })
	case "VPSLLD":
		of(func(i int) uint32 { return m.lane(o[1], i) << o[0].value })
	case "VPSRAD":
		of(func(i int) uint32 { return uint32(int32(m.lane(o[1], i)) >> o[0].value) })
	case "VCVTPS2DQ":
		unary(func(a uint32) uint32 {
			f := math.RoundToEven(float64(float(a)))
			if !(f >= math.MinInt32 && f <= math.MaxInt32) {
				return 1 << 31
			}
			return uint32(int32(f))
		})
	case "VCVTDQ2PS":
		unary(func(a uint32) uint32 { return math.Float32bits(float32(int32(a))) })
	case "VPMOVSXWD":
		of(func(i int) uint32 {
			pair := binary.LittleEndian.Uint32(m.word(m.effective(o[0]) + 4*uint64(i/2)))
			return uint32(int32(int16(pair >> (16 * (i % 2)))))
		})
	case "VPMOVSXBW":
		of(func(i int) uint32 {
			pair := binary.LittleEndian.Uint32(m.word(m.effective(o[0])+4*uint64(i/2))) >> (16 * (i % 2))
			return uint32(uint16(int8(pair))) | uint32(int8(pair>>8))<<16
		})
	case "VPMADDWD":
		binaryBits(func(a, b uint32) uint32 {
			return uint32(int32(int16(a))*int32(int16(b)) + int32(int16(a>>16))*int32(int16(b>>16)))
		})
	case "VPACKSSDW":
		quarters(func(a, b [4]uint32) [4]uint32 {
			return [4]uint32{
				saturated(a[0], a[1]), saturated(a[2], a[3]), saturated(b[0], b[1]), saturated(b[2], b[3]),
			}
		})
	case "VPACKSSWB":
		quarters(func(a, b [4]uint32) [4]uint32 {
			return [4]uint32{
				saturatedBytes(a[0], a[1]), saturatedBytes(a[2], a[3]), saturatedBytes(b[0], b[1]), saturatedBytes(b[2], b[3]),
			}
		})
	case "VPMOVSDB":
		of := m.vectors[o[0].number]
		for i := 0; i < o[0].lanes; i += 4 {
			word := saturatedBytes(saturated(of[i], of[i+1]), saturated(of[i+2], of[i+3]))
			binary.LittleEndian.PutUint32(m.word(m.effective(last)+uint64(i)), word)
		}
	case "VPMOVSDW":
		for i := 0; i < o[0].lanes; i += 2 {
			pair := saturated(m.vectors[o[0].number][i], m.vectors[o[0].number][i+1])
			binary.LittleEndian.PutUint32(m.word(m.effective(last)+2*uint64(i)), pair)
		}
	case "VPERMQ":
		by := o[0].value
		of(func(i int) uint32 { return m.lane(o[1], 2*int(by>>(2*(i/2))&3)+i%2) })
	case "VUNPCKLPS":
		quarters(func(a, b [4]uint32) [4]uint32 { return [4]uint32{a[0], b[0], a[1], b[1]} })
	case "VUNPCKHPS":
		quarters(func(a, b [4]uint32) [4]uint32 { return [4]uint32{a[2], b[2], a[3], b[3]} })
	case "VSHUFPS":
		by := o[0].value
		quarters(func(a, b [4]uint32) [4]uint32 {
			return [4]uint32{a[by&3], a[by>>2&3], b[by>>4&3], b[by>>6&3]}
		})
	case "VSHUFF32X4":
		by := o[0].value
		of(func(i int) uint32 { return m.lane(o[2-i/8], 4*int(by>>(2*(i/4))&3)+i%4) })
	case "VPERMILPS":
		by := o[0].value
		of(func(i int) uint32 { return m.lane(o[1], i&^3+int(by>>(2*(i&3))&3)) })
	case "VPERM2F128":
		by := o[0].value
		of(func(i int) uint32 {
			from := by >> (4 * (i / 4)) & 3
			return m.lane(o[2-from/2], int(from&1)*4+i%4)
		})
	case "VEXTRACTF128", "VEXTRACTF32X4":
		of(func(i int) uint32 { return m.lane(o[1], 4*int(o[0].value)+i) })
	case "VEXTRACTF64X4":
		of(func(i int) uint32 { return m.lane(o[1], 8*int(o[0].value)+i) })
	case "VCMPPS":
		if o[0].value != 18 {
			panic("a comparison other than <=")
		}
		holds := func(i int) bool { return float(m.lane(o[2], i)) <= float(m.lane(o[1], i)) }
		if last.kind == maskRegister {
			m.masks[last.number] = 0
			for i := range o[2].lanes {
				if holds(i) {
					m.masks[last.number] |= 1 << i
				}
			}
			return
		}
		of(func(i int) uint32 {
			if holds(i) {
				return math.MaxUint32
			}
			return 0
		})
	case "VMOVMSKPS":
		m.general[last.number] = 0
		for i := range o[0].lanes {
			m.general[last.number] |= uint64(m.vectors[o[0].number][i]>>31) << i
		}
	default:
		panic("instruction " + name)
	}
}
