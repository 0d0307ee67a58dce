//go:build amd64

package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// interpreter executes the generated amd64 assembly, so that AVX-512 is tested on machines that do not have it. It knows
// the instructions that the generator emits and nothing more, and stops at any access outside the slices of a call. It is
// itself tested: what it makes of the AVX2 assembly has to equal what the processor makes of it, to the bit.
type interpreter struct {
	routines map[string]*routine
	segments []segment // constants first, then the slices of the call
	constant int       // how many are constants
	symbols  map[string]uint64

	general  [16]uint64
	vectors  [32][16]uint32
	masks    [8]uint64
	less     bool
	zero     bool
	frame    map[string]uint64
	returned uint64
}

type segment struct {
	from  uint64
	bytes []byte
}

type routine struct {
	code   []instruction
	labels map[string]int
}

type instruction struct {
	name     string
	operands []operand
	target   string
}

type kind int

const (
	immediate kind = iota
	general
	vectorRegister
	maskRegister
	memory
	parameter
)

type operand struct {
	kind        kind
	number      int // of a register; of memory: the base register, -1 for a symbol
	lanes       int // of a vector register
	value       uint64
	index       int // register, -1 for none
	scale       uint64
	name        string
	destination bool
}

var generalNames = []string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

// interpret reads an assembly file.
func interpret(path string) (*interpreter, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &interpreter{routines: map[string]*routine{}, symbols: map[string]uint64{}}
	next := uint64(1 << 20) // constants have addresses that no slice has
	var current *routine
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "//")
		fields := strings.Fields(strings.ReplaceAll(line, ",", " "))
		switch {
		case len(fields) == 0 || strings.HasPrefix(line, "#") || fields[0] == "GLOBL":
		case fields[0] == "DATA":
			name, rest, _ := strings.Cut(fields[1], "<>")
			if _, known := m.symbols[name]; !known {
				m.symbols[name] = next
				m.segments = append(m.segments, segment{next, make([]byte, 64)})
				next += 4096
			}
			var at int
			if _, err := fmt.Sscanf(rest, "+%d(SB)/4", &at); err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			value, err := strconv.ParseUint(strings.TrimPrefix(fields[2], "$"), 0, 32)
			if err != nil {
				return nil, err
			}
			binary.LittleEndian.PutUint32(m.segments[len(m.segments)-1].bytes[at:], uint32(value))
		case fields[0] == "TEXT":
			current = &routine{labels: map[string]int{}}
			m.routines[strings.TrimSuffix(strings.TrimPrefix(fields[1], "·"), "(SB)")] = current
		case strings.HasSuffix(fields[0], ":"):
			current.labels[strings.TrimSuffix(fields[0], ":")] = len(current.code)
		default:
			i := instruction{name: fields[0]}
			if strings.HasPrefix(i.name, "J") {
				i.target = fields[1]
			} else {
				for _, f := range fields[1:] {
					o, err := m.parse(f)
					if err != nil {
						return nil, fmt.Errorf("%s: %w", line, err)
					}
					i.operands = append(i.operands, o)
				}
			}
			current.code = append(current.code, i)
		}
	}
	m.constant = len(m.segments)
	return m, nil
}

// parse reads one operand.
func (m *interpreter) parse(text string) (operand, error) {
	o := operand{index: -1}
	for i, name := range generalNames {
		if text == name {
			return operand{kind: general, number: i}, nil
		}
	}
	if lanes := strings.IndexByte("X  Y    Z", text[0]); text[0] != ' ' && lanes >= 0 {
		n, err := strconv.Atoi(text[1:])
		return operand{kind: vectorRegister, number: n, lanes: map[byte]int{'X': 4, 'Y': 8, 'Z': 16}[text[0]]}, err
	}
	if text[0] == 'K' {
		n, err := strconv.Atoi(text[1:])
		return operand{kind: maskRegister, number: n}, err
	}
	if text[0] == '$' {
		v, err := strconv.ParseInt(text[1:], 0, 64)
		return operand{kind: immediate, value: uint64(v)}, err
	}
	if name, found := strings.CutSuffix(text, "(FP)"); found {
		name, _, _ := strings.Cut(name, "+")
		return operand{kind: parameter, name: name}, nil
	}
	o.kind = memory
	if name, rest, found := strings.Cut(text, "<>"); found {
		o.number = -1
		var at uint64
		if _, err := fmt.Sscanf(rest, "+%d(SB)", &at); err != nil {
			return o, err
		}
		o.value = m.symbols[name] + at
		return o, nil
	}
	displacement, rest, _ := strings.Cut(text, "(")
	if displacement != "" {
		v, err := strconv.ParseInt(displacement, 0, 64)
		if err != nil {
			return o, err
		}
		o.value = uint64(v)
	}
	parts := strings.FieldsFunc(rest, func(r rune) bool { return r == '(' || r == ')' || r == '*' })
	for i, name := range generalNames {
		if parts[0] == name {
			o.number = i
		}
		if len(parts) == 3 && parts[1] == name {
			o.index = i
		}
	}
	if len(parts) == 3 {
		scale, err := strconv.Atoi(parts[2])
		if err != nil {
			return o, err
		}
		o.scale = uint64(scale)
	}
	return o, nil
}

// pin makes slices reachable for the next call.
func (m *interpreter) pin(slices ...any) {
	m.segments = m.segments[:m.constant]
	for _, s := range slices {
		switch s := s.(type) {
		case []float32:
			if len(s) > 0 {
				m.segments = append(m.segments, segment{address(&s[0]), unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), 4*len(s))})
			}
		case []int32:
			if len(s) > 0 {
				m.segments = append(m.segments, segment{address(&s[0]), unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), 4*len(s))})
			}
		}
	}
}

func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// word is the four bytes at an address.
func (m *interpreter) word(at uint64) []byte {
	for _, s := range m.segments {
		if at >= s.from && at+4 <= s.from+uint64(len(s.bytes)) {
			return s.bytes[at-s.from:][:4]
		}
	}
	panic(fmt.Sprintf("access outside every slice, at %#x", at))
}

func (m *interpreter) effective(o operand) uint64 {
	at := o.value
	if o.number >= 0 {
		at += m.general[o.number]
	}
	if o.index >= 0 {
		at += m.general[o.index] * o.scale
	}
	return at
}

// lane reads one float or integer of an operand.
func (m *interpreter) lane(o operand, i int) uint32 {
	if o.kind == memory {
		return binary.LittleEndian.Uint32(m.word(m.effective(o) + 4*uint64(i)))
	}
	return m.vectors[o.number][i]
}

// write fills a vector register, whose lanes above are cleared.
func (m *interpreter) write(o operand, lanes int, value func(i int) uint32) {
	var result [16]uint32
	for i := range lanes {
		result[i] = value(i)
	}
	m.vectors[o.number] = result
}

// scalar reads a general register, an immediate or a parameter.
func (m *interpreter) scalar(o operand) uint64 {
	switch o.kind {
	case immediate:
		return o.value
	case general:
		return m.general[o.number]
	case maskRegister:
		return m.masks[o.number]
	case parameter:
		v, known := m.frame[o.name]
		if !known {
			panic("no parameter " + o.name)
		}
		return v
	}
	panic(fmt.Sprintf("operand %+v is not a scalar", o))
}

func float(b uint32) float32 { return math.Float32frombits(b) }

// multiplyAdd is a b + c, rounded once. The product is exact in float64; the sum is rounded to odd there, which makes the
// second rounding right.
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
	quarters := func(value func(a, b [4]uint32) [4]uint32) { // within each four lanes
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
	case "VADDSS":
		r := m.vectors[o[1].number]
		r[0] = math.Float32bits(float(r[0]) + float(m.lane(o[0], 0)))
		copy(r[4:], make([]uint32, 12))
		m.vectors[last.number] = r
	case "VMOVD":
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
	case "VUNPCKLPS":
		quarters(func(a, b [4]uint32) [4]uint32 { return [4]uint32{a[0], b[0], a[1], b[1]} })
	case "VUNPCKHPS":
		quarters(func(a, b [4]uint32) [4]uint32 { return [4]uint32{a[2], b[2], a[3], b[3]} })
	case "VSHUFPS":
		by := o[0].value
		quarters(func(a, b [4]uint32) [4]uint32 {
			return [4]uint32{a[by&3], a[by>>2&3], b[by>>4&3], b[by>>6&3]}
		})
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
