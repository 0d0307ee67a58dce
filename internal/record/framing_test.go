package record

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// frameOf adds Confluent's framing to a value.
func frameOf(schema byte, value string) string { return "\x00\x00\x00\x00" + string(schema) + value }

// JSON and nv.Frame are decoded without a registry, nv.Frame with each form of its message index.
func TestFramingWithoutRegistry(t *testing.T) {
	for name, value := range map[string]string{
		"json": frameOf(7, `{"vector":[1,2]}`), "first message": frameOf(7, "\x00"+frameProtobuf()),
		"message 1 of message 2": frameOf(7, "\x04\x04\x02"+frameProtobuf()),
	} {
		for _, format := range []string{"auto", "json", "nv"} {
			items, err := decoder(t, Options{Format: format}).Decode(context.Background(), rawRecord(value), nil)
			if err != nil || len(items) == 0 {
				t.Errorf("%s as %s: %d items, %v", name, format, len(items), err)
			}
			if len(items) > 0 {
				checkVector(t, items[0].Vector, 1, 2)
			}
		}
	}
	l, err := decoder(t, Options{}).DecodeLabel(context.Background(),
		rawRecord(frameOf(7, `{"label":"milk","vector":[1,2]}`)))
	if err != nil || l.Teach.Label != "milk" {
		t.Errorf("%+v, %v", l, err)
	}
	for _, value := range []string{
		frameOf(7, "\x02\x04ab"), frameOf(7, ""),
		frameOf(7, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), frameOf(7, "\x20"),
	} {
		if items, err := decoder(t, Options{}).Decode(context.Background(), rawRecord(value), nil); err == nil ||
			len(items) != 0 {
			t.Errorf("%q: %d items, %v", value, len(items), err)
		}
	}
	raw := floats(0, 2) // raw numbers may begin with a zero byte
	checkVector(t, one(t, Options{Format: "f32"}, rawRecord(raw)).Vector, 0, 2)
}

// schemas is a registry with one schema.
type schemas struct {
	value    string
	protobuf bool
	err      error
}

func (s schemas) Decode(_ context.Context, schema int, payload []byte) ([]byte, bool, error) {
	if schema != 7 || string(payload) != "payload" {
		return nil, false, errors.New("wrong question")
	}
	return []byte(s.value), s.protobuf, s.err
}

func TestFramingWithRegistry(t *testing.T) {
	r := rawRecord(frameOf(7, "payload"))
	for _, s := range []schemas{
		{value: `{"vector":[1,2]}`},
		{value: message(5, message(6, message(1, floats(1, 2)))), protobuf: true},
	} {
		checkVector(t, one(t, Options{Schemas: s}, r).Vector, 1, 2)
	}
	_, err := decoder(t, Options{Schemas: schemas{err: reject(UnknownSchema,
		"no schema 7")}}).Decode(context.Background(), r, nil)
	if bad, ok := err.(*Rejection); !ok || bad.Fault != UnknownSchema {
		t.Errorf("an unknown schema: %v", err)
	}
	_, err = decoder(t, Options{Schemas: schemas{err: context.Canceled}}).Decode(context.Background(), r, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was ended: %v", err)
	}
	if _, err = decoder(t, Options{}).Decode(context.Background(), r, nil); err == nil ||
		!strings.Contains(err.Error(), "--schema-registry") {
		t.Errorf("without a registry: %v", err)
	}
}
