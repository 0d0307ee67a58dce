package record

import (
	"context"
	"encoding/json"
	"strings"
)

// ControlHeader on a record of the labels topic makes it an order; ControlReset, its one value, makes streams
// forget.
const (
	ControlHeader = "slkstream-control"
	ControlReset  = "reset"
)

// Reset orders streams to forget what they have learned: one stream or all, one class or all.
type Reset struct {
	Stream string `json:"stream,omitempty"`
	Class  string `json:"class,omitempty"`
}

// Label is what a record of the labels topic says: exactly one of Teach, Forget and Reset is set.
type Label struct {
	Teach  *Item  // an example: ItemID its id, Stream the one stream it is for, or "" for all
	Forget string // the id of the example to forget
	Reset  *Reset
}

// DecodeLabel reads a record of the labels topic. What it cannot use it reports as a *Rejection or an *Empty;
// ctx is that of Decode.
func (d *Decoder) DecodeLabel(ctx context.Context, raw *Raw) (Label, error) {
	if raw.Rejected != nil {
		return Label{}, raw.Rejected
	}
	if control, ok := raw.Header(ControlHeader); ok {
		if string(control) != ControlReset {
			return Label{}, reject(Unreadable, "header %s: %q is not %s", ControlHeader, short(control), ControlReset)
		}
		r := &Reset{}
		if len(raw.Value) > 0 {
			if err := json.Unmarshal(raw.Value, r); err != nil {
				return Label{}, reject(Unreadable, "reset: %v", err)
			}
		}
		return Label{Reset: r}, nil
	}
	if len(raw.Value) == 0 {
		if len(raw.Key) == 0 {
			return Label{}, reject(Unreadable, "a tombstone without a key forgets nothing")
		}
		return Label{Forget: clean(raw.Key)}, nil
	}
	d.examples = true
	items, err := d.Decode(ctx, raw, nil)
	d.examples = false
	if err != nil {
		return Label{}, err
	}
	if len(items) != 1 {
		return Label{}, reject(Unreadable, "%d embeddings where one example should be", len(items))
	}
	item := items[0]
	if item.Label == "" {
		return Label{}, reject(Unreadable, "no label")
	}
	if len(raw.Key) > 0 {
		item.ItemID = clean(raw.Key) // compaction and tombstones go by the key
	}
	if item.ItemID == "" {
		item.ItemID = item.Source.ID()
	}
	return Label{Teach: &item}, nil
}

// Teach is the record that teaches an example: an item that has a label and an id. A stream makes it that
// stream's alone.
func Teach(topic string, e *Example) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(e.ID), Value: AppendExample(nil, e), Time: e.Time,
		Headers: []Header{{"content-type", []byte("application/json")}},
	}
}

// Forget is the record that makes the stage forget the example of that id.
func Forget(topic, id string) Out { return Out{Topic: topic, Partition: -1, Key: []byte(id)} }

// ResetRecord is the record that orders a reset.
func ResetRecord(topic string, r Reset) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(strings.Join([]string{ControlHeader, r.Stream, r.Class}, "/")),
		Value: appendJSON(nil, r), Headers: []Header{{ControlHeader, []byte(ControlReset)}},
	}
}
