package record

import (
	"context"
	"encoding/json"
	"strings"
	"time"
)

// ControlHeader makes a record of the labels topic an order: ControlReset resets streams.
const (
	ControlHeader = "slkstream-control"
	ControlReset  = "reset"
)

// ForgottenHeader on a tombstone of the labels topic holds the name with which an example is forgotten. In a
// topic of several partitions the tombstone may be read before the record that forgets the name.
const ForgottenHeader = "slkstream-forgotten"

// Reset deletes what streams have learned: in one stream or in all, of one class or of all.
type Reset struct {
	Stream string `json:"stream,omitempty"`
	Class  string `json:"class,omitempty"`
}

// Label is a decoded record of the labels topic: exactly one of Teach, Not, Name, Forget and Reset is set.
type Label struct {
	Teach  *Item // an example: ItemID is its id, Stream the only stream it is for, or "" for all
	Not    *NotThis
	Name   *Name
	Forget string // the key whose example, rejection or name no longer holds
	With   string // of Forget: the name that is forgotten, and the example with it; "": the example alone
	Reset  *Reset
	Key    string // of the record, which replaces earlier records of that key
	ItemID string // of an example or a rejection: the sender's id of its item; "": none
	// Of an example, a rejection or a name, if the record has them:
	By string    // who
	At time.Time // when
}

// DecodeLabel decodes a record of the labels topic. A record that it cannot use is a *Rejection or an *Empty.
// ctx is used as in Decode.
func (d *Decoder) DecodeLabel(ctx context.Context, raw *Raw) (Label, error) {
	if raw.Rejected != nil {
		return Label{}, raw.Rejected
	}
	if control, ok := raw.Header(ControlHeader); ok {
		if string(control) != ControlReset {
			return Label{}, reject(Unreadable, "header %s: %q is not known", ControlHeader, short(control))
		}
		r := &Reset{}
		if len(raw.Value) > 0 {
			if err := json.Unmarshal(raw.Value, r); err != nil {
				return Label{}, reject(Unreadable, "reset: %v", err)
			}
		}
		if bad := tooLong("reset: a name", max(len(r.Stream), len(r.Class))); bad != nil {
			return Label{}, bad
		}
		return Label{Reset: r}, nil
	}
	if len(raw.Value) == 0 {
		if len(raw.Key) == 0 {
			return Label{}, reject(Unreadable, "a tombstone without a key forgets nothing")
		}
		with, _ := raw.Header(ForgottenHeader)
		return Label{Forget: clean(raw.Key), With: clean(with)}, nil
	}
	if bad := d.check(raw); bad != nil {
		return Label{}, bad
	}
	var x statement
	if bad := x.read(raw.Value); bad != nil && (x.not != nil || x.into != nil) {
		return Label{}, bad // else the decoder of examples reports the fault
	}
	// In examples, by and at are ignored if they are invalid, because senders may use these names for their own.
	label := Label{Key: clean(raw.Key)}
	if by := textOf(x.by); len(by) <= longestName {
		label.By = clean(by)
	}
	label.At, _ = parseTime(textOf(x.at))
	if id := textOf(x.itemID); len(id) <= longestName {
		label.ItemID = clean(id)
	}
	var err error
	switch {
	case textOf(x.name) != nil && x.into != nil && x.vector == nil:
		label.Name, err = x.asName(&label, raw)
	case x.not != nil:
		label.Not, err = d.notThis(ctx, &label, raw, &x)
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

// CheckLabel returns why no stage would take a record for the labels topic; nil: each does.
func CheckLabel(ctx context.Context, out *Out) error {
	d, err := NewDecoder(Options{})
	if err == nil {
		_, err = d.DecodeLabel(ctx, &Raw{Key: out.Key, Value: out.Value, Headers: out.Headers})
	}
	return err
}

// example decodes a record of the labels topic with one embedding.
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
		item.ItemID = clean(raw.Key) // compaction and tombstones work on the key
	}
	if item.ItemID == "" {
		item.ItemID = item.Source.ID()
	}
	if err := CheckKey(item.ItemID); err != nil {
		return nil, err
	}
	return item, nil
}

// Teach returns the record of an example, which must have a label and an id. If it has a stream, it is for
// that stream only.
func Teach(topic string, e *Example) Out {
	out := labelRecord(topic, e.ID, AppendExample(nil, e))
	out.Time = e.Time
	return out
}

// Forget returns the tombstone of a key of the labels topic, which deletes its example, rejection or name.
func Forget(topic, id string) Out { return Out{Topic: topic, Partition: -1, Key: []byte(id)} }

// ForgetWith returns the tombstone of an example that is forgotten with a name.
func ForgetWith(topic, id, name string) Out {
	out := Forget(topic, id)
	out.Headers = []Header{{ForgottenHeader, []byte(name)}}
	return out
}

// ResetRecord returns the record of a reset.
func ResetRecord(topic string, r Reset) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(strings.Join([]string{ControlHeader, r.Stream, r.Class}, "/")),
		Value: appendJSON(nil, r), Headers: []Header{{ControlHeader, []byte(ControlReset)}},
	}
}
