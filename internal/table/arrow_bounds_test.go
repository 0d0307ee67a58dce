//go:build !lean

package table

import (
	"bytes"
	"encoding/binary"
	"errors"
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
