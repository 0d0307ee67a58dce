package record

import (
	"context"
	"encoding/json"
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
