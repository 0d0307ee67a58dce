package record

import (
	"context"
	"strings"
	"testing"
)

// An order is read back as it was written, and its Resume record has its key.
func TestOrders(t *testing.T) {
	d, err := NewDecoder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	three := int32(3)
	seen := map[string]bool{}
	for _, o := range []Order{
		{},
		{Stream: "cam/7"},
		{Partition: &three},
		{Partition: &three, Topic: "in"},
		{Skip: "in/0/4"},
		{Skip: "in/0/4/2"},
	} {
		out := o.Record("labels")
		l, err := d.DecodeLabel(context.Background(), &Raw{Key: out.Key, Value: out.Value, Headers: out.Headers})
		if err != nil || l.Order == nil || l.Order.What() != o.What() || l.Key != o.Key() || seen[l.Key] {
			t.Errorf("%s: %+v, %v", o.What(), l, err)
		}
		seen[l.Key] = true
		for name, raw := range map[string]*Raw{
			"resume":    {Key: out.Key, Headers: o.Resume("labels").Headers},
			"tombstone": {Key: out.Key},
			"by value":  {Value: out.Value, Headers: []Header{{ControlHeader, []byte(ControlResume)}}},
		} {
			if l, err = d.DecodeLabel(context.Background(), raw); err != nil ||
				l.Forget != o.Key() || !IsOrder(l.Forget) {
				t.Errorf("%s, %s: %+v, %v", o.What(), name, l, err)
			}
		}
	}
	other := (&Order{Stream: "b"}).Record("labels")
	for _, kind := range []string{ControlPause, ControlResume} {
		raw := &Raw{
			Key: []byte("a key of my own"), Value: other.Value, Headers: []Header{{ControlHeader, []byte(kind)}},
		}
		if l, err := d.DecodeLabel(context.Background(), raw); err == nil || !strings.Contains(err.Error(),
			`is not that of the order, "slkstream-order/stream/b"`) {
			t.Errorf("%s under another key: %+v, %v", kind, l, err)
		}
	}
	for kind, values := range map[string][]string{
		ControlPause: {
			`{`, `{"id":"in/0/1"}`, `{"stream":"a","partition":1}`,
			`{"stream":"` + strings.Repeat("a", 2000) + `"}`,
		},
		ControlSkip: {
			``, `{}`, `{"id":"in"}`, `{"id":"in/0"}`, `{"id":"in/0/x"}`,
			`{"id":"in/-1/2"}`, `{"id":"in/0/1/2/3"}`, `{"id":"/0/1"}`,
		},
		"stop": {`{}`},
	} {
		for _, value := range values {
			raw := &Raw{Value: []byte(value), Headers: []Header{{ControlHeader, []byte(kind)}}}
			if l, err := d.DecodeLabel(context.Background(), raw); err == nil {
				t.Errorf("%s %.40s is taken for %+v", kind, value, l)
			}
		}
	}
}

// ParseID returns the source that an id was made from.
func TestParseID(t *testing.T) {
	for _, want := range []Source{{"in", 0, 4, -1}, {"a.b", 1<<31 - 1, 1<<63 - 1, 0}, {"in", 3, 0, 7}} {
		if got, ok := ParseID(want.ID()); !ok || got != want {
			t.Errorf("%s: %+v, %t", want.ID(), got, ok)
		}
	}
}
