package record

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// examples returns the JSON blocks of a page of the docs, by the second word after the fence.
func examples(t *testing.T, page string) map[string][]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for i, block := range strings.Split(string(b), "```") {
		kind, text, _ := strings.Cut(block, "\n")
		if kind, ok := strings.CutPrefix(kind, "json "); ok && i%2 == 1 {
			found[kind] = append(found[kind], text)
		}
	}
	return found
}

// same decodes an example strictly into a T, and compares the output of write with the example.
func same[T any](t *testing.T, example string, write func([]byte, *T) []byte) {
	t.Helper()
	var value T
	strict := json.NewDecoder(strings.NewReader(example))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&value); err != nil {
		t.Errorf("%s: %v", example, err)
		return
	}
	var before, after any
	if err := json.Unmarshal([]byte(example), &before); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(write(nil, &value), &after); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("the example\n%s\nis written as\n%s", example, write(nil, &value))
	}
}

// The code reads and writes every example of docs/formats.md.
func TestDocs(t *testing.T) {
	found := examples(t, "formats.md")
	for kind, items := range map[string]int{
		"record": 1, "frame": 2, "event": 1, "streamer": 1,
		"items": 2,
	} {
		if len(found[kind]) == 0 {
			t.Errorf("no example of a %s", kind)
		}
		for _, example := range found[kind] {
			o := Options{Dimension: 3}
			if kind == "items" {
				o.Paths = Paths{
					Vector: "data.items[].embedding", ID: "data.items[].id", Time: "at",
					Stream: "data.camera",
				}
			}
			got, err := decoder(t, o).Decode(context.Background(), rawRecord(example), nil)
			if err != nil || len(got) != items {
				t.Errorf("%s\n%d items, %v", example, len(got), err)
			}
		}
	}
	full := one(t, Options{}, rawRecord(found["record"][0]))
	if full.ItemID == "" || full.Stream != "cam-7" || full.Label != "milk" || full.Model == "" ||
		full.Attributes == nil || !full.Time.Equal(when) {
		t.Errorf("%+v", full)
	}
	checkVector(t, one(t, Options{}, rawRecord(found["record"][1])).Vector, .12, -.5, .031)
	for _, example := range found["event"] {
		got := one(t, Options{}, rawRecord(example))
		if !strings.HasPrefix(got.ItemID, "e-") {
			t.Errorf("%+v", got)
		}
		checkVector(t, got.Vector, .12, -.5, .031)
	}
	for _, kind := range []string{"result", "episode", "sighting", "review", "correction", "label", "rejection", "name", "reset"} {
		if len(found[kind]) != 1 {
			t.Fatalf("%d examples of a %s", len(found[kind]), kind)
		}
	}
	same(t, found["result"][0], AppendResult)
	same(t, found["vector"][0], AppendResult)
	form, err := ResultTemplate(found["template"][0])
	if err != nil {
		t.Fatal(err)
	}
	same(t, found["point"][0], func([]byte, *map[string]any) []byte {
		var r Result
		if err := json.Unmarshal([]byte(found["vector"][0]), &r); err != nil {
			t.Fatal(err)
		}
		return form.Append(nil, &r)
	})
	same(t, found["episode"][0], AppendEpisode)
	same(t, found["sighting"][0], func(_ []byte, s *Sighting) []byte { return s.Record("").Value })
	same(t, found["review"][0], AppendReview)
	same(t, found["correction"][0], func(_ []byte, c *Correction) []byte { return c.Out("", nil).Value })
	d := decoder(t, Options{})
	label, err := d.DecodeLabel(context.Background(),
		&Raw{Key: []byte("example-1"), Value: []byte(found["label"][0])})
	if err != nil || label.Teach == nil || label.Teach.ItemID != "example-1" || label.Teach.Stream != "cam-7" {
		t.Errorf("%+v, %v", label, err)
	}
	rejection, err := d.DecodeLabel(context.Background(), &Raw{Key: []byte("i"), Value: []byte(found["rejection"][0])})
	if err != nil || rejection.Not == nil || rejection.Not.Stream != "cam-7" || rejection.By != "kim" {
		t.Errorf("%+v, %v", rejection, err)
	}
	for _, key := range []string{"name:cluster-17", "name:cluster-17/cam-7"} {
		name, err := d.DecodeLabel(context.Background(), &Raw{Key: []byte(key), Value: []byte(found["name"][0])})
		if err != nil || name.Name == nil || name.Name.Into != "anna" || name.Key != key {
			t.Errorf("%+v, %v", name, err)
		}
	}
	reset, err := d.DecodeLabel(context.Background(), &Raw{
		Value:   []byte(found["reset"][0]),
		Headers: []Header{{ControlHeader, []byte(ControlReset)}},
	})
	if err != nil || reset.Reset == nil || *reset.Reset != (Reset{"cam-7", "milk"}) {
		t.Errorf("%+v, %v", reset, err)
	}
	taught := one(t, Options{}, rawRecord(string(bytes.Replace([]byte(found["review"][0]), []byte(`{"id"`),
		[]byte(`{"label": "milk", "id"`), 1))))
	if taught.Label != "milk" {
		t.Errorf("a review with a label: %+v", taught)
	}
}

// docs/formats.md lists the fields of a result as names for a form of one's own.
func TestNamesOfTheDocs(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, names, _ := strings.Cut(string(page), "Names are ")
	names, _, _ = strings.Cut(names, "```")
	for _, f := range ResultFields {
		if !f.NoAvro && !strings.Contains(names, "`"+f.Name+"`") && !strings.Contains(names, "`"+f.Name+".") {
			t.Errorf("the page does not name %s", f.Name)
		}
	}
}
