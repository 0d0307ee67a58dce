package record

import (
	"context"
	"strings"
	"testing"
)

// Frame and track are read in every format that can carry them.
func TestFrameAndTrack(t *testing.T) {
	event := `{"specversion":"1.0","id":"e1","frame":"f1","track":7,"data":{"vector":[1,2]}}`
	for name, r := range map[string]*Raw{
		"json":         rawRecord(`{"vector":[1,2],"frame":"f1","track":7}`),
		"raw":          rawRecord(floats(1, 2), "content-type", "application/x-f32", "frame", "f1", "track", "7"),
		"event":        rawRecord(event),
		"binary event": rawRecord(`{"vector":[1,2]}`, "ce_specversion", "1.0", "ce_frame", "f1", "ce_track", "7"),
	} {
		if item := one(t, Options{Dimension: 2}, r); item.Frame != "f1" || item.Track != "7" {
			t.Errorf("%s: frame %q, track %q", name, item.Frame, item.Track)
		}
	}
	if item := one(t, Options{}, rawRecord(`{"vector":[1,2]}`)); item.Frame != "" || item.Track != "" {
		t.Errorf("a record without either: frame %q, track %q", item.Frame, item.Track)
	}
}

// The frame of an nv.Frame's objects is its id, or, if it has none, the record's position. Their own ids are
// tracks with the setting TrackBy.
func TestObjectsShareTheirFrame(t *testing.T) {
	for _, value := range []string{frameJSON, frameProtobuf()} {
		for by, want := range map[string][2]string{"": {}, "record": {}, "object": {"3", "5"}} {
			items, err := decoder(t, Options{TrackBy: by}).Decode(context.Background(), rawRecord(value), nil)
			if err != nil || len(items) != 2 {
				t.Fatalf("%d items, %v", len(items), err)
			}
			for i, item := range items {
				if item.Frame != "252" || item.Track != want[i] {
					t.Errorf("track-by %q: frame %q, track %q", by, item.Frame, item.Track)
				}
			}
		}
	}
	nameless := one(t, Options{}, rawRecord(`{"objects":[{"id":"3","track":"t","embedding":[1,2]}]}`))
	if nameless.Frame != "in/3/42" || nameless.Track != "t" {
		t.Errorf("frame %q, track %q", nameless.Frame, nameless.Track)
	}
	long := strings.Repeat("f", 1025)
	for _, value := range []string{
		`{"id":"` + long + `","objects":[{"embedding":[1,2]}]}`,
		message(2, long, 5, message(6, message(1, floats(1, 2)))),
	} {
		if items, err := decoder(t, Options{}).Decode(context.Background(), rawRecord(value), nil); err == nil ||
			len(items) != 0 || !strings.Contains(err.Error(), "1025 bytes") {
			t.Errorf("a frame with a long id: %d items, %v", len(items), err)
		}
	}
	if _, err := NewDecoder(Options{TrackBy: "ids"}); err == nil {
		t.Error("track-by ids was accepted")
	}
}

// Headers attr-NAME of a raw record are its attributes. JSON values stay JSON.
func TestHeaderAttributes(t *testing.T) {
	r := rawRecord(floats(1, 2), "attr-box", "[1, 2,3.5]", "attr-name", `the "gate"`, "attr-", "x", "attr-n",
		" 7 ", "attr-bad", "\xff", "other", "y")
	item := one(t, Options{Format: "f32", StreamBy: "field:name"}, r)
	if want := `{"box":[1, 2,3.5],"name":"the \"gate\"","n":7,"bad":"\ufffd"}`; string(item.Attributes) != want {
		t.Errorf("attributes %s, not %s", item.Attributes, want)
	}
	if item.Stream != `the "gate"` {
		t.Errorf("stream %q", item.Stream)
	}
	if item := one(t, Options{Format: "f32"}, rawRecord(floats(1, 2))); item.Attributes != nil {
		t.Errorf("attributes %s without a header", item.Attributes)
	}
}
