package registry

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/sr"

	"github.com/slkstream/slkstream/internal/record"
)

// resultSchema is the Avro schema of results.
var resultSchema = avroRecord("Result", record.ResultFields, `"namespace":"slkstream",`)

// avroRecord returns the schema of a struct's fields.
func avroRecord(name string, fields []record.Field, also string) string {
	var parts []string
	for i := range fields {
		if f := &fields[i]; !f.NoAvro {
			parts = append(parts, fmt.Sprintf(`{"name":%q,"type":%s}`, f.Name, avroType(f)))
		}
	}
	return fmt.Sprintf(`{"type":"record","name":%q,%s"fields":[%s]}`, name, also, strings.Join(parts, ",\n "))
}

// avroTypes are the types of kinds that have no fields.
var avroTypes = map[record.Kind]string{
	record.Text: `"string"`, record.JSON: `"string"`, record.Number: `"double"`, record.Whole: `"long"`, record.Truth: `"boolean"`,
	record.Time: `{"type":"long","logicalType":"timestamp-micros"}`, record.Bytes: `{"type":"array","items":"float"}`,
}

func avroType(f *record.Field) string {
	name := strings.ToUpper(f.Name[:1]) + f.Name[1:]
	switch {
	case f.Kind == record.Object:
		return avroRecord(name, f.Fields, "")
	case f.Kind == record.List:
		return `{"type":"array","items":` + avroRecord(strings.TrimSuffix(name, "s"), f.Fields, "") + `}`
	case nullable(f):
		return `["null",` + avroTypes[f.Kind] + `],"default":null`
	}
	return avroTypes[f.Kind]
}

// nullable says whether an empty value is null: an optional number is 0, and a list has no elements.
func nullable(f *record.Field) bool {
	return f.Optional && f.Kind != record.Whole && f.Kind != record.Number && f.Kind != record.List
}

// appendAvro appends the Avro of an addressable struct by avroRecord's schema.
func appendAvro(dst []byte, fields []record.Field, of reflect.Value) []byte {
	for i := range fields {
		f := &fields[i]
		v := of.Field(f.Index)
		switch {
		case f.NoAvro:
			continue
		case nullable(f) && (v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0):
			dst = binary.AppendVarint(dst, 0)
			continue
		case nullable(f):
			dst = binary.AppendVarint(dst, 1)
		}
		switch f.Kind {
		case record.Text:
			dst = append(binary.AppendVarint(dst, int64(v.Len())), v.String()...)
		case record.JSON:
			dst = append(binary.AppendVarint(dst, int64(v.Len())), v.Bytes()...)
		case record.Number:
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(v.Float()))
		case record.Whole:
			dst = binary.AppendVarint(dst, v.Int())
		case record.Truth:
			dst = append(dst, 0)
			if reflect.Indirect(v).Bool() {
				dst[len(dst)-1] = 1
			}
		case record.Time:
			dst = binary.AppendVarint(dst, v.Addr().Interface().(*time.Time).UnixMicro())
		case record.Bytes: // an array of one block: its bytes are Avro's own
			dst = append(binary.AppendVarint(dst, int64(v.Len()/4)), v.Bytes()...)
			dst = append(dst, 0)
		case record.Object:
			dst = appendAvro(dst, f.Fields, v)
		case record.List:
			if v.Len() > 0 {
				dst = binary.AppendVarint(dst, int64(v.Len()))
			}
			for i := range v.Len() {
				dst = appendAvro(dst, f.Fields, v.Index(i))
			}
			dst = append(dst, 0)
		}
	}
	return dst
}

// Results returns the form of results in Avro, with Confluent's framing. It registers resultSchema as the
// topic's value schema. It waits for an unreachable registry until ctx ends, and returns an error if the
// registry refuses the schema.
func (r *Registry) Results(ctx context.Context, topic string) (record.ResultForm, error) {
	id, subject := 0, topic+"-value"
	var refused error
	err := r.patiently(ctx, "to register "+subject, func() (err error) {
		id, err = r.client.RegisterSchema(ctx, subject, sr.Schema{Schema: resultSchema, Type: sr.TypeAvro}, -1, -1)
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
		return appendAvro(append(dst, framing...), record.ResultFields, reflect.ValueOf(answer).Elem())
	}}, nil
}
