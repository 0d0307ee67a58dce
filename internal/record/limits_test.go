package record

import (
	"context"
	"runtime"
	"strings"
	"testing"
)

// A record beyond the limits is rejected before memory is allocated for it.
func TestLimits(t *testing.T) {
	many := strings.Repeat(`{"embedding":[1,2]},`, mostObjects) + `{"embedding":[1,2]}`
	for name, r := range map[string]*Raw{
		"value":   rawRecord(strings.Repeat(" ", 1<<20+1)),
		"name":    rawRecord(`{"vector":[1,2],"frame":"` + strings.Repeat("f", longestName+1) + `"}`),
		"objects": rawRecord(`{"objects":[` + many + `]}`),
		"protobuf objects": rawRecord(message(5, message(6, message(1, floats(1, 2))))+
			strings.Repeat(message(5, ""), mostObjects), "content-type", "application/protobuf"),
		"dimension": rawRecord(`{"vector":[1` + strings.Repeat(",1", mostDimension) + `]}`),
		"key":       {Key: []byte(strings.Repeat("k", longestInKey+1)), Value: []byte(`{"vector":[1,2]}`)},
	} {
		items, err := decoder(t, Options{LongestValue: 1 << 20}).Decode(context.Background(), r, nil)
		rejection, refused := err.(*Rejection)
		if !refused || rejection.Fault != TooLarge || len(items) != 0 {
			t.Errorf("%s: %d items, %v", name, len(items), err)
		}
	}
	for _, o := range []Options{{Dimension: -1}, {Dimension: mostDimension + 1}} {
		if _, err := NewDecoder(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// A frame with an id of megabytes does not allocate the id for each of its objects.
func TestLongFrameIDCostsNothing(t *testing.T) {
	objects := strings.Repeat(message(5, message(1, "3", 6, message(1, floats(1, 2)))), 5000)
	value := message(2, strings.Repeat("f", 4<<20)) + objects
	r := rawRecord(value, "content-type", "application/protobuf")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	items, err := decoder(t, Options{}).Decode(context.Background(), r, nil)
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; err == nil || len(items) != 0 || spent > 1<<20 {
		t.Errorf("%d items, %v, %d bytes", len(items), err, spent)
	}
	r.Value = []byte(message(2, strings.Repeat("f", 1000)) + objects)
	runtime.ReadMemStats(&before)
	if items, err = decoder(t, Options{}).Decode(context.Background(), r, items); err != nil ||
		len(items) != 5000 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	runtime.ReadMemStats(&after)
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 32<<20 {
		t.Errorf("%d bytes for 5,000 objects", spent)
	}
	runtime.KeepAlive(items)
}
