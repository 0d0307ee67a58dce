//go:build !lean

package table

import (
	"encoding/binary"
	"fmt"
)

// checkThrift returns an error if b does not begin with a struct of Thrift's compact protocol, or if a list or text
// in it claims more than b holds. The Parquet library makes room for as many elements as a list claims before it
// reads the first one: a few bytes would take gigabytes.
func checkThrift(b []byte) error {
	t := thrift{left: b}
	t.structure(0)
	return t.err
}

// pageSizes returns the sizes that the head of a page claims, of the page on disk and in memory, and its own.
func pageSizes(b []byte) (head int, onDisk, inMemory int64, err error) {
	t := thrift{left: b, number: func(id int64, n uint64) {
		size := int64(n>>1) ^ -int64(n&1)
		switch id {
		case 2:
			inMemory = size
		case 3:
			onDisk = size
		}
	}}
	t.structure(0)
	return len(b) - len(t.left), onDisk, inMemory, t.err
}

// thrift walks over values. After an error every step does nothing.
type thrift struct {
	left   []byte
	err    error
	number func(id int64, n uint64) // called with the 32-bit numbers of the outermost struct, not decoded; nil: not called
}

// Types of values. Those of true and false are of fields: they have no bytes of their own there.
const (
	thriftTrue = iota + 1
	thriftFalse
	thriftByte
	thriftInt16
	thriftInt32
	thriftInt64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

func (t *thrift) fail(format string, args ...any) {
	if t.err == nil {
		t.err = fmt.Errorf("%w: metadata: "+format, append([]any{ErrFormat}, args...)...)
	}
	t.left = nil
}

func (t *thrift) byte() byte {
	if len(t.left) == 0 {
		t.fail("cut short")
		return 0
	}
	b := t.left[0]
	t.left = t.left[1:]
	return b
}

func (t *thrift) varint() uint64 {
	n, size := binary.Uvarint(t.left)
	if size <= 0 {
		t.fail("no number where one should be")
		return 0
	}
	t.left = t.left[size:]
	return n
}

// count reads how many elements or bytes follow, each of at least one byte.
func (t *thrift) count() int {
	n := t.varint()
	if n > uint64(len(t.left)) {
		t.fail("claims %d elements in %d bytes", n, len(t.left))
		return 0
	}
	return int(n)
}

func (t *thrift) skip(bytes int) {
	if bytes > len(t.left) {
		t.fail("cut short")
		return
	}
	t.left = t.left[bytes:]
}

// structure walks over the fields of a struct to its end.
func (t *thrift) structure(depth int) {
	id := int64(0)
	for t.err == nil {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := int64(head >> 4); delta > 0 {
			id += delta
		} else {
			id = int64(t.varint() >> 1)
		}
		switch of := head & 0xf; {
		case of == thriftTrue || of == thriftFalse:
		case of == thriftInt32 && depth == 0 && t.number != nil:
			t.number(id, t.varint())
		default:
			t.value(of, depth)
		}
	}
}

func (t *thrift) value(of byte, depth int) {
	const deepest = 64 // structs, lists and maps within each other
	if depth > deepest {
		t.fail("more than %d levels", deepest)
		return
	}
	switch of {
	case thriftTrue, thriftFalse, thriftByte:
		t.skip(1)
	case thriftInt16, thriftInt32, thriftInt64:
		t.varint()
	case thriftDouble:
		t.skip(8)
	case thriftBinary:
		t.skip(t.count())
	case thriftList, thriftSet:
		head := t.byte()
		n := int(head >> 4)
		if n == 15 { // longer lists
			n = t.count()
		}
		for range n {
			if t.err != nil {
				return
			}
			t.value(head&0xf, depth+1)
		}
	case thriftMap:
		n := t.count()
		if n == 0 {
			return
		}
		kinds := t.byte()
		for range n {
			if t.err != nil {
				return
			}
			t.value(kinds>>4, depth+1)
			t.value(kinds&0xf, depth+1)
		}
	case thriftStruct:
		t.structure(depth + 1)
	default:
		t.fail("a value of kind %d", of)
	}
}
