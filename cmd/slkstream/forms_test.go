package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/avro"
	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

const ourAvro = `{"type":"record","name":"Item","fields":[{"name":"id","type":"string"},{"name":"stream","type":"string"},
	{"name":"vector","type":{"type":"array","items":"float"}}]}`

const theirAvro = `{"type":"record","name":"Seen","fields":[{"name":"camera","type":"string"},{"name":"boxes","type":{"type":"array",
	"items":{"type":"record","name":"Box","fields":[{"name":"key","type":"string"},
	{"name":"emb","type":{"type":"array","items":"double"}},{"name":"about","type":{"type":"map","values":"int"}}]}}}]}`

// form is a record in one of the supported forms, and its expected results.
type form struct {
	name    string
	value   []byte
	headers string // NAME=VALUE, separated by spaces
	want    []answer
}

type answer struct{ id, stream, label, attributes string }

// field is a field of a protobuf message that holds bytes.
func field(number int, parts ...[]byte) []byte {
	b := bytes.Join(parts, nil)
	b = append(binary.AppendUvarint(binary.AppendUvarint(nil, uint64(number<<3|2)), uint64(len(b))), b...)
	return b
}

// framed adds Confluent's framing to a payload.
func framed(schema int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(schema)), payload...)
}

// Every form of a record passes through a stage, with the embedded broker and, in CI, with a real Kafka: the
// result has its id, stream and attributes, and no record becomes a dead letter.
func TestFormsThroughAStage(t *testing.T) {
	fake := srfake.New()
	t.Cleanup(fake.Close)
	fake.SeedSchema("json-value", 1, 1, sr.Schema{Schema: `{"type":"object"}`, Type: sr.TypeJSON})
	fake.SeedSchema("our-value", 1, 2, sr.Schema{Schema: ourAvro, Type: sr.TypeAvro})
	fake.SeedSchema("their-value", 1, 3, sr.Schema{Schema: theirAvro, Type: sr.TypeAvro})
	fake.SeedSchema("nv-value", 1, 4, sr.Schema{
		Schema: `syntax = "proto3"; message Frame { string id = 2; }`, Type: sr.TypeProtobuf,
	})
	inAvro := func(schema int, text string, value any) []byte {
		b, err := avro.MustParse(text).Encode(value)
		if err != nil {
			t.Fatal(err)
		}
		return framed(schema, b)
	}
	a, b := []float32{1, .1, 0}, []float32{0, 1, .1}
	vector := record.AppendVector
	object := func(id string, v []float32) []byte {
		return slices.Concat(field(1, []byte(id)), field(3, []byte("Person")), field(6, field(1, vector(nil, v))))
	}
	nvFrame := slices.Concat(
		field(1, []byte("4.0")), field(2, []byte("253")), field(4, []byte("gate-2")),
		field(5, object("5", a)), field(5, object("6", b)),
	)
	about := func(frame string) string { return `{"frame":"` + frame + `","type":"Person"}` }
	ours := []form{
		{
			"JSON", []byte(`{"id":"j","stream":"gate-1","vector":[1,0.1,0],"attributes":{"shelf":7}}`), "",
			[]answer{{"j", "gate-1", "cat", `{"shelf":7}`}},
		},
		{
			"CloudEvents", []byte(`{"specversion":"1.0","id":"e","source":"/s","type":"t","data":{"vector":[0,1,0.1],"stream":"gate-1"}}`), "",
			[]answer{{"e", "gate-1", "dog", ""}},
		},
		{
			"raw", vector(nil, a), "content-type=application/x-f32 id=r stream=gate-1 frame=f track=t attr-box=[1,2,3,4] attr-lens=wide",
			[]answer{{"r", "gate-1", "cat", `{"box":[1,2,3,4],"lens":"wide"}`}},
		},
		{
			"nv.Frame in JSON", []byte(`{"version":"4.0","id":"252","timestamp":"2026-03-04T05:06:07.8Z","sensorId":"gate-2","objects":[
				{"id":"3","type":"Person","embedding":{"vector":[1,0.1,0]}},{"id":"4","type":"Person","embedding":{"vector":[0,1,0.1]}}]}`), "",
			[]answer{{"3", "gate-2", "cat", about("252")}, {"4", "gate-2", "dog", about("252")}},
		},
		{"nv.Frame", nvFrame, "", []answer{
			{"5", "gate-2", "cat", about("253")},
			{"6", "gate-2", "dog", about("253")},
		}},
		{
			"DL Streamer", []byte(`{"objects":[{"id":3,"roi_type":"person","x":1,"y":2,"w":3,"h":4,"tensors":[
				{"data":[1,0.1,0],"dims":[1,3],"layer_name":"out","model_name":"reid","name":"inference_layer_name:out","precision":"FP32"}]}],
				"source":"rtsp://camera-7/stream","timestamp":4800000000}`), "",
			[]answer{{
				"3", "rtsp://camera-7/stream", "cat",
				`{"roi_type":"person","bbox":{"x":1,"y":2,"w":3,"h":4},"timestamp":"4800000000"}`,
			}},
		},
		{
			"JSON Schema", framed(1, []byte(`{"id":"s","stream":"gate-3","vector":[1,0.1,0]}`)), "",
			[]answer{{"s", "gate-3", "cat", ""}},
		},
		{
			"Avro", inAvro(2, ourAvro, map[string]any{
				"id": "v", "stream": "gate-3",
				"vector": []any{float32(0), float32(1), float32(.1)},
			}), "",
			[]answer{{"v", "gate-3", "dog", ""}},
		},
		{
			"nv.Frame by its schema", framed(4, append([]byte{0}, nvFrame...)), "",
			[]answer{{"5", "gate-2", "cat", about("253")}, {"6", "gate-2", "dog", about("253")}},
		},
	}
	box := func(key string, x, y, z float64) map[string]any {
		return map[string]any{"key": key, "emb": []any{x, y, z}, "about": map[string]any{"x": int32(9)}}
	}
	theirs := []form{
		{
			"JSON by paths", []byte(`{"camera":"gate-4","boxes":[{"key":"p","emb":[1,0.1,0],"about":{"x":1}},{"key":"q","emb":[0,1,0.1]}]}`), "",
			[]answer{{"p", "gate-4", "cat", `{"x":1}`}, {"q", "gate-4", "dog", ""}},
		},
		{
			"Avro by paths", inAvro(3, theirAvro, map[string]any{
				"camera": "gate-4",
				"boxes":  []any{box("m", 1, .1, 0), box("n", 0, 1, .1)},
			}), "",
			[]answer{{"m", "gate-4", "cat", `{"x":9}`}, {"n", "gate-4", "dog", `{"x":9}`}},
		},
	}
	t.Run("names of ours", func(t *testing.T) {
		stageOfForms(t, ours, "--schema-registry", fake.URL())
	})
	t.Run("paths", func(t *testing.T) {
		stageOfForms(t, theirs, "--schema-registry", fake.URL(), "--vector-field", "boxes[].emb", "--id-field",
			"boxes[].key",
			"--stream-field", "camera", "--attributes-field", "boxes[].about")
	})
}

// stageOfForms runs a stage over one record of each form and compares its results.
func stageOfForms(t *testing.T, forms []form, args ...string) {
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	in, out := brokertest.Topic(t, client, "forms", 1, nil), brokertest.Name("named")
	if err := client.Create(t.Context(), topic.Description{Name: out, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	want := map[string]answer{}
	var sent []record.Out
	for i, f := range forms {
		r := record.Out{Topic: in, Value: f.value}
		for _, h := range strings.Fields(f.headers) {
			name, value, _ := strings.Cut(h, "=")
			r.Headers = append(r.Headers, record.Header{Key: name, Value: []byte(value)})
		}
		sent = append(sent, r)
		for n, w := range f.want {
			object := int32(n)
			if len(f.want) == 1 && !bytes.Contains(f.value, []byte("objects")) {
				object = -1
			}
			want[record.Source{Topic: in, Offset: int64(i), Object: object}.ID()] = w
		}
	}
	if err := client.Write(t.Context(), sent); err != nil {
		t.Fatal(err)
	}
	support := filepath.Join(t.TempDir(), "support.jsonl")
	var rows strings.Builder
	for _, model := range []string{"", "reid"} {
		rows.WriteString(`{"id":"cat` + model + `","label":"cat","model":"` + model + `","vector":[1,0,0]}` + "\n")
		rows.WriteString(`{"id":"dog` + model + `","label":"dog","model":"` + model + `","vector":[0,1,0]}` + "\n")
	}
	if err := os.WriteFile(support, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int, 1)
	var messages bytes.Buffer
	go func() {
		done <- execute(ctx, append([]string{
			"run", "--brokers", strings.Join(brokers, ","), "--in", in, "--out", out, "--group", out, "--listen=",
			"--support", support, "--episode-idle", "300ms",
		}, args...), &bytes.Buffer{}, &messages)
	}()
	t.Cleanup(func() { // also if results never come
		stop()
		if code := <-done; code != exitDone {
			t.Errorf("exit %d: %s", code, messages.String())
		}
	})
	got := records(t, client, out, len(want))
	for _, r := range got {
		var result record.Result
		if err := json.Unmarshal(r.Value, &result); err != nil {
			t.Fatal(err)
		}
		w := want[result.ID]
		if got := (answer{result.ItemID, result.Stream, result.Label, string(result.Attributes)}); got != w {
			t.Errorf("%s: %s is answered with %+v, want %+v", forms[result.Source.Offset].name, result.ID, got, w)
		}
	}
	if end, err := client.Offset(t.Context(), out+"-dead", 0, topic.Latest, false); err == nil && end > 0 {
		t.Errorf("%d dead letters", end)
	}
}
