package record

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Schemas reads the values of a schema registry.
type Schemas interface {
	// Decode returns what the payload of a framed value holds, as JSON or, where protobuf is true, as the bytes
	// of a message. Arrays of numbers may be base64 of little-endian float32. It waits for a registry that is
	// away until ctx ends; a payload that cannot be read is a *Rejection.
	Decode(ctx context.Context, schema int, payload []byte) (value []byte, protobuf bool, err error)
}

// SchemaAway is why records wait for a schema registry.
type SchemaAway struct {
	Schema int
	Err    error // the last answer, or why there was none
}

func (e *SchemaAway) Error() string {
	return fmt.Sprintf("schema %d of the registry: %v", e.Schema, e.Err)
}

// Unwrap gives the error of the question.
func (e *SchemaAway) Unwrap() error { return e.Err }

// framed takes Confluent's framing off a value: a zero byte, and four bytes that number its schema.
func framed(value []byte) (schema int, payload []byte, ok bool) {
	const framing = 5
	if len(value) <= framing || value[0] != 0 {
		return 0, nil, false
	}
	return int(binary.BigEndian.Uint32(value[1:])), value[framing:], true
}

// MessageIndex steps over the numbers that name a message within its schema; nil if that is not what the
// bytes begin with.
func MessageIndex(payload []byte) []byte {
	const most = 16 // messages within each other
	count, n := binary.Varint(payload)
	if n <= 0 || count < 0 || count > most {
		return nil
	}
	payload = payload[n:]
	for range count {
		if _, n = binary.Varint(payload); n <= 0 {
			return nil
		}
		payload = payload[n:]
	}
	return payload
}

// framedValue decodes a value with Confluent's framing: JSON and nv.Frame as they are, all else by its
// schema.
func (d *Decoder) framedValue(raw *Raw, schema int, payload []byte, e *envelope,
	items []Item,
) ([]Item, *Rejection) {
	if d.options.Schemas == nil {
		if object(payload) {
			return d.json(raw, payload, e, items)
		}
		if message := MessageIndex(payload); message != nil && (isFrame(message) || isBehavior(message)) {
			return d.frame(raw, message, e, items)
		}
		return items, reject(Unreadable, "neither JSON nor nv.Frame: if schema %d of a registry is meant, set --schema-registry; raw numbers need a content-type header or --format f32, f16 or bf16", schema)
	}
	value, protobuf, err := d.options.Schemas.Decode(d.ctx, schema, payload)
	if err != nil {
		if bad, ok := err.(*Rejection); ok {
			return items, bad
		}
		d.failed = err
		return items, nil
	}
	if protobuf {
		return d.frame(raw, value, e, items)
	}
	return d.json(raw, value, e, items)
}
