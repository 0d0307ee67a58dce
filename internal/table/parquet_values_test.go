//go:build !lean

package table

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

// What pyarrow 26 writes where two columns hold None alone, and of a table without rows.
const (
	withNothing = "UEFSMRUEFQAVAEwVABUAEgAAFQAVDhUOLBUEFRAVBhUGHAAAAAIAAAAEAAAVBBUQFRBMFQQVABIAAAAAgD8AAABAFQAVHhUeLBUIFRAVBhUGHA" +
		"AAAAIAAAADCgIAAAAIAwEDBhUEFQAVAEwVABUAEgAAFQAVDhUOLBUEFRAVBhUGHAAAAAIAAAAEAAAVBBlsNQAYBnNjaGVtYRUGABUCJQIYBWxh" +
		"YmVsbLwAAAA1AhgGdmVjdG9yFQIVBkw8AAAANQQYBGxpc3QVAgAVCCUCGAdlbGVtZW50ABUCJQIYBG5vdGVsvAAAABYEGRwZPCYAHBUCGTUABh" +
		"AZGAVsYWJlbBUAFgQWUBZQJiQmCCksFQQVABUCABUAFRAVAgA8KQYZJgQAAAAAJgAcFQgZNQAGEBk4BnZlY3RvcgRsaXN0B2VsZW1lbnQVABYI" +
		"FnAWcCaEASZYKSwVBBUAFQIAFQAVEBUCADwpJgQEGUYAAAAIAAAAJgAcFQIZNQAGEBkYBG5vdGUVABYEFlAWUCbkASbIASksFQQVABUCABUAFR" +
		"AVAgA8KQYZJgQAAAAAFpACFgQmCBaQAgAoIHBhcnF1ZXQtY3BwLWFycm93IHZlcnNpb24gMjYuMC4xGTwcAAAcAAAcAAAAVwEAAFBBUjE="
	withoutRows = "UEFSMRUEFQAVAEwVABUAEgAAFQQVABUATBUAFQASAAAVBBlcNQAYBnNjaGVtYRUEABUMJQIYBWxhYmVsJQBMHAAAADUCGAZ2ZWN0b3IVAhUGTD" +
		"wAAAA1BBgEbGlzdBUCABUIJQIYB2VsZW1lbnQAFgAZHBksJgAcFQwZJQAGGRgFbGFiZWwVABYAFhwWHCYAJggpHBUEFQAVAgAAACYAHBUIGSUA" +
		"Bhk4BnZlY3RvcgRsaXN0B2VsZW1lbnQVABYAFhwWHCYAJiQpHBUEFQAVAgAAABY4FgAmCBY4ACggcGFycXVldC1jcHAtYXJyb3cgdmVyc2lvbi" +
		"AyNi4wLjEZLBwAABwAAADnAAAAUEFSMQ=="
)

// A column that is kept has the values that its writer meant, whatever their type on disk.
func TestParquetKeepsWhatTypesMean(t *testing.T) {
	fixed := func(b ...byte) parquet.Value { return parquet.FixedLenByteArrayValue(b) }
	uuid := []byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff")
	for name, c := range map[string]struct {
		node  parquet.Node
		value parquet.Value
		want  any
	}{
		"date":      {parquet.Date(), parquet.Int32Value(20455), "2026-01-02"},
		"before":    {parquet.Date(), parquet.Int32Value(-1), "1969-12-31"},
		"time":      {parquet.Time(parquet.Microsecond), parquet.Int64Value(3_723_000_005), "01:02:03.000005"},
		"decimal":   {parquet.Decimal(2, 10, parquet.FixedLenByteArrayType(5)), fixed(0, 0, 0, 4, 210), "12.34"},
		"negative":  {parquet.Decimal(2, 10, parquet.FixedLenByteArrayType(2)), fixed(255, 254), "-0.02"},
		"cents":     {parquet.Decimal(2, 9, parquet.Int32Type), parquet.Int32Value(-1234), "-12.34"},
		"uuid":      {parquet.UUID(), fixed(uuid...), "00112233-4455-6677-8899-aabbccddeeff"},
		"bytes":     {parquet.Leaf(parquet.FixedLenByteArrayType(2)), fixed(0, 255), []byte{0, 255}},
		"uint32":    {parquet.Uint(32), parquet.Int32Value(-1), int64(1<<32 - 1)},
		"uint64":    {parquet.Uint(64), parquet.Int64Value(-1), json.RawMessage("18446744073709551615")},
		"float":     {parquet.Leaf(parquet.FloatType), parquet.FloatValue(.1), .1},
		"timestamp": {parquet.Timestamp(parquet.Millisecond), parquet.Int64Value(-1), time.UnixMilli(-1).UTC()},
		"infinity":  {parquet.Timestamp(parquet.Microsecond), parquet.Int64Value(math.MaxInt64), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)},
		"of Spark":  {parquet.Leaf(parquet.Int96Type), parquet.Int96Value(deprecated.Int96{7, 0, 2440589}), time.Unix(86400, 7).UTC()},
		"a list":    {parquet.List(parquet.Date()), parquet.Int32Value(0).Level(0, 1, 0), json.RawMessage(`["1970-01-01"]`)},
		"far": {
			parquet.List(parquet.Timestamp(parquet.Millisecond)), parquet.Int64Value(math.MinInt64).Level(0, 1, 0),
			json.RawMessage(`["0000-01-01T00:00:00Z"]`),
		},
		"empty list": {parquet.List(parquet.Date()), parquet.Value{}.Level(0, 0, 0), json.RawMessage("[]")},
		"no list":    {parquet.Optional(parquet.List(parquet.Date())), parquet.Value{}.Level(0, 0, 0), nil},
	} {
		schema := parquet.NewSchema(
			"table",
			parquet.Group{"a": c.node, "x0": parquet.Leaf(parquet.FloatType), "x1": parquet.Leaf(parquet.FloatType)},
		)
		var out bytes.Buffer
		w := parquet.NewWriter(&out, schema)
		v := c.value
		row := parquet.Row{
			v.Level(v.RepetitionLevel(), v.DefinitionLevel(), 0),
			parquet.FloatValue(1).Level(0, 0, 1),
			parquet.FloatValue(2).Level(0, 0, 2),
		}
		if _, err := w.WriteRows([]parquet.Row{row}); err != nil {
			t.Fatal(name, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(name, err)
		}
		got, err := readColumns(save(t, "x.parquet", out.Bytes()), Reading{Keep: true})
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Kept, []any{c.want}) {
			t.Errorf("%s: %v %v, want %v", name, got, err, c.want)
		}
	}
}

// Labels, ids and times may be of any type of one value: pandas makes of whole numbers with gaps such with a point.
func TestParquetFieldsOfAnyType(t *testing.T) {
	type row struct {
		ID     bool      `parquet:"id"`
		Label  *float64  `parquet:"label,optional"`
		Time   int32     `parquet:"time,date"`
		Vector []float32 `parquet:"vector,list"`
	}
	one := 1.0
	got, err := readAll(
		save(t, "x.parquet", parquetOf(t, []row{{true, &one, 20455, []float32{1, 2}}, {false, nil, 0, []float32{2, 1}}})),
	)
	if err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if a, b := got[0], got[1]; a.ID != "true" || a.Label != "1" || b.Label != "" ||
		!a.Time.Equal(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", got)
	}
}

func TestParquetOfNothing(t *testing.T) {
	content := func(text string) []byte {
		b, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	got, err := readColumns(save(t, "x.parquet", content(withNothing)), Reading{Keep: true})
	if err != nil || len(got) != 2 || got[1].Label != "" || !reflect.DeepEqual(got[1].Kept, []any{nil, nil}) {
		t.Errorf("columns of None: %v %v", got, err)
	}
	source, err := Open(save(t, "x.parquet", content(withoutRows)), Reading{})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if _, err = source.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("a table without rows: %v", err)
	}
}
