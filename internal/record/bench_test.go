package record

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

func embedding(d int) []float32 {
	random := rand.New(rand.NewPCG(1, 2))
	v := make([]float32, d)
	for i := range v {
		v[i] = float32(random.NormFloat64()) / 16
	}
	return v
}

func benchmarkDecode(b *testing.B, value []byte, o Options) {
	d, err := NewDecoder(o)
	if err != nil {
		b.Fatal(err)
	}
	r := rawRecord(string(value))
	var items []Item
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if items, err = d.Decode(context.Background(), r, items[:0]); err != nil || len(items) != 1 {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	v := embedding(512)
	raw := AppendVector(nil, v)
	short, _ := json.Marshal(map[string]any{"id": "item-1", "vector": v})
	wide := make([]float64, len(v)) // as Python prints them
	for i, x := range v {
		wide[i] = float64(x)
	}
	long, _ := json.Marshal(map[string]any{"id": "item-1", "vector": wide})
	b.Run("f32", func(b *testing.B) { benchmarkDecode(b, raw, Options{Format: "f32"}) })
	b.Run("f16", func(b *testing.B) {
		benchmarkDecode(b, bytes.Repeat([]byte{0, 0x2c}, 512),
			Options{Format: "f16"})
	})
	b.Run("json-f32", func(b *testing.B) { benchmarkDecode(b, short, Options{}) })
	b.Run("json-f64", func(b *testing.B) { benchmarkDecode(b, long, Options{}) })
	b.Run("json-base64", func(b *testing.B) {
		benchmarkDecode(b, AppendExample(nil, &Example{ID: "item-1", Vector: v}), Options{})
	})
	b.Run("nv", func(b *testing.B) {
		benchmarkDecode(b, []byte(message(2, "1", 4, "gate", 5, message(1, "3", 6, message(1, string(raw))))),
			Options{})
	})
	object, _ := json.Marshal(map[string]any{"id": "3", "embedding": v})
	b.Run("json-nv", func(b *testing.B) {
		benchmarkDecode(b, []byte(`{"id":"1","sensorId":"gate","objects":[`+string(object)+`]}`), Options{})
	})
	b.Run("json-paths", func(b *testing.B) {
		benchmarkDecode(b, []byte(`{"camera":"gate","items":[`+string(object)+`]}`),
			Options{Paths: Paths{Vector: "items[].embedding", ID: "items[].id", Stream: "camera"}})
	})
	for name, value := range map[string][]byte{"f32": short, "f64": long} {
		b.Run("encoding-json-"+name, func(b *testing.B) { // for comparison
			b.SetBytes(int64(len(value)))
			for b.Loop() {
				var into struct {
					ID     string
					Vector []float32
				}
				if err := json.Unmarshal(value, &into); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkResult(b *testing.B) {
	r := Result{
		ID: "in/3/" + strconv.Itoa(123456), ItemID: "item-1", Stream: "cam-7", Episode: 1234, Label: "milk",
		Confidence: .9712345, UnknownScore: .21,
		Alternatives: []Alternative{{"juice", .0212345}, {"bread", .01}}, Time: time.Now(),
		Source: ResultSource{"in", 3, 123456},
	}
	b.Run("append", func(b *testing.B) {
		var dst []byte
		b.ReportAllocs()
		for b.Loop() {
			dst = AppendResult(dst[:0], &r)
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(&r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
