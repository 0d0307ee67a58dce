package record

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/slkstream/slkstream/internal/kernel"
)

var when = time.Date(2026, 3, 4, 5, 6, 7, 800e6, time.UTC)

func rawRecord(value string, headers ...string) *Raw {
	r := &Raw{Topic: "in", Partition: 3, Offset: 42, Key: []byte("cam-7"), Value: []byte(value), Time: when}
	for i := 0; i < len(headers); i += 2 {
		r.Headers = append(r.Headers, Header{headers[i], []byte(headers[i+1])})
	}
	return r
}

func decoder(t *testing.T, o Options) *Decoder {
	t.Helper()
	d, err := NewDecoder(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// one decodes a record with one embedding.
func one(t *testing.T, o Options, r *Raw) Item {
	t.Helper()
	items, err := decoder(t, o).Decode(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(items) != 1 {
		t.Fatalf("%d items, not one", len(items))
	}
	return items[0]
}

func checkVector(t *testing.T, got []float32, want ...float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("vector %v, not %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("vector %v, not %v", got, want)
		}
	}
}

func floats(v ...float32) string { return string(AppendVector(nil, v)) }

// message encodes protobuf from pairs of a field number and its bytes.
func message(fields ...any) string {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		text := fields[i+1].(string)
		b = binary.AppendUvarint(b, uint64(fields[i].(int)<<3|int(protowire.BytesType)))
		n := len(text)
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n)|0x80)
		}
		b = append(append(b, byte(n)), text...)
	}
	return string(b)
}

func TestJSON(t *testing.T) {
	item := one(
		t,
		Options{},
		rawRecord(`{"id":"a\u00e9","stream":"belt","time":"2026-01-02T03:04:05.25+01:00","vector":[1,-2.5e0, 3.25E-1],
		"label":"milk","model":"clip","attributes":{"image":"x.png","n":[1,2]},"extra":{"deep":[[],{}]}}`, "traceparent", "00-1-2-01", "tracestate", "a=b"),
	)
	if item.ItemID != "aé" || item.Stream != "belt" || item.Label != "milk" || item.Model != "clip" ||
		item.Trace != (TraceContext{"00-1-2-01", "a=b"}) {
		t.Errorf("item %+v", item)
	}
	if want := time.Date(2026, 1, 2, 2, 4, 5, 250e6, time.UTC); !item.Time.Equal(want) {
		t.Errorf("time %v, not %v", item.Time, want)
	}
	if string(item.Attributes) != `{"image":"x.png","n":[1,2]}` || string(item.Key) != "cam-7" ||
		item.Source.ID() != "in/3/42" {
		t.Errorf("attributes %s, key %s, source %s", item.Attributes, item.Key, item.Source.ID())
	}
	checkVector(t, item.Vector, 1, -2.5, .325)
}

func TestAcceptedNames(t *testing.T) {
	item := one(
		t,
		Options{},
		rawRecord(
			`{"sensorId":"s","timestamp":1772600767,"embedding":"`+base64.StdEncoding.EncodeToString([]byte(floats(.5, 7)))+`","id":12}`,
		),
	)
	if item.Stream != "s" || !item.Time.Equal(time.Unix(1772600767, 0)) || item.ItemID != "12" {
		t.Errorf("item %+v", item)
	}
	checkVector(t, item.Vector, .5, 7)
	checkVector(t, one(t, Options{}, rawRecord(`{"embedding":{"info":{},"vector":[4,5]}}`)).Vector, 4, 5)
}

func TestSilentFields(t *testing.T) {
	item := one(
		t,
		Options{Model: "m"},
		rawRecord(`{"vector":[1],"id":null,"stream":null,"time":null,"label":null,"attributes":null}`),
	)
	if item.Stream != "cam-7" || !item.Time.Equal(when) || item.ItemID != "" || item.Label != "" ||
		item.Model != "m" || item.Attributes != nil {
		t.Errorf("item %+v", item)
	}
	if item.Name() != "item:in/3/42" {
		t.Errorf("name %s", item.Name())
	}
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Time{
		`1772600767`: time.Unix(1772600767, 0), `"1772600767800"`: time.UnixMilli(1772600767800),
		`1772600767800123`:    time.UnixMicro(1772600767800123),
		`1772600767800123456`: time.Unix(0, 1772600767800123456), `1772600767.5`: time.UnixMilli(1772600767500),
		`"2026-03-04T05:06:07Z"`: when.Add(-800 * time.Millisecond),
	} {
		if got := one(t, Options{}, rawRecord(`{"vector":[1],"time":`+text+`}`)).Time; !got.Equal(want) {
			t.Errorf("time %s: %v, not %v", text, got, want)
		}
	}
}

func TestRaw(t *testing.T) {
	half := "\x00\x3c\x00\xc0\x01\x00" // 1, -2, the smallest subnormal
	for _, c := range []struct {
		format, contentType, value string
		want                       []float32
	}{
		{"auto", "application/x-f32", floats(1, 2.5), []float32{1, 2.5}},
		{"f32", "", floats(1, 2.5), []float32{1, 2.5}},
		{"f16", "", half, []float32{1, -2, 0x1p-24}},
		{"bf16", "", "\x80\x3f\x20\xc1", []float32{1, -10}},
		{"json", "application/x-f16; v=1", half, []float32{1, -2, 0x1p-24}},
		{"json", "application/octet-stream", floats(3), []float32{3}},
		{"f16", "Application/Octet-Stream", half, []float32{1, -2, 0x1p-24}},
		{"f32", "application/json", `{"vector":[9]}`, []float32{9}},
	} {
		r := rawRecord(c.value, "id", "x", "label", "milk", "stream", "belt", "model", "m")
		if c.contentType != "" {
			r.Headers = append(r.Headers, Header{"Content-Type", []byte(c.contentType)})
		}
		item := one(t, Options{Format: c.format}, r)
		checkVector(t, item.Vector, c.want...)
		if c.contentType != "application/json" && (item.ItemID != "x" || item.Label != "milk" ||
			item.Stream != "belt" || item.Model != "m") {
			t.Errorf("%+v: item %+v", c, item)
		}
	}
}

func TestVectorIsOurs(t *testing.T) {
	r := rawRecord(floats(1, 2))
	item := one(t, Options{Format: "f32"}, r)
	clear(r.Value)
	checkVector(t, item.Vector, 1, 2)
}

func TestFloat16IsExact(t *testing.T) {
	for h := range 1 << 16 {
		exponent, fraction := h>>10&31, float64(h&1023)
		want := math.Ldexp(fraction/1024+1, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(fraction, -24)
		case exponent == 31 && fraction == 0:
			want = math.Inf(1)
		case exponent == 31:
			want = math.NaN()
		}
		if h>>15 == 1 {
			want = -want
		}
		if got := float64(kernel.Float16(uint16(h))); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("%#x: %g, not %g", h, got, want)
		}
	}
}

const frameJSON = `{"version":"4.0","id":"252","objects":[
	{"id":"3","bbox":{"leftX":1},"type":"Person","confidence":0.9,"info":{"label":"anna","x":"y"},"embedding":{"vector":[1,2]}},
	{"id":"4","type":"Box"},
	{"id":5,"embedding":[3,4]}],"timestamp":"2026-01-02T03:04:05Z","sensorId":"gate"}`

func frameProtobuf() string {
	return message(1, "4.0", 2, "252", 3, "\x08\xc0\xc4\x07", 4, "gate",
		5, message(1, "3", 3, "Person", 5, message(1, "label", 2, "anna"), 5, message(1, "x", 2, "y"), 6,
			message(1, floats(1, 2))),
		5, message(1, "4", 3, "Box"),
		5, message(1, "5", 6, "\x0d"+floats(3)+"\x0d"+floats(4)))
}

func TestFrame(t *testing.T) {
	for form, r := range map[string]*Raw{
		"json": rawRecord(frameJSON), "protobuf": rawRecord(frameProtobuf()),
		"typed": rawRecord(frameProtobuf(), "content-type", "application/x-protobuf"),
	} {
		items, err := decoder(t, Options{}).Decode(context.Background(), r, nil)
		if err != nil || len(items) != 2 {
			t.Fatalf("%s: %d items, %v", form, len(items), err)
		}
		a, b := items[0], items[1]
		if a.ItemID != "3" || a.Label != "anna" || a.Stream != "gate" || a.Source.ID() != "in/3/42/0" ||
			b.Source.ID() != "in/3/42/2" || b.Label != "" || b.ItemID != "5" {
			t.Errorf("%s: %+v %+v", form, a, b)
		}
		want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		if form != "json" {
			want = time.Unix(123456, 0)
		}
		if !a.Time.Equal(want) {
			t.Errorf("%s: time %v", form, a.Time)
		}
		checkVector(t, a.Vector, 1, 2)
		checkVector(t, b.Vector, 3, 4)
		var about struct {
			Frame, Type string
			Info        map[string]string
		}
		if err := json.Unmarshal(a.Attributes, &about); err != nil || about.Frame != "252" ||
			about.Type != "Person" || about.Info["x"] != "y" {
			t.Errorf("%s: attributes %s: %v", form, a.Attributes, err)
		}
	}
}

func TestOneBadObjectDoesNotSpoilTheFrame(t *testing.T) {
	items, err := decoder(t, Options{Dimension: 2}).Decode(context.Background(),
		rawRecord(`{"objects":[{"embedding":{"vector":[1,2]}},{"embedding":{"vector":[1]}},{"embedding":[0,0]}]}`), nil)
	if len(items) != 1 || err == nil || !strings.Contains(err.Error(),
		"object 1: the vector has dimension 1, not 2; object 2: the vector is zero") {
		t.Errorf("%d items, %v", len(items), err)
	}
}

// A valid record without anything to answer is an Empty with the reason.
func TestEmpty(t *testing.T) {
	for value, want := range map[string]string{
		`{"id":"1","objects":[]}`: NoObjects, `{"id":"1","objects":[{"id":"3"},{"id":"4"}]}`: NoEmbeddings,
		message(1, "4.0", 2, "252", 5, message(1, "3")): NoEmbeddings, message(1, "4.0", 2, "252"): NoObjects,
	} {
		items, err := decoder(t, Options{Format: "nv"}).Decode(context.Background(), rawRecord(value), nil)
		var empty *Empty
		if len(items) != 0 || !errors.As(err, &empty) || empty.Reason != want {
			t.Errorf("%q: %d items, %v", value, len(items), err)
		}
	}
}

func TestCloudEvents(t *testing.T) {
	event := func(rest string) string {
		return `{"specversion":"1.0","id":"e1","source":"/belt","type":"embedding","time":"2026-01-02T03:04:05Z",` +
			rest + `}`
	}
	encoded := base64.StdEncoding.EncodeToString([]byte(floats(1, 2)))
	binary := []string{"ce_specversion", "1.0", "ce_id", "e1", "ce_time", "2026-01-02T03:04:05Z"}
	for name, r := range map[string]*Raw{
		"json data": rawRecord(event(`"data":{"vector":[1,2]}`)),
		"typed": rawRecord(event(`"data":{"vector":[1,2]}`), "content-type",
			"application/cloudevents+json; charset=utf-8"),
		"raw data": rawRecord(event(`"datacontenttype":"application/octet-stream","data_base64":"` + encoded +
			`"`)),
		"json as raw": rawRecord(event(`"data_base64":"` +
			base64.StdEncoding.EncodeToString([]byte(`{"vector":[1,2]}`)) + `"`)),
		"bare vector": rawRecord(event(`"data":[1,2]`)),
		"bare base64": rawRecord(event(`"data":"` + encoded + `"`)),
		"binary json": rawRecord(`{"vector":[1,2]}`, append(binary, "content-type", "application/json")...),
		"binary raw":  rawRecord(floats(1, 2), append(binary, "content-type", "application/octet-stream")...),
	} {
		item := one(t, Options{}, r)
		if item.ItemID != "e1" || !item.Time.Equal(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)) ||
			item.Stream != "cam-7" {
			t.Errorf("%s: %+v", name, item)
		}
		checkVector(t, item.Vector, 1, 2)
	}
	frame := rawRecord(event(`"data":` + frameJSON))
	if items, err := decoder(t, Options{Format: "cloudevents"}).Decode(context.Background(), frame,
		nil); err != nil || len(items) != 2 || items[0].ItemID != "3" {
		t.Errorf("frame in an event: %v, %v", items, err)
	}
	inner := one(t, Options{}, rawRecord(event(`"data":{"id":"own","time":5,"vector":[1]}`)))
	if inner.ItemID != "own" || !inner.Time.Equal(time.Unix(5, 0)) {
		t.Errorf("the data's own id and time stand above the event's: %+v", inner)
	}
}

func TestStreamBy(t *testing.T) {
	value := `{"vector":[1],"room":"hall","attributes":{"floor":2}}`
	for by, want := range map[string]string{
		"": "cam-7", "key": "cam-7", "partition": "in/3", "header:zone": "north", "header:none": "in/3",
		"field:room": "hall", "field:floor": "2", "field:none": "in/3",
	} {
		if got := one(t, Options{StreamBy: by}, rawRecord(value, "zone", "north")).Stream; got != want {
			t.Errorf("stream-by %q: %q, not %q", by, got, want)
		}
	}
	r := rawRecord(value)
	r.Key = []byte{0, 0, 0xff, 7}
	if got := one(t, Options{}, r).Stream; got != "0x0000ff07" {
		t.Errorf("binary key: %q", got)
	}
	r.Key = nil
	if got := one(t, Options{}, r).Stream; got != "in/3" {
		t.Errorf("no key: %q", got)
	}
	for _, by := range []string{"keys", "header:", "field", "partition:1"} {
		if _, err := NewDecoder(Options{StreamBy: by}); err == nil {
			t.Errorf("stream-by %q was accepted", by)
		}
	}
}

// Malformed records of every format are rejected with their fault and a reason, and the decoder continues.
func TestPoison(t *testing.T) {
	event := `{"specversion":"1.0","id":"1",`
	for _, c := range []struct {
		name, format, value string
		fault               Fault
		reason              string
	}{
		{"empty", "auto", "", Unreadable, "empty"},
		{"cut JSON", "auto", `{"vector":[1,2`, Unreadable, "not JSON"},
		{"text", "auto", "hello, world", Unreadable, "not JSON"},
		{"trailing", "json", `{"vector":[1,2]} x`, Unreadable, "the end"},
		{"array", "json", `[1,2]`, Unreadable, "an object"},
		{"no vector", "json", `{"id":"x"}`, Unreadable, "no vector"},
		{"null vector", "json", `{"vector":null}`, Unreadable, "no vector"},
		{"word in vector", "json", `{"vector":[1,"2"]}`, Unreadable, "a list of numbers"},
		{"NaN", "json", `{"vector":[1,NaN]}`, BadValue, "vector[1] is NaN"},
		{"infinity", "json", `{"vector":[-Infinity,1]}`, BadValue, "vector[0] is -Infinity"},
		{"beyond float32", "json", `{"vector":[1,1e39]}`, BadValue, "1e39"},
		{"null number", "json", `{"vector":[1,null]}`, BadValue, "vector[1] is null"},
		{"leading zero", "json", `{"vector":[01,1]}`, Unreadable, "not JSON"},
		{"zero", "json", `{"vector":[0,0]}`, BadValue, "zero"},
		{"empty vector", "json", `{"vector":[]}`, WrongDimension, "dimension 0"},
		{"dimension", "json", `{"vector":[1,2,3]}`, WrongDimension, "dimension 3, not 2"},
		{"base64", "json", `{"vector":"!!!"}`, Unreadable, "base64"},
		{"base64 cut", "json", `{"vector":"AAA="}`, Unreadable, "2 bytes"},
		{"time", "json", `{"vector":[1,2],"time":"yesterday"}`, Unreadable, "yesterday"},
		{"label", "json", `{"vector":[1,2],"label":["a"]}`, Unreadable, "label"},
		{"attributes", "json", `{"vector":[1,2],"attributes":{"a":}}`, Unreadable, "a value"},
		{
			"deep", "json", `{"vector":[1,2],"x":` + strings.Repeat("[", 99999) + `}`, Unreadable,
			"within each other",
		},
		{
			"long label", "json", `{"vector":[1,2],"label":"` + strings.Repeat("l", 2000) + `"}`, TooLarge,
			"label is 2000",
		},
		{"huge", "json", strings.Repeat(" ", 16<<20+1), TooLarge, "bytes long"},
		{"unknown bytes", "auto", floats(1, 2), Unreadable, "--format f32"},
		{"unknown bytes of an event", "cloudevents", event + `"data_base64":"` +
			base64.StdEncoding.EncodeToString([]byte(floats(1, 2))) + `"}`, Unreadable, "content-type"},
		{"float64", "f32", floats(1, 2, 3, 4), WrongDimension, "2 float64"},
		{"float16", "f32", floats(1), WrongDimension, "2 float16"},
		{"float64 in base64", "json", `{"vector":"` +
			base64.StdEncoding.EncodeToString([]byte(floats(1, 2, 3, 4))) + `"}`, WrongDimension, "2 float64"},
		{"odd bytes", "f32", "abcde", Unreadable, "5 bytes"},
		{"odd half", "f16", "abc", Unreadable, "3 bytes"},
		{"raw NaN", "f32", floats(1, float32(math.NaN())), BadValue, "vector[1] is NaN"},
		{"raw inf", "f32", floats(float32(math.Inf(-1)), 1), BadValue, "vector[0] is -Inf"},
		{"raw zero", "f32", floats(0, 0), BadValue, "zero"},
		{"raw length", "f32", floats(3e38, 3e38), BadValue, "length"},
		{"raw dimension", "f32", floats(1, 2, 3), WrongDimension, "dimension 3, not 2"},
		{"protobuf", "nv", "\xff\xff", Unreadable, "not nv.Frame"},
		{"protobuf cut", "nv", frameProtobuf()[:20], Unreadable, "not nv.Frame"},
		{"protobuf embedding", "nv", message(5, message(6, message(1, "abc"))), Unreadable, "object 0: embedding"},
		{"protobuf no numbers", "nv", message(5, message(6, "")), WrongDimension, "dimension 0"},
		{"objects", "json", `{"objects":5}`, Unreadable, "objects"},
		{"no event", "cloudevents", `{"vector":[1,2]}`, Unreadable, "specversion"},
		{"event without data", "auto", event + `"x":1}`, Unreadable, "no data"},
		{"event in event", "auto", event + `"data":` + event + `"data":{"vector":[1,2]}}}`, Unreadable, "within"},
		{"event base64", "auto", event + `"data_base64":"*"}`, Unreadable, "data_base64"},
	} {
		d := decoder(t, Options{Format: c.format, Dimension: 2})
		items, err := d.Decode(context.Background(), rawRecord(c.value), nil)
		var rejection *Rejection
		if !errors.As(err, &rejection) || rejection.Fault != c.fault ||
			!strings.Contains(rejection.Reason, c.reason) || len(items) != 0 {
			t.Errorf("%s: %d items, %v; want %s about %q", c.name, len(items), err, c.fault, c.reason)
		}
		if items, err := d.Decode(context.Background(), rawRecord(`{"vector":[1,2]}`, "content-type",
			"application/json"), nil); err != nil || len(items) != 1 {
			t.Errorf("%s: the next record: %v", c.name, err)
		}
	}
}

func TestMarker(t *testing.T) {
	r := rawRecord("", MarkerHeader, "")
	d := decoder(t, Options{})
	if items, err := d.Decode(context.Background(), r, nil); err != nil || len(items) != 0 || !r.Marker() ||
		d.Stream(r) != "cam-7" {
		t.Errorf("a bare marker: %v, %v", items, err)
	}
}

func TestInvalidTextStaysJSON(t *testing.T) {
	item := one(t, Options{}, rawRecord("{\"id\":\"a\xff\",\"vector\":[1],\"attributes\":{\"x\":\"\xff\"}}"))
	result := AppendResult(nil, &Result{
		ID: item.Source.ID(), ItemID: item.ItemID, Attributes: item.Attributes,
		Time: item.Time,
	})
	if !json.Valid(result) || !strings.Contains(string(result), "\ufffd") {
		t.Errorf("%q", result)
	}
}
