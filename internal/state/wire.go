package state

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"

	"github.com/slkstream/slkstream/internal/record"
)

// A value is: the mark, the format's version, the CRC-32C of version and body, the body.
const (
	mark    = "slks"
	version = 2
	head    = len(mark) + 1 + 4
)

// isOld says whether a value is of the format before, whose checksum is of the body alone. It is left alone.
func isOld(value []byte) bool {
	return len(value) >= head && string(value[:len(mark)]) == mark && value[len(mark)] == version-1 &&
		binary.LittleEndian.Uint32(value[head-4:head]) == crc32.Checksum(value[head:], castagnoli)
}

func checksum(value []byte) uint32 {
	return crc32.Update(crc32.Checksum(value[len(mark):len(mark)+1], castagnoli), castagnoli, value[head:])
}

func begin() []byte { return append(append(make([]byte, 0, 256), mark...), version, 0, 0, 0, 0) }

func seal(b []byte) []byte {
	binary.LittleEndian.PutUint32(b[head-4:head], checksum(b))
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
	kbin.Reader
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
	if got := checksum(b); got != want {
		return &reader{err: fmt.Errorf("%w: checksum %08x, not %08x", ErrUnreadable, got, want)}
	}
	return &reader{Reader: kbin.Reader{Src: b[head:]}}
}

// check notes an error unless all is well.
func (r *reader) check(well bool, what string) {
	if well {
		return
	}
	if r.err == nil {
		r.err = fmt.Errorf("%w: bad %s", ErrUnreadable, what)
	}
	r.Src = nil
}

func (r *reader) integer() int64 {
	v := r.Varlong()
	r.check(r.Ok(), "number")
	return v
}

func (r *reader) bytes() []byte {
	v := r.Span(int(r.Uvarint()))
	r.check(r.Ok(), "length")
	return v
}

func (r *reader) text() string { return string(r.bytes()) }

// count reads the length of a list whose elements take at least one byte each.
func (r *reader) count() int {
	n := r.integer()
	r.check(n >= 0 && n <= int64(len(r.Src)), "count")
	return int(min(n, int64(len(r.Src))))
}

func (r *reader) position() record.Position {
	offset, object := r.integer(), r.integer()
	r.check(object >= -1 && object <= 1<<31-1, "position")
	return record.Position{Offset: offset, Object: int32(object)}
}

// end checks that nothing is left.
func (r *reader) end() error {
	r.check(len(r.Src) == 0, "end")
	return r.err
}
