//go:build !lean

package table

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// nested is the metadata of a schema whose one column has a child, which has one, and so on to a depth. Each names its
// child so many times, and a reader that follows each name reads times^depth columns.
func nested(depth, times int) []byte {
	var b []byte
	numbers := func(places ...uint16) (at int) { // where fields of a table are
		at = len(b)
		b = binary.LittleEndian.AppendUint16(b, uint16(4+2*len(places)))
		b = binary.LittleEndian.AppendUint16(b, 12)
		for _, place := range places {
			b = binary.LittleEndian.AppendUint16(b, place)
		}
		return at
	}
	number := func(list ...int) {
		for _, n := range list {
			b = binary.LittleEndian.AppendUint32(b, uint32(n))
		}
	}
	number(0)
	message, schema, column := numbers(0, 8, 4), numbers(0, 4), numbers(0, 0, 0, 0, 0, 4)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	number(len(b)-message, 8, schemaHeader)
	number(len(b)-schema, 4, 1, 4)
	for range depth {
		number(len(b)-column, 4, times)
		for i := range times {
			number(4 * (times - i))
		}
	}
	number(len(b)-column, 4, 0)
	return b
}

// Tables that name each other again and again are no schema, however few bytes they take.
func TestNestedSchemas(t *testing.T) {
	check := func(b []byte) error {
		return guard(func() error { checkMessage(b); return nil })
	}
	if err := check(nested(20, 1)); err != nil {
		t.Errorf("20 columns in each other: %v", err)
	}
	for _, b := range [][]byte{nested(100, 2), nested(60, 3), nested(100_000, 1)} {
		if err := check(b); !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
		stream := binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), uint32(len(b)))
		if _, err := readAll(save(t, "x.arrows", slices.Concat(stream, b))); !errors.Is(err, ErrFormat) {
			t.Errorf("a stream of %d bytes: %v", len(b), err)
		}
	}
}

// A column of nothing takes no bytes, so that a batch of it can claim any number of rows.
func TestRowsThatABatchClaims(t *testing.T) {
	nothing := array.NewNull(1 << 50)
	schema := arrow.NewSchema([]arrow.Field{{Name: "vector", Type: arrow.Null, Nullable: true}}, nil)
	var stream bytes.Buffer
	w := ipc.NewWriter(&stream, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(array.NewRecordBatch(schema, []arrow.Array{nothing}, 1<<50)), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(save(t, "x.arrows", stream.Bytes())); !errors.Is(err, ErrFormat) {
		t.Error(err)
	}
}

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	bytes int64
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	c.bytes += int64(len(b))
	return c.ReaderAt.ReadAt(b, at)
}

// A footer that names one message again and again is no footer, and the message is not read each time.
func TestMessagesThatAFooterRepeats(t *testing.T) {
	const times = 1000
	message := binary.LittleEndian.AppendUint32([]byte("\xff\xff\xff\xff"), 0)
	message = append(append(message, nested(1, 1)...), make([]byte, 24*times)...)
	file := append([]byte("ARROW1\x00\x00"), message...)
	var footer []byte
	for _, n := range []uint32{16, 8<<16 | 12, 0, 4 << 16, 12, 4, times} { // a table whose field 3 is a list
		footer = binary.LittleEndian.AppendUint32(footer, n)
	}
	for range times {
		footer = binary.LittleEndian.AppendUint64(footer, 8)
		footer = binary.LittleEndian.AppendUint64(footer, uint64(len(message)))
		footer = binary.LittleEndian.AppendUint64(footer, 0)
	}
	file = binary.LittleEndian.AppendUint32(append(file, footer...), uint32(len(footer)))
	file = append(file, "ARROW1"...)
	in := &counting{ReaderAt: bytes.NewReader(file)}
	err := guard(func() error { checkArrowFile(in, int64(len(file))); return nil })
	if most := 2 * int64(len(file)); !errors.Is(err, ErrFormat) || in.bytes > most {
		t.Errorf("%d bytes of a file of %d are read: %v", in.bytes, len(file), err)
	}
}
