//go:build !lean

package table

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
)

// The library makes room for as many fields, children and batches as a file's metadata claims, and follows tables
// that refer to each other for ever. So the metadata is walked first: it is in FlatBuffers, whose numbers of fields
// below are those of Arrow's format (Message.fbs, Schema.fbs, File.fbs). Whatever leads outside the bytes panics, and
// guard makes a format error of it, as it does of all that the library itself finds out of bounds.

// checkArrowFile checks the metadata of an Arrow file of size bytes.
func checkArrowFile(file io.ReaderAt, size int64) {
	const magic = "ARROW1"
	tail := int64(4 + len(magic))
	end := part(file, size-tail, tail, size)
	length := int64(int32(binary.LittleEndian.Uint32(end)))
	f := newFlat(part(file, size-tail-length, length, size))
	footer := f.ref(0)
	f.table(footer, footerSchema, f.schema)
	f.tables(footer, footerCustom, f.keyValue)
	left := size // each message has bytes of its own
	for _, slot := range []int{footerDictionaries, footerBatches} {
		const block = 24 // offset, length of the metadata, and after four empty bytes that of the body
		for at := range f.list(footer, slot, block) {
			offset, meta := int64(binary.LittleEndian.Uint64(f.bytes[at:])), int64(int32(binary.LittleEndian.Uint32(f.bytes[at+8:])))
			if left -= meta; left < 0 {
				panic("messages lie in each other")
			}
			checkMessage(withoutLength(part(file, offset, meta, size)))
		}
	}
}

// checkArrowStream checks the metadata of an Arrow stream of size bytes.
func checkArrowStream(file io.ReaderAt, size int64) {
	const head = 8 // a mark and the length of the metadata
	for at := int64(0); at < size; {
		begin := part(file, at, min(head, size-at), size)
		if len(begin) < head || !marked(begin) {
			panic("a message without its mark")
		}
		meta := int64(int32(binary.LittleEndian.Uint32(begin[4:])))
		if meta == 0 {
			return // the end of the stream
		}
		body := checkMessage(part(file, at+head, meta, size))
		if at += head + meta; body < 0 || body > size-at {
			panic(fmt.Sprintf("a body of %d bytes is announced", body))
		}
		at += body
	}
}

// part reads a part of a file of size bytes.
func part(file io.ReaderAt, at, length, size int64) []byte {
	if at < 0 || length < 0 || at > size || length > size-at {
		panic(fmt.Sprintf("%d bytes are announced at %d", length, at))
	}
	b := make([]byte, length)
	if _, err := file.ReadAt(b, at); err != nil {
		panic(err)
	}
	return b
}

func marked(b []byte) bool { return binary.LittleEndian.Uint32(b) == math.MaxUint32 }

// withoutLength cuts what stands before the metadata of a message in a file: its length, in newer files after a mark.
func withoutLength(b []byte) []byte {
	if marked(b) {
		return b[8:]
	}
	return b[4:]
}

// checkMessage checks the metadata of a message, and returns the length of its body.
func checkMessage(b []byte) (body int64) {
	f := newFlat(b)
	message := f.ref(0)
	f.tables(message, messageCustom, f.keyValue)
	if at := f.field(message, messageBody); at > 0 {
		body = int64(binary.LittleEndian.Uint64(b[at:]))
	}
	kind := byte(0)
	if at := f.field(message, messageHeaderType); at > 0 {
		kind = b[at]
	}
	switch kind {
	case schemaHeader:
		f.table(message, messageHeader, f.schema)
	case dictionaryHeader:
		f.table(message, messageHeader, func(dictionary int) { f.table(dictionary, dictionaryData, f.batch) })
	case batchHeader:
		f.table(message, messageHeader, f.batch)
	default:
		panic(fmt.Sprintf("a message of kind %d", kind))
	}
	return body
}

// Numbers of fields in their tables, and kinds of messages.
const (
	messageHeaderType, messageHeader, messageBody, messageCustom    = 1, 2, 3, 4
	schemaHeader, dictionaryHeader, batchHeader                     = 1, 2, 3
	schemaFields, schemaCustom, schemaFeatures                      = 1, 2, 3
	fieldName, fieldTypeKind, fieldType, fieldChildren, fieldCustom = 0, 2, 3, 5, 6
	unionType, unionIDs                                             = 14, 1
	timestampType, timestampZone                                    = 10, 1
	dictionaryData                                                  = 1
	batchNodes, batchBuffers, batchVariadic                         = 1, 2, 4
	footerSchema, footerDictionaries, footerBatches, footerCustom   = 1, 2, 3, 4
)

// flat is metadata in FlatBuffers.
type flat struct {
	bytes []byte
	left  int // tables that may still be visited: each takes bytes of its own
	depth int
}

func newFlat(b []byte) *flat { return &flat{bytes: b, left: len(b) / 4} }

// mostNested is how deep tables may lie in each other; types of columns do not nest so deep.
const mostNested = 200

// ref returns where the reference at a place leads.
func (f *flat) ref(at int) int { return at + int(binary.LittleEndian.Uint32(f.bytes[at:])) }

// field returns where a field of a table is; 0: the table does not have it.
func (f *flat) field(table, number int) int {
	numbers := table - int(int32(binary.LittleEndian.Uint32(f.bytes[table:])))
	at := 4 + 2*number
	if at >= int(binary.LittleEndian.Uint16(f.bytes[numbers:])) {
		return 0
	}
	offset := int(binary.LittleEndian.Uint16(f.bytes[numbers+at:]))
	if offset == 0 {
		return 0
	}
	return table + offset
}

// list yields where the elements of a list are, all of which lie in the bytes.
func (f *flat) list(table, number, size int) iter.Seq[int] {
	return func(yield func(int) bool) {
		field := f.field(table, number)
		if field == 0 {
			return
		}
		at := f.ref(field)
		n := int(binary.LittleEndian.Uint32(f.bytes[at:]))
		if at += 4; n > (len(f.bytes)-at)/size {
			panic(fmt.Sprintf("a list of %d is announced", n))
		}
		for i := range n {
			if !yield(at + i*size) {
				return
			}
		}
	}
}

// lies checks that a list, or a text, lies in the bytes.
func (f *flat) lies(table, number, size int) {
	for range f.list(table, number, size) {
		return
	}
}

// table checks the table in a field by its kind, if there is one.
func (f *flat) table(table, number int, kind func(int)) {
	if at := f.field(table, number); at > 0 {
		f.visit(f.ref(at), kind)
	}
}

// tables checks the tables of a list.
func (f *flat) tables(table, number int, kind func(int)) {
	for at := range f.list(table, number, 4) {
		f.visit(f.ref(at), kind)
	}
}

func (f *flat) visit(table int, kind func(int)) {
	f.left--
	if f.depth++; f.left < 0 || f.depth > mostNested {
		panic("tables lie in each other")
	}
	kind(table)
	f.depth--
}

func (f *flat) schema(table int) {
	f.tables(table, schemaFields, f.column)
	f.tables(table, schemaCustom, f.keyValue)
	f.lies(table, schemaFeatures, 8)
}

func (f *flat) column(table int) {
	f.lies(table, fieldName, 1)
	if at := f.field(table, fieldTypeKind); at > 0 {
		switch f.bytes[at] {
		case unionType:
			f.table(table, fieldType, func(of int) { f.lies(of, unionIDs, 4) })
		case timestampType:
			f.table(table, fieldType, func(of int) { f.lies(of, timestampZone, 1) })
		}
	}
	f.tables(table, fieldChildren, f.column)
	f.tables(table, fieldCustom, f.keyValue)
}

func (f *flat) keyValue(table int) {
	f.lies(table, 0, 1)
	f.lies(table, 1, 1)
}

func (f *flat) batch(table int) {
	f.lies(table, batchNodes, 16)
	f.lies(table, batchBuffers, 16)
	f.lies(table, batchVariadic, 8)
}
