package registry

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

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
 {"name":"sure","type":["null","boolean"],"default":null}]}`

// result is a record.Result in the form of ResultSchema.
type result struct {
	ID           string        `avro:"id"`
	ItemID       *string       `avro:"itemId"`
	Stream       string        `avro:"stream"`
	Episode      int64         `avro:"episode"`
	Label        string        `avro:"label"`
	Confidence   float64       `avro:"confidence"`
	Calibrated   bool          `avro:"calibrated"`
	Unknown      bool          `avro:"unknown"`
	UnknownScore float64       `avro:"unknownScore"`
	Alternatives []alternative `avro:"alternatives"`
	Time         time.Time     `avro:"time"`
	Model        *string       `avro:"model"`
	Attributes   *string       `avro:"attributes"`
	Vector       *[]float32    `avro:"vector"`
	Source       source        `avro:"source"`
	ReplayOf     *string       `avro:"replayOf"`
	Sure         *bool         `avro:"sure"`
}

type alternative struct {
	Label      string  `avro:"label"`
	Confidence float64 `avro:"confidence"`
}

type source struct {
	Topic     string `avro:"topic"`
	Partition int32  `avro:"partition"`
	Offset    int64  `avro:"offset"`
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
	err = r.patiently(ctx, "register "+subject, func() error {
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
		value := avroResult(answer)
		encoded, err := schema.AppendEncode(dst, &value)
		if err != nil {
			// The fields match the schema, so this is a bug here. Readers still get the answer, as JSON.
			r.log.Error("a result cannot be written in Avro: written in JSON", "id", answer.ID, "error", err)
			return record.AppendResult(dst[:before], answer)
		}
		return encoded
	}}, nil
}

func avroResult(r *record.Result) result {
	optional := func(text string) *string {
		if text == "" {
			return nil
		}
		return &text
	}
	value := result{
		ID: r.ID, ItemID: optional(r.ItemID), Stream: r.Stream, Episode: r.Episode, Label: r.Label,
		Confidence: r.Confidence,
		Calibrated: r.Calibrated, Unknown: r.Unknown, UnknownScore: r.UnknownScore, Time: r.Time.UTC(),
		Model:      optional(r.Model),
		Attributes: optional(string(r.Attributes)), Alternatives: make([]alternative, len(r.Alternatives)),
		Source: source{r.Source.Topic, r.Source.Partition, r.Source.Offset}, ReplayOf: optional(r.ReplayOf),
		Sure: r.Sure,
	}
	for i, a := range r.Alternatives {
		value.Alternatives[i] = alternative(a)
	}
	if len(r.Vector) > 0 {
		vector := record.VectorOf(r.Vector)
		value.Vector = &vector
	}
	return value
}
