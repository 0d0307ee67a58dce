package record

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// A frame in gvametaconvert's format, by jsonconverter.cpp and convert_tensor.cpp of DL Streamer
// (github.com/dlstreamer/dlstreamer, gst/elements/gvametaconvert), with the keys in the order of its
// JSON library.
const streamerJSON = `{"objects":[
	{"detection":{"bounding_box":{"x_max":0.32,"x_min":0.25,"y_max":0.61,"y_min":0.4},"confidence":0.92,"label":"person","label_id":1},
	 "h":91,"id":3,"roi_type":"person","w":54,"x":192,"y":173,
	 "gender":{"label":"Female","model":{"name":"age-gender"}},
	 "tensors":[
	  {"confidence":0.92,"label_id":1,"layer_name":"detection_out","layout":"ANY","model_name":"detector","name":"detection","precision":"UNSPECIFIED"},
	  {"confidence":0.97,"data":[0.97,0.03,0.1,0.2,0.3],"label":"Female","layer_name":"prob","layout":"ANY","model_name":"age-gender","name":"gender","precision":"FP32"},
	  {"data":[1,2,3],"dims":[1,3],"format":"raw","layer_name":"reid","layout":"ANY","model_name":"reid-0287","name":"inference_layer_name:reid","precision":"FP32"},
	  {"data":[7,8],"dims":[1,2],"layer_name":"small","layout":"ANY","model_name":"small-net","name":"inference_layer_name:small","precision":"FP32"}]},
	{"h":10,"roi_type":"person","w":10,"x":1,"y":1,"tensors":[
	  {"data":[4,5,6],"layer_name":"reid","model_name":"reid-0287","name":"inference_layer_name:reid","precision":"FP32"}]},
	{"h":10,"roi_type":"bag","w":10,"x":5,"y":5,"tensors":[]}],
	"resolution":{"height":432,"width":768},"source":"rtsp://camera-7/stream","tags":{"site":"north"},"timestamp":4800000000}`

func TestStreamer(t *testing.T) {
	items, err := decoder(t, Options{TrackBy: "object"}).Decode(context.Background(), rawRecord(streamerJSON),
		nil)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	a, b := items[0], items[1]
	checkVector(t, a.Vector, 1, 2, 3)
	checkVector(t, b.Vector, 4, 5, 6)
	if a.ItemID != "3" || a.Track != "3" || a.Stream != "rtsp://camera-7/stream" || a.Model != "reid-0287" ||
		!a.Time.Equal(when) || a.Label != "" {
		t.Errorf("%+v", a)
	}
	if a.Frame != "in/3/42" || b.Frame != a.Frame || a.Source.ID() != "in/3/42/0" ||
		b.Source.ID() != "in/3/42/1" || b.Track != "" {
		t.Errorf("frames %q, %q; %s, %s", a.Frame, b.Frame, a.Source.ID(), b.Source.ID())
	}
	var about struct {
		RoiType    string `json:"roi_type"`
		Label      string
		Confidence float64
		Bbox       map[string]int
		Timestamp  string
	}
	if err := json.Unmarshal(a.Attributes, &about); err != nil || about.RoiType != "person" ||
		about.Label != "person" || about.Confidence != .92 || about.Bbox["w"] != 54 ||
		about.Timestamp != "4800000000" {
		t.Errorf("%s: %v", a.Attributes, err)
	}
	small, err := decoder(t, Options{Model: "small-net"}).Decode(context.Background(), rawRecord(streamerJSON),
		nil)
	if err != nil || len(small) != 2 {
		t.Fatalf("%d items, %v", len(small), err)
	}
	checkVector(t, small[0].Vector, 7, 8)
	whole := one(
		t,
		Options{},
		rawRecord(
			`{"resolution":{"height":4,"width":4},"source":"cam","tensors":[{"data":[1,2],"model_name":"net"}],"timestamp":1772600767800000000}`,
		),
	)
	if whole.Stream != "cam" || whole.Model != "net" || whole.Frame != "" ||
		!whole.Time.Equal(time.Unix(0, 1772600767800000000)) {
		t.Errorf("%+v", whole)
	}
	for value, want := range map[string]string{
		`{"objects":[{"x":1,"roi_type":"person"}],"source":"cam"}`: NoEmbeddings,
		`{"resolution":{},"source":"cam","tensors":[]}`:            NoEmbeddings,
	} {
		_, err := decoder(t, Options{}).Decode(context.Background(), rawRecord(value), nil)
		if empty, ok := err.(*Empty); !ok || empty.Reason != want {
			t.Errorf("%s: %v", value, err)
		}
	}
	for _, value := range []string{
		`{"objects":[{"tensors":5}],"source":"cam"}`,
		`{"objects":[{"tensors":[{"data":["x"]}]}]}`, `{"tensors":{}}`,
	} {
		items, err := decoder(t, Options{}).Decode(context.Background(), rawRecord(value), nil)
		if _, ok := err.(*Rejection); !ok || len(items) != 0 {
			t.Errorf("%s: %d items, %v", value, len(items), err)
		}
	}
}

// A behavior with the fields of nv.schema.ext.Behavior, by
// docs.nvidia.com/mms/BehaviorAnalytics/nv/schema/ext/Behavior.html.
const behaviorJSON = `{"id":"gate #-# 3","timestamp":"2026-01-02T03:04:05Z","end":"2026-01-02T03:04:09Z","locations":{"type":"linestring","coordinates":[]},
	"distance":4.1,"speed":0.9,"timeInterval":4,"direction":"N","length":97,"place":{"id":"","name":"city=Z","type":""},
	"sensor":{"id":"gate","type":"Camera","description":""},"analyticsModule":{"id":"Metropolis"},
	"object":{"id":"3","type":"Person","confidence":0.9,"bbox":{"leftX":1,"topY":2,"rightX":3,"bottomY":4},"info":{"label":"anna"},"embedding":EMBEDDING},
	"event":{"id":"","type":"moving"},"videoPath":"","embeddings":[{"vector":[5,6],"info":{}},{"vector":[3,4],"info":{}}],"info":{}}`

func behaviorProtobuf(embedding string) string {
	object := []any{1, "3", 3, "Person", 5, message(1, "label", 2, "anna")}
	if embedding != "" {
		object = append(object, 6, message(1, embedding))
	}
	return message(1, "gate #-# 3", 2, "\x08\xc0\xc4\x07", 3, "\x08\xc4\xc4\x07", 15,
		message(1, "gate", 2, "Camera"), 17, message(object...),
		23, message(1, floats(5, 6)), 23, message(1, floats(3, 4)))
}

func TestBehavior(t *testing.T) {
	for name, c := range map[string]struct {
		value string
		want  []float32
		time  time.Time
	}{
		"json": {
			strings.Replace(behaviorJSON, "EMBEDDING", `{"vector":[1,2]}`, 1),
			[]float32{1, 2},
			time.Date(2026, 1, 2, 3, 4, 9, 0, time.UTC),
		},
		"json over time": {
			strings.Replace(behaviorJSON, "EMBEDDING", "null", 1),
			[]float32{3, 4},
			time.Date(2026, 1, 2, 3, 4, 9, 0, time.UTC),
		},
		"protobuf":           {behaviorProtobuf(floats(1, 2)), []float32{1, 2}, time.Unix(123460, 0)},
		"protobuf over time": {behaviorProtobuf(""), []float32{3, 4}, time.Unix(123460, 0)},
	} {
		item := one(t, Options{}, rawRecord(c.value))
		checkVector(t, item.Vector, c.want...)
		if item.ItemID != "gate #-# 3" || item.Track != item.ItemID || item.Stream != "gate" ||
			item.Label != "anna" || !item.Time.Equal(c.time) || item.Frame != "" {
			t.Errorf("%s: %+v", name, item)
		}
		var about struct{ Object, Type string }
		if err := json.Unmarshal(item.Attributes, &about); err != nil || about.Object != "3" ||
			about.Type != "Person" {
			t.Errorf("%s: %s, %v", name, item.Attributes, err)
		}
	}
	_, err := decoder(t, Options{}).Decode(context.Background(),
		rawRecord(`{"id":"b","sensor":{"id":"gate"},"object":{"id":"3"}}`), nil)
	if empty, ok := err.(*Empty); !ok || empty.Reason != NoEmbeddings {
		t.Errorf("a behavior without an embedding: %v", err)
	}
	for _, value := range []string{
		`{"sensor":{"id":[]},"object":{}}`,
		`{"sensor":{},"object":{"embedding":{"vector":["x"]}}}`, `{"sensor":{},"object":{},"end":"never"}`, `{"sensor":{},"embeddings":[3]}`,
	} {
		if items, err := decoder(t, Options{}).Decode(context.Background(), rawRecord(value), nil); err == nil ||
			len(items) != 0 {
			t.Errorf("%s: %d items, %v", value, len(items), err)
		}
	}
}
