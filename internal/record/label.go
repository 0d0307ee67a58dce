package record

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// ControlHeader on a record of the labels topic makes it an order: ControlReset makes streams forget, and see
// Order for others.
const (
	ControlHeader = "slkstream-control"
	ControlReset  = "reset"
)

// Reset orders streams to forget what they have learned: one stream or all, one class or all.
type Reset struct {
	Stream string `json:"stream,omitempty"`
	Class  string `json:"class,omitempty"`
}

// Label is what a record of the labels topic says: exactly one of Teach, Not, Name, Forget, Reset and
// Order is set.
type Label struct {
	Teach  *Item // an example: ItemID its id, Stream the one stream it is for, or "" for all
	Not    *NotThis
	Name   *Name
	Forget string // the key whose example, rejection or name no longer holds
	Reset  *Reset
	Order  *Order
	Key    string // the record's, which replaces what earlier records of that key said
	// Of an example, a rejection or a name, where the record says so:
	By string    // who
	At time.Time // when
}

// DecodeLabel reads a record of the labels topic. What it cannot use it reports as a *Rejection or an *Empty;
// ctx is that of Decode.
func (d *Decoder) DecodeLabel(ctx context.Context, raw *Raw) (Label, error) {
	if raw.Rejected != nil {
		return Label{}, raw.Rejected
	}
	if control, ok := raw.Header(ControlHeader); ok {
		switch kind := string(control); kind {
		case ControlPause, ControlResume, ControlSkip:
			return d.order(kind, raw)
		case ControlReset:
		default:
			return Label{}, reject(Unreadable, "header %s: %q is not known", ControlHeader, short(control))
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
	if bad := d.options.Limits.check(raw); bad != nil {
		return Label{}, bad
	}
	said := d.said(raw.Value)
	label := Label{Key: clean(raw.Key), By: said.by, At: said.at}
	var err error
	switch {
	case said.bad != nil:
		return Label{}, said.bad
	case said.name != nil && said.hasInto && !said.hasVector:
		label.Name, err = d.name(raw, &said)
	case said.not != nil:
		label.Not, err = d.notThis(ctx, raw, &said)
	default:
		label.Teach, err = d.example(ctx, raw)
		if err == nil && label.Teach.Label == "" {
			err = reject(Unreadable, "no label")
		}
	}
	if err != nil {
		return Label{}, err
	}
	return label, nil
}

// example decodes the one embedding of a record of the labels topic.
func (d *Decoder) example(ctx context.Context, raw *Raw) (*Item, error) {
	d.examples = true
	items, err := d.Decode(ctx, raw, nil)
	d.examples = false
	if err != nil {
		return nil, err
	}
	if len(items) != 1 {
		return nil, reject(Unreadable, "%d embeddings where one example should be", len(items))
	}
	item := &items[0]
	if len(raw.Key) > 0 {
		item.ItemID = clean(raw.Key) // compaction and tombstones go by the key
	}
	if item.ItemID == "" {
		item.ItemID = item.Source.ID()
	}
	return item, nil
}

// Teach is the record that teaches an example: an item that has a label and an id. A stream makes it that
// stream's alone.
func Teach(topic string, e *Example) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(e.ID), Value: AppendExample(nil, e), Time: e.Time,
		Headers: []Header{{"content-type", []byte("application/json")}},
	}
}

// Forget is the tombstone of a key of the labels topic: its example is forgotten, its rejection or its name
// undone.
func Forget(topic, id string) Out { return Out{Topic: topic, Partition: -1, Key: []byte(id)} }

// ResetRecord is the record that orders a reset.
func ResetRecord(topic string, r Reset) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(strings.Join([]string{ControlHeader, r.Stream, r.Class}, "/")),
		Value: appendJSON(nil, r), Headers: []Header{{ControlHeader, []byte(ControlReset)}},
	}
}
