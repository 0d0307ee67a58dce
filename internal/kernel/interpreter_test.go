//go:build amd64

package kernel

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"unsafe"
)

// interpreter executes the generated amd64 assembly, so that AVX-512 is tested on machines without it. It
// supports only the instructions that the generator emits, and stops at any access outside the slices of a
// call. It is itself tested: its results for the AVX2 assembly must equal the processor's to the bit.
type interpreter struct {
	routines map[string]*routine
	segments []segment // constants first, then the slices of the call
	constant int       // number of constants
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
	kind   kind
	number int // of a register; of memory: the base register, -1 for a symbol
	lanes  int // of a vector register
	value  uint64
	index  int // register, -1 for none
	scale  uint64
	name   string
}

var generalNames = []string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

// interpret reads an assembly file.
func interpret(path string) (*interpreter, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &interpreter{routines: map[string]*routine{}, symbols: map[string]uint64{}}
	next := uint64(1 << 20) // addresses of constants, which no slice has
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
				m.segments = append(m.segments, segment{next, make([]byte, 128)})
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

// pin makes slices accessible to the next call.
func (m *interpreter) pin(slices ...any) {
	m.segments = m.segments[:m.constant]
	for _, s := range slices {
		var bytes []byte
		switch s := s.(type) {
		case []float32:
			bytes = bytesOf(s)
		case []int8:
			bytes = bytesOf(s)
		case []int16:
			bytes = bytesOf(s)
		case []int32:
			bytes = bytesOf(s)
		}
		if len(bytes) > 0 {
			m.segments = append(m.segments, segment{address(&bytes[0]), bytes})
		}
	}
}

// bytesOf returns the memory of a slice.
func bytesOf[T any](s []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(one)))
}

func address[T any](p *T) uint64 { return uint64(uintptr(unsafe.Pointer(p))) }

// word returns the four bytes at an address.
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

// write fills a vector register and clears its higher lanes.
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
	case memory:
		return uint64(binary.LittleEndian.Uint32(m.word(m.effective(o))))
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
