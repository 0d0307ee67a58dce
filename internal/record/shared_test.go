package record

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

// What a record says once takes memory once, however many objects it has.
func TestManyObjectsShareWhatIsSaidOnce(t *testing.T) {
	const objects, length = 1000, 50_000
	long := strings.Repeat("0", length)
	list := func(object string) string { return "[" + strings.Repeat(object+",", objects-1) + object + "]" }
	frame := `{"id":"f","sensorId":"s","objects":` + list(`{"id":"1","embedding":{"vector":[1,2]}}`) + `}`
	mapped := Options{Paths: Paths{Vector: "items[].v", Attributes: "about"}}
	for name, c := range map[string]struct {
		options Options
		value   string
		headers []Header
		items   int
	}{
		"trace": {
			value: frame, items: objects,
			headers: []Header{{"traceparent", []byte("p")}, {"tracestate", []byte(long)}},
		},
		"attributes": {
			options: mapped, value: `{"about":"` + long + `","items":` + list(`{"v":[1,2]}`) + `}`, items: objects,
		},
		"timestamp": {
			value: `{"source":"x","timestamp":"` + long + `1","objects":` + list(`{"tensors":[{"data":[1,2]}]}`) + `}`,
		},
	} {
		d, err := NewDecoder(c.options)
		if err != nil {
			t.Fatal(err)
		}
		raw := rawRecord(c.value)
		raw.Headers = c.headers
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		items, err := d.Decode(context.Background(), raw, nil)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; len(items) != c.items || took > 10*length+objects*2000 {
			t.Errorf("%s: %d items in %d bytes: %.200v", name, len(items), took, err)
		}
	}
}

// A reset is kept as long as the stage runs, so its names are bounded like all others.
func TestResetOfALongNameIsRefused(t *testing.T) {
	d, err := NewDecoder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for length, want := range map[int]bool{longestName: true, longestName + 1: false} {
		long := strings.Repeat("x", length)
		for _, r := range []Reset{{Stream: long}, {Class: long}} {
			out := ResetRecord("labels", r)
			raw := &Raw{Topic: "labels", Key: out.Key, Value: out.Value, Headers: out.Headers}
			if _, err := d.DecodeLabel(context.Background(), raw); (err == nil) != want {
				t.Errorf("%d bytes: %v", length, err)
			}
		}
	}
}
