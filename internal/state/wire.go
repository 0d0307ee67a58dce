package state

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/slkstream/slkstream/internal/record"
)

// A value is: the mark, the format's version, the CRC-32C of the body, the body.
const (
	mark    = "slks"
	version = 1
	head    = len(mark) + 1 + 4
)

func begin() []byte { return append(append(make([]byte, 0, 256), mark...), version, 0, 0, 0, 0) }

func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[head-4:head], crc32.Checksum(b[head:], castagnoli))
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendPosition(b []byte, p record.Position) []byte {
	return binary.AppendVarint(binary.AppendVarint(b, p.Offset), int64(p.Object))
}

// reader decodes a value. After the first error, kept in err, it returns zero values.
type reader struct {
	b   []byte
	err error
}

func open(b []byte) *reader {
	switch {
	case len(b) < head || string(b[:len(mark)]) != mark:
		return &reader{err: fmt.Errorf("%w: %d bytes without its mark", ErrUnreadable, len(b))}
	case b[len(mark)] != version:
		return &reader{err: fmt.Errorf("%w: version %d, this build reads %d", ErrUnreadable, b[len(mark)], version)}
	}
	want := binary.LittleEndian.Uint32(b[head-4 : head])
	if got := crc32.Checksum(b[head:], castagnoli); got != want {
		return &reader{err: fmt.Errorf("%w: checksum %08x, not %08x", ErrUnreadable, got, want)}
	}
	return &reader{b: b[head:]}
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: bad %s", ErrUnreadable, what)
	}
	r.b = nil
}

func (r *reader) integer() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail("number")
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes() []byte {
	size, n := binary.Uvarint(r.b)
	if n <= 0 || size > uint64(len(r.b)-n) {
		r.fail("length")
		return nil
	}
	v := r.b[n : n+int(size)]
	r.b = r.b[n+int(size):]
	return v
}

func (r *reader) text() string { return string(r.bytes()) }

// count reads the length of a list whose elements take at least one byte each.
func (r *reader) count() int {
	n := r.integer()
	if n < 0 || n > int64(len(r.b)) {
		r.fail("count")
		return 0
	}
	return int(n)
}

func (r *reader) position() record.Position {
	offset, object := r.integer(), r.integer()
	if object < -1 || object > 1<<31-1 {
		r.fail("position")
	}
	return record.Position{Offset: offset, Object: int32(object)}
}
