package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// deepest bounds the nesting of objects and arrays.
const deepest = 64

// scanner reads JSON in one pass, strictly by RFC 8259; tests compare it with encoding/json. It builds only
// values that callers ask for. The first fault is kept in bad and ends the pass.
type scanner struct {
	b   []byte
	i   int
	bad *Rejection
}

func (s *scanner) fail(format string, values ...any) bool {
	if s.bad == nil {
		s.bad = reject(Unreadable, "not JSON: "+format, values...)
	}
	return false
}

// refuse ends the pass for another reason than invalid JSON; nil: it continues. It says whether it ended.
func (s *scanner) refuse(bad *Rejection) bool {
	if bad != nil {
		s.bad = bad
	}
	return bad != nil
}

// unexpected fails with the character at the cursor. A value of a wrong type is reported as that, since it is
// valid JSON.
func (s *scanner) unexpected(wanted string) bool {
	if s.i >= len(s.b) {
		return s.fail("it ends where %s should be", wanted)
	}
	kind := map[byte]string{'{': "an object", '[': "an array", '"': "a text"}[s.b[s.i]]
	for _, value := range []string{"an object", "an array", "a number"} {
		if kind != "" && s.bad == nil && strings.HasPrefix(wanted, value) {
			s.bad = reject(Unreadable, "%s at byte %d where %s should be", kind, s.i, wanted)
			return false
		}
	}
	return s.fail("%q at byte %d where %s should be", s.b[s.i], s.i, wanted)
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\n', '\r', '\t':
			s.i++
		default:
			return
		}
	}
}

// next skips space and returns the byte at the cursor, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// take skips space, and then c if it is at the cursor; false: it is not.
func (s *scanner) take(c byte) bool {
	if s.next() != c || s.i >= len(s.b) {
		return false
	}
	s.i++
	return true
}

// object reads an object. It calls member with each name and the cursor at the value, which member must read.
func (s *scanner) object(member func(name []byte) bool) bool {
	return s.list("an object", '{', '}', func(int) bool {
		if s.i >= len(s.b) || s.b[s.i] != '"' {
			return s.unexpected("a name")
		}
		name, ok := s.text()
		if !ok {
			return false
		}
		if !s.take(':') {
			return s.unexpected("':'")
		}
		s.space()
		return member(name)
	})
}

// array reads an array. It calls element with the cursor at each value, which element must read.
func (s *scanner) array(element func(i int) bool) bool {
	return s.list("an array", '[', ']', element)
}

// list reads what stands between two brackets, divided by commas.
func (s *scanner) list(what string, first, last byte, element func(i int) bool) bool {
	if !s.take(first) {
		return s.unexpected(what)
	}
	if s.take(last) {
		return true
	}
	for i := 0; ; i++ {
		s.space()
		if !element(i) {
			return false
		}
		if s.take(last) {
			return true
		}
		if !s.take(',') {
			return s.unexpected("',' or '" + string(last) + "'")
		}
	}
}

// quoted skips the string at the cursor and returns the bytes between the quotes. plain says that they are
// ASCII without escapes, so that they need no decoding.
func (s *scanner) quoted() (inside []byte, plain, ok bool) {
	start := s.i + 1
	plain = true
	for i := start; i < len(s.b); i++ {
		for i+8 < len(s.b) && plainEight(binary.LittleEndian.Uint64(s.b[i:])) {
			i += 8
		}
		switch c := s.b[i]; {
		case c == '"':
			s.i = i + 1
			return s.b[start:i], plain, true
		case c == '\\':
			plain = false
			if i++; i >= len(s.b) {
				s.i = i
				return nil, false, s.unexpected("the rest of a string")
			}
			switch s.b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(s.b) || !hexadecimal(s.b[i]) {
						s.i = i
						return nil, false, s.unexpected("a hexadecimal digit")
					}
				}
			default:
				s.i = i
				return nil, false, s.unexpected("an escape")
			}
		case c < 0x20:
			s.i = i
			return nil, false, s.unexpected("a printable character")
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	s.i = len(s.b)
	return nil, false, s.unexpected("the end of a string")
}

// plainEight says whether eight bytes are printable ASCII without quotes and backslashes.
func plainEight(w uint64) bool {
	const ones = 0x0101010101010101
	return (w|(w-' '*ones)|((w^'"'*ones)-ones)|((w^'\\'*ones)-ones))&(0x80*ones) == 0
}

func hexadecimal(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

// text reads the string at the cursor and returns its decoded content; bytes that are not UTF-8
// become U+FFFD.
func (s *scanner) text() ([]byte, bool) {
	start := s.i
	inside, plain, ok := s.quoted()
	if !ok || plain {
		return inside, ok
	}
	var meaning string
	if err := json.Unmarshal(s.b[start:s.i], &meaning); err != nil {
		return nil, s.fail("string at byte %d: %v", start, err)
	}
	return []byte(meaning), true
}

// textOf returns the content of a JSON string; nil: value is none.
func textOf(value []byte) []byte {
	s := scanner{b: value}
	if s.next() != '"' {
		return nil
	}
	text, _ := s.text()
	return text
}

// pick reads an object and keeps the JSON of the members that are named.
func (s *scanner) pick(members map[string]*[]byte) bool {
	return s.object(func(name []byte) (ok bool) {
		if to := members[string(name)]; to != nil {
			*to, ok = s.skip()
			return ok
		}
		return s.pass(0)
	})
}

// skip skips the value at the cursor and returns its bytes.
func (s *scanner) skip() ([]byte, bool) {
	s.space()
	start := s.i
	if !s.pass(0) {
		return nil, false
	}
	return s.b[start:s.i], true
}

func (s *scanner) pass(depth int) bool {
	if depth > deepest {
		return s.fail("more than %d values within each other at byte %d", deepest, s.i)
	}
	switch c := s.next(); {
	case c == '"':
		_, _, ok := s.quoted()
		return ok
	case c == '{':
		return s.object(func([]byte) bool { return s.pass(depth + 1) })
	case c == '[':
		return s.array(func(int) bool { return s.pass(depth + 1) })
	case c == 't':
		return s.literal("true")
	case c == 'f':
		return s.literal("false")
	case c == 'n':
		return s.literal("null")
	default:
		return s.digits()
	}
}

func (s *scanner) literal(want string) bool {
	if !bytes.HasPrefix(s.b[s.i:], []byte(want)) {
		return s.unexpected("a value")
	}
	s.i += len(want)
	return true
}

// null skips a null if one is at the cursor; false: there is none.
func (s *scanner) null() bool {
	return s.next() == 'n' && bytes.HasPrefix(s.b[s.i:], []byte("null")) && s.literal("null")
}

// digits skips a number of any size, faster than number reads it.
func (s *scanner) digits() bool {
	start := s.i
	if s.at('-') {
		s.i++
	}
	if s.at('0') {
		s.i++
	} else if !s.run() {
		if s.i == start {
			return s.unexpected("a value")
		}
		return s.unexpected("a digit")
	}
	if s.at('.') {
		if s.i++; !s.run() {
			return s.unexpected("a digit")
		}
	}
	if s.at('e') || s.at('E') {
		if s.i++; s.at('+') || s.at('-') {
			s.i++
		}
		return s.run() || s.unexpected("a digit")
	}
	return true
}

// at says whether c is at the cursor.
func (s *scanner) at(c byte) bool { return s.i < len(s.b) && s.b[s.i] == c }

// run skips digits; false: there are none.
func (s *scanner) run() bool {
	i := s.i
	for i < len(s.b) && s.b[i]-'0' <= 9 {
		i++
	}
	found := i > s.i
	s.i = i
	return found
}

// name reads a name: a string, a number by its digits, or null, which is the empty name.
func (s *scanner) name(what string) ([]byte, bool) {
	switch c := s.next(); {
	case c == '"':
		return s.text()
	case c == '-' || c-'0' <= 9:
		return s.skip()
	case s.null():
		return nil, true
	}
	s.bad = reject(Unreadable, "%s is neither a string nor a number", what)
	return nil, false
}

// end fails unless only space is left.
func (s *scanner) end() bool {
	switch s.space(); {
	case s.i == len(s.b):
		return true
	case s.b[s.i] == '{':
		s.bad = reject(
			Unreadable,
			"a second object at byte %d: send each as a record, or all as one list, for --vector-field [].vector",
			s.i,
		)
		return false
	}
	return s.unexpected("the end")
}

// floats reads an array of numbers and appends them to v.
func (s *scanner) floats(v []float32) ([]float32, bool) {
	if !s.take('[') {
		return v, s.unexpected("an array")
	}
	if s.take(']') {
		return v, true
	}
	b := s.b
	for {
		s.space()
		x, i, ok := number(b, s.i)
		if !ok {
			return v, s.noNumber(len(v), x, i)
		}
		v = append(v, x)
		if i < len(b) && b[i] == ',' {
			s.i = i + 1
			continue
		}
		s.i = i
		if s.take(']') {
			return v, true
		}
		if !s.take(',') {
			return v, s.unexpected("',' or ']'")
		}
	}
}

// notNumber is what some writers have instead of a number, though JSON has no such numbers.
var notNumber = regexp.MustCompile(`^(?:-?(?:NaN|nan|Inf|inf|Infinity)|null|true|false)\b`)

// noNumber fails with the value at the cursor, element i of a vector, for which number returned x and next.
func (s *scanner) noNumber(i int, x float32, next int) bool {
	token := notNumber.Find(s.b[s.i:])
	if x != 0 {
		token = short(s.b[s.i:next])
	}
	switch {
	case token != nil:
		s.bad = reject(BadValue, "vector[%d] is %s: not a finite number", i, token)
	case s.i < len(s.b) && s.b[s.i] == '[':
		s.bad = reject(
			BadValue,
			"vector[%d] is a list: a vector is a flat list of numbers; where each inner list is one, let --vector-field end in []",
			i,
		)
	case s.i < len(s.b) && (s.b[s.i] == '"' || s.b[s.i] == '{'):
		kind := map[byte]string{'{': "an object", '"': "a text"}[s.b[s.i]]
		s.bad = reject(Unreadable, "vector[%d] is %s: a vector is a list of numbers; --vector-field says where one is", i, kind)
	default:
		s.unexpected("a number")
	}
	return false
}

// Members calls use for each member of a JSON object with its value, which is a part of the object, in order. It stops
// at what is no JSON.
func Members(object []byte, use func(name string, value []byte)) {
	s := scanner{b: object}
	s.space()
	s.object(func(name []byte) bool {
		text := string(name)
		value, ok := s.skip()
		if ok {
			use(text, value)
		}
		return ok
	})
}
