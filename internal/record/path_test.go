package record

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPaths(t *testing.T) {
	value := `{"at":1772600767,"data":{"camera":"gate","k":1,"items":[{"id":"a","embedding":[1,2],"about":{"label":"x"}},{"embedding":[3,4],"id":7}],"other":[1,[2]]}}`
	items, err := decoder(t, Options{Paths: Paths{
		Vector: "data.items[].embedding", ID: "data.items[].id", Time: "at", Label: "data.items[].about.label",
		Stream: "data.camera",
	}}).Decode(context.Background(), rawRecord(value), nil)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	a, b := items[0], items[1]
	if a.ItemID != "a" || a.Label != "x" || a.Stream != "gate" || !a.Time.Equal(time.Unix(1772600767, 0)) ||
		a.Source.ID() != "in/3/42/0" {
		t.Errorf("%+v", a)
	}
	if b.ItemID != "7" || b.Label != "" || b.Stream != "gate" || b.Source.ID() != "in/3/42/1" {
		t.Errorf("%+v", b)
	}
	checkVector(t, a.Vector, 1, 2)
	checkVector(t, b.Vector, 3, 4)
	for _, c := range []struct {
		paths Paths
		value string
		want  [][]float32
	}{
		{Paths{Vector: "emb"}, `{"emb":[1,2],"vector":[9]}`, [][]float32{{1, 2}}},
		{Paths{Vector: "a.b.c"}, `{"a":{"x":[],"b":{"c":[1,2]}}}`, [][]float32{{1, 2}}},
		{Paths{Vector: `a\.b`}, `{"a.b":"AACAPwAAAEA=","a":{"b":[3]}}`, [][]float32{{1, 2}}},
		{Paths{Vector: "lists[]"}, `{"lists":[[1,2],[3,4]]}`, [][]float32{{1, 2}, {3, 4}}},
		{
			Paths{Vector: "a[].b[].v"},
			`{"a":[{"b":[{"v":[1]},{"v":[2]}]},{"b":[]},{"b":[{"v":[3]}]},{}]}`,
			[][]float32{{1}, {2}, {3}},
		},
		{Paths{Vector: "a[][]"}, `{"a":[[[1],[2]],[[3]]]}`, [][]float32{{1}, {2}, {3}}},
	} {
		items, err := decoder(t, Options{Paths: c.paths}).Decode(context.Background(), rawRecord(c.value), nil)
		if err != nil || len(items) != len(c.want) {
			t.Errorf("%+v: %d items, %v", c.paths, len(items), err)
			continue
		}
		for i := range items {
			checkVector(t, items[i].Vector, c.want[i]...)
		}
	}
}

// Frame, track and attributes have paths too. Attributes may contain other fields and may be of any type.
func TestPathsOfFrames(t *testing.T) {
	paths := Paths{
		Vector: "boxes[].v", ID: "boxes[].about.id", Label: "boxes[].about.name", Frame: "picture",
		Track:      "boxes[].track",
		Attributes: "boxes[].about",
	}
	value := `{"picture":9,"boxes":[{"v":[1,2],"track":"t1","about":{"id":"a","box":[1,2,3,4],"name":"x"}},` +
		`{"about":{"id":"b"},"v":[3,4],"track":7},{"v":[5,6],"about":"none"},{"v":[7,8],"about":null}]}`
	items, err := decoder(t, Options{Paths: paths}).Decode(context.Background(), rawRecord(value), nil)
	if err != nil || len(items) != 4 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for i, want := range []struct{ id, label, track, attributes string }{
		{"a", "x", "t1", `{"id":"a","box":[1,2,3,4],"name":"x"}`},
		{"b", "", "7", `{"id":"b"}`},
		{"", "", "", `"none"`},
		{},
	} {
		item := items[i]
		if item.Frame != "9" || item.Track != want.track || item.ItemID != want.id || item.Label != want.label ||
			string(item.Attributes) != want.attributes {
			t.Errorf("%+v, want %+v", item, want)
		}
	}
}

// Rejections name the fault so that the path or the sender can be corrected.
func TestPathsRefuse(t *testing.T) {
	list := Paths{Vector: "items[].v", ID: "items[].id", Time: "at"}
	for _, c := range []struct {
		paths         Paths
		value, reason string
		items         int
	}{
		{list, `{"vector":[1,2]}`, "nothing at vector-field items[].v", 0},
		{Paths{Vector: "embedding"}, `{"emb":[1,2]}`, "nothing at vector-field embedding", 0},
		{list, `{"items":{"v":[1]}}`, "an object where [] reads a list", 0},
		{
			list, `{"items":[{"v":[1,2]},{"id":"b"},{"v":[0,0]},{"v":[1,2],"id":[]},{"v":5}]}`,
			"object 1: nothing at vector-field items[].v; object 2: the vector is zero; object 3: id-field is neither",
			1,
		},
		{list, `{"items":[{"v":[1,2]}`, "not JSON", 0},
		{list, `{"at":"soon","items":[{"v":[1,2]}]}`, "time-field", 0},
		{list, `{"at":[],"items":[{"v":[1,2]},{"v":[3,4]}]}`, "time-field", 0},
		{list, `{"items":[{"v":[1,2]}],"at":{}}`, "time-field", 0},
		{Paths{Vector: "v"}, `{"v":[[1,2],[3,4]]}`, "let --vector-field end in []", 0},
		{Paths{Vector: "v"}, `{"v":[1,2]} {}`, "a second object", 0},
		{Paths{Vector: "v"}, `{"v":5}`, "the vector is 5: a list of numbers", 0},
		{Paths{Vector: "v"}, `{"v":true}`, "the vector is true: a list of numbers", 0},
		{Paths{Vector: "v"}, `{"v":"u0"}`, `the vector is "u0", 1 bytes are not`, 0},
		{Paths{Vector: "v"}, `{"v":{"values":[1,2]}}`, "the vector is an object: a list of numbers", 0},
	} {
		items, err := decoder(t, Options{Paths: c.paths, Format: "json"}).Decode(context.Background(),
			rawRecord(c.value), nil)
		if err == nil || !strings.Contains(err.Error(), c.reason) || len(items) != c.items {
			t.Errorf("%s: %d items, %v; want %q", c.value, len(items), err, c.reason)
		}
	}
	_, err := decoder(t, Options{Paths: list}).Decode(context.Background(), rawRecord(`{"items":[]}`), nil)
	if empty, ok := err.(*Empty); !ok || empty.Reason != NoObjects {
		t.Errorf("an empty list: %v", err)
	}
	for _, p := range []Paths{
		{Vector: "a..b"},
		{Vector: "a.[]"},
		{Vector: "a[]b"},
		{Vector: "a."},
		{Vector: "a", ID: "b[].c"},
		{Vector: "a", ID: "a"},
		{Vector: "a[].v", ID: "b[].id"},
		{Vector: "a", ID: "b", Label: "b"},
		{Vector: "a[].v", Attributes: "a[]"},
		{Vector: "a.b.v", Attributes: "a.b"},
	} {
		if _, err := NewDecoder(Options{Paths: p}); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
}

// Records of the labels topic may have the sender's format or the default one.
func TestLabelsByPaths(t *testing.T) {
	d := decoder(t, Options{Paths: Paths{Vector: "emb", Label: "class", ID: "key"}})
	for _, value := range []string{
		`{"emb":[1,2],"class":"milk","key":"e1"}`,
		`{"id":"e1","label":"milk","vector":[1,2]}`,
	} {
		l, err := d.DecodeLabel(context.Background(), rawRecord(value))
		if err != nil || l.Teach == nil || l.Teach.Label != "milk" {
			t.Errorf("%s: %+v, %v", value, l, err)
		}
	}
}

// A field without a path has its usual name; one that is nowhere is not read, in any form, but of examples.
func TestFieldsWithoutPaths(t *testing.T) {
	const value = `{"id":"a","label":"milk","time":"2026-03-04T05:06:07Z","camera":"c","vector":[1,2],"model":"m"}`
	got := one(t, Options{Paths: Paths{Stream: "camera"}}, rawRecord(value))
	if got.ItemID != "a" || got.Label != "milk" || got.Stream != "c" || got.Model != "m" || got.Time.Year() != 2026 {
		t.Errorf("%+v", got)
	}
	for _, p := range []Paths{{Label: Nowhere}, {Label: Nowhere, Vector: "vector"}} {
		if got := one(t, Options{Paths: p}, rawRecord(value)); got.Label != "" || got.ItemID != "a" {
			t.Errorf("%+v: %+v", p, got)
		}
		l, err := decoder(t, Options{Paths: p}).DecodeLabel(context.Background(), rawRecord(value))
		if err != nil || l.Teach == nil || l.Teach.Label != "milk" {
			t.Errorf("%+v: %+v, %v", p, l, err)
		}
	}
	list := Paths{Vector: "items[].v"}
	got = one(t, Options{Paths: list}, rawRecord(`{"id":"frame","label":"milk","items":[{"v":[1,2]}]}`))
	if got.ItemID != "" || got.Label != "milk" {
		t.Errorf("outside of the list: %+v", got)
	}
}

// What items share is repeated in the result of each: a record of megabytes does not become results of gigabytes.
func TestSharedAttributesAreBounded(t *testing.T) {
	paths := Paths{Vector: "boxes[].v", Attributes: "about"}
	for objects, refused := range map[int]bool{60: false, 70: true} {
		value := `{"about":"` + strings.Repeat("a", 1<<20) + `","boxes":[{"v":[1,2]}` + strings.Repeat(`,{"v":[1,2]}`, objects-1) + `]}`
		items, err := decoder(t, Options{Paths: paths}).Decode(context.Background(), rawRecord(value), nil)
		var rejection *Rejection
		if tooLarge := errors.As(err, &rejection) && rejection.Fault == TooLarge; tooLarge != refused ||
			!refused && len(items) != objects {
			t.Errorf("%d objects: %d items, %v", objects, len(items), err)
		}
	}
}
