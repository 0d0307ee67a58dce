package record

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Schemas decodes values whose schema is in a schema registry.
type Schemas interface {
	// Decode returns the payload of a framed value as JSON, or with protobuf true as the bytes of a message.
	// Arrays of numbers may be base64 of little-endian float32. It waits for an unreachable registry until ctx
	// ends. An unreadable payload is a *Rejection.
	Decode(ctx context.Context, schema int, payload []byte) (value []byte, protobuf bool, err error)
}

// SchemaAway reports that records wait for a schema of the registry.
type SchemaAway struct {
	Schema int
	Err    error // of the last request
}

func (e *SchemaAway) Error() string {
	return fmt.Sprintf("schema %d of the registry: %v", e.Schema, e.Err)
}

// Unwrap returns the error of the last request.
func (e *SchemaAway) Unwrap() error { return e.Err }

// framed removes Confluent's framing from a value: a zero byte, and the schema's id in four bytes.
func framed(value []byte) (schema int, payload []byte, ok bool) {
	const framing = 5
	if len(value) <= framing || value[0] != 0 {
		return 0, nil, false
	}
	return int(binary.BigEndian.Uint32(value[1:])), value[framing:], true
}

// MessageIndex removes Confluent's Protobuf message indexes from the payload; nil if it does not begin with
// valid ones.
func MessageIndex(payload []byte) []byte {
	const most = 16 // nested messages
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

// framedValue decodes a value with Confluent's framing: by its schema, or without a registry if it is JSON or
// nv.Frame.
func (d *Decoder) framedValue(schema int, payload []byte) *Rejection {
	if d.options.Schemas == nil {
		if isObject(payload) {
			return d.json(payload)
		}
		if message := MessageIndex(payload); message != nil && isFrame(message) {
			return d.protobufFrame(message)
		}
		return reject(
			Unreadable,
			"neither JSON nor nv.Frame: if schema %d of a registry is meant, set --schema-registry; raw numbers need a content-type header or --format f32, f16 or bf16",
			schema,
		)
	}
	value, protobuf, err := d.options.Schemas.Decode(d.ctx, schema, payload)
	switch bad, ok := err.(*Rejection); {
	case ok:
		return bad
	case err != nil:
		d.failed = err
		return nil
	case protobuf:
		return d.protobufFrame(value)
	}
	return d.json(value)
}
