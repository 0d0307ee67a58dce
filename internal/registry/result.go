package registry

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"

	"github.com/slkstream/slkstream/internal/record"
)

// ResultSchema is the Avro schema of results. attributes is JSON.
const ResultSchema = `{"type":"record","name":"Result","namespace":"slkstream","fields":[
 {"name":"id","type":"string"},
 {"name":"itemId","type":["null","string"],"default":null},
 {"name":"stream","type":"string"},
 {"name":"episode","type":"long"},
 {"name":"label","type":"string"},
 {"name":"confidence","type":"double"},
 {"name":"calibrated","type":"boolean"},
 {"name":"unknown","type":"boolean"},
 {"name":"unknownScore","type":"double"},
 {"name":"alternatives","type":{"type":"array","items":{"type":"record","name":"Alternative","fields":[
  {"name":"label","type":"string"},{"name":"confidence","type":"double"}]}}},
 {"name":"time","type":{"type":"long","logicalType":"timestamp-micros"}},
 {"name":"model","type":["null","string"],"default":null},
 {"name":"attributes","type":["null","string"],"default":null},
 {"name":"vector","type":["null",{"type":"array","items":"float"}],"default":null},
 {"name":"source","type":{"type":"record","name":"Source","fields":[
  {"name":"topic","type":"string"},{"name":"partition","type":"int"},{"name":"offset","type":"long"}]}},
 {"name":"replayOf","type":["null","string"],"default":null},
 {"name":"sure","type":["null","boolean"],"default":null},
 {"name":"class","type":["null","string"],"default":null}]}`

// result is a record.Result in the form of ResultSchema, which has its vector as numbers.
type result struct {
	record.Result `avro:",inline"`
	Numbers       []float32 `avro:"vector,omitzero"`
}

// Results returns the form of results in Avro, with Confluent's framing. It registers ResultSchema as the
// topic's value schema. It waits for an unreachable registry until ctx ends, and returns an error if the
// registry refuses the schema.
func (r *Registry) Results(ctx context.Context, topic string) (record.ResultForm, error) {
	schema, err := avro.Parse(ResultSchema)
	if err != nil {
		return record.ResultForm{}, err
	}
	id, subject := 0, topic+"-value"
	var refused error
	err = r.patiently(ctx, "to register "+subject, func() error {
		id, err = r.client.RegisterSchema(ctx, subject, sr.Schema{Schema: ResultSchema, Type: sr.TypeAvro}, -1, -1)
		if incompatible(err) {
			refused = fmt.Errorf("the schema registry refuses the schema of results as %s: %w", subject, err)
			return nil
		}
		return err
	})
	if err == nil {
		err = refused
	}
	if err != nil {
		return record.ResultForm{}, err
	}
	framing := binary.BigEndian.AppendUint32([]byte{0}, uint32(id))
	return record.ResultForm{Append: func(dst []byte, answer *record.Result) []byte {
		before := len(dst)
		dst = append(dst, framing...)
		value := result{Result: *answer}
		if len(answer.Vector) > 0 {
			value.Numbers = record.VectorOf(answer.Vector)
		}
		encoded, err := schema.AppendEncode(dst, &value)
		if err != nil {
			// The fields match the schema, so this is a bug here. Readers still get the answer, as JSON.
			r.log.Error("a result cannot be written in Avro: written in JSON", "id", answer.ID, "error", err)
			return record.AppendResult(dst[:before], answer)
		}
		return encoded
	}}, nil
}
