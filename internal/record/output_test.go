package record

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
)

func answer() *Result {
	return &Result{
		ID: "in/0/7", Stream: `cam "7"`, Episode: 3, Label: "milk", Confidence: .5, Calibrated: true, Time: when,
		Vector:       AppendVector(nil, []float32{1, -2.5}),
		Alternatives: []Alternative{{"juice", .25}}, Attributes: json.RawMessage(`{"shelf":7}`),
		Source: ResultSource{"in", 0, 7},
	}
}

// A CloudEvent can be read by the decoder here, and contains the unchanged result.
func TestResultEvent(t *testing.T) {
	r := answer()
	b := ResultEvent().Append([]byte("x"), r)[1:]
	var event struct {
		SpecVersion, ID, Source, Type, Subject string
		Data                                   Result
	}
	if err := json.Unmarshal(b, &event); err != nil || event.SpecVersion != "1.0" || event.ID != "in/0/7" ||
		event.Source != "/in/0" || event.Type != "slkstream.result" || event.Subject != `cam "7"` {
		t.Errorf("%s: %v", b, err)
	}
	if string(AppendResult(nil, &event.Data)) != string(AppendResult(nil, r)) {
		t.Errorf("%s", b)
	}
	item := one(t, Options{}, rawRecord(string(b), "content-type", ResultEvent().ContentType))
	checkVector(t, item.Vector, 1, -2.5)
}

func TestResultTemplate(t *testing.T) {
	for template, want := range map[string]string{
		`{"id":"${uuid}"}`:                             `{"id":"UUID"}`,
		`{"v":"${vector}","x":1}`:                      `{"v":[1,-2.5],"x":1}`,
		`["${episode}","${unknown}","${confidence}"]`:  `[3,false,0.5]`,
		`{"a":"${attributes}","b":"${alternatives}"}`:  `{"a":{"shelf":7},"b":[{"label":"juice","confidence":0.25}]}`,
		`{"t":"${stream} said ${label} (${episode})"}`: `{"t":"cam \"7\" said milk (3)"}`,
		`{"t":"${attributes}!"}`:                       `{"t":"{\"shelf\":7}!"}`,
		`{"s":["${source.topic}","${source.offset}"]}`: `{"s":["in",7]}`,
		`{"${label}":"${time}"}`:                       `{"milk":"2026-03-04T05:06:07.8Z"}`,
		`{"t":"is \"${confidence}\" sure"}`:            `{"t":"is \"0.5\" sure"}`,
		`{"t":"\"${confidence}"}`:                      `{"t":"\"0.5"}`,
		`{"b":"${vectorBase64}"}`:                      `{"b":"AACAPwAAIMA="}`,
	} {
		form, err := ResultTemplate(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		got := string(form.Append(nil, answer()))
		if strings.Contains(want, "UUID") {
			var made struct{ ID string }
			if err := json.Unmarshal([]byte(got), &made); err != nil || len(made.ID) != 36 || made.ID[14] != '5' ||
				got != string(form.Append(nil, answer())) {
				t.Errorf("%s: %s, %v", template, got, err)
			}
			continue
		}
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s, not\n%s", template, got, want)
		}
		if form.Vector != strings.Contains(template, "vector") {
			t.Errorf("%s: vector %v", template, form.Vector)
		}
	}
	form, err := ResultTemplate(`{"all":"${result}"}`)
	if err != nil {
		t.Fatal(err)
	}
	bare := answer()
	bare.Vector = nil
	if got := string(form.Append(nil, answer())); got != `{"all":`+string(AppendResult(nil, bare))+`}` {
		t.Error(got)
	}
	for _, template := range []string{``, `{"a":}`, `{"a":"${nothing}"}`, `{"a":"${id"}`, `{} {}`} {
		if _, err := ResultTemplate(template); err == nil {
			t.Errorf("%q was accepted", template)
		}
	}
}

// A result that is too large is written without its vector, which a header lists.
func TestFallbackWithoutVector(t *testing.T) {
	r := answer()
	r.Attributes = nil
	r.Vector = AppendVector(nil, ones(1<<19))
	f := &ResultFallback{Item: &Item{}, Result: r, Dead: "dead", Encode: AppendResult}
	less, ok := f.Instead(Out{Value: AppendResult(nil, r)}, context.Canceled, 0)
	left := Raw{Headers: less.Headers}
	if header, _ := left.Header(LeftOutHeader); !ok || string(header) != "vector" || len(less.Value) > 1000 {
		t.Errorf("%v, %q, %d bytes", ok, header, len(less.Value))
	}
}
