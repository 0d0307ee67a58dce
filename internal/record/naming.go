package record

import (
	"context"
	"errors"
	"slices"
	"time"
)

// NotThis rejects classes for an item: items very near its vector belong to none of them. An example of the
// same ID replaces it.
type NotThis struct {
	ID     string    `json:"id,omitempty"`
	Not    []string  `json:"not"`              // the rejected classes, in order, each once
	Stream string    `json:"stream,omitempty"` // the only stream that it is for; "": all
	Model  string    `json:"model,omitempty"`
	Track  string    `json:"track,omitempty"` // of the item; "": not known
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Vector []float32 `json:"-"` // written as base64
}

// Name renames a class or a cluster, or merges it into another.
type Name struct {
	Name   string    `json:"name"`
	Into   string    `json:"-"`                // the new name; "": the name is forgotten, in all streams
	Stream string    `json:"stream,omitempty"` // the only stream that it is for; "": all
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Receipt is a line of the report on a forgotten name: a place, what it has of the name, and how long it
// keeps it.
type Receipt struct {
	Where string `json:"where"`
	What  string `json:"what"`
	Until string `json:"until"`
}

// ErrNoName is returned when a name is to be forgotten that does not exist.
var ErrNoName = errors.New("nothing is called so")

// namePrefix begins the keys of names.
const namePrefix = "name:"

// NameKey returns the record key for the name of a class in a stream; stream "": in all.
func NameKey(name, stream string) string {
	if stream == "" {
		return namePrefix + name
	}
	return namePrefix + name + "/" + stream
}

// mostRejected bounds the classes in one rejection.
const mostRejected = 100

// statement holds the members that only records of the labels topic have, read before the vector is decoded.
type statement struct {
	by        string
	at        time.Time
	name      []byte
	into      []byte // as JSON
	hasInto   bool
	hasVector bool
	stream    string
	hasLabel  bool
	not       [][]byte // nil: no member of that name
	bad       *Rejection
}

// statement reads the members that distinguish rejections and names from examples. Without a JSON object the
// result is zero. In examples, by and at are ignored if they are invalid, because senders may use these names
// for their own data.
func (d *Decoder) statement(value []byte) (x statement) {
	if !object(value) {
		return x
	}
	s := scanner{b: value}
	var at []byte
	ok := s.object(func(member []byte) (ok bool) {
		switch string(member) {
		case "by", "at":
			var b []byte
			if s.next() != '"' {
				return s.pass(0)
			}
			if b, ok = s.text(); ok && string(member) == "at" {
				at = b
			} else if ok && len(b) <= longestName {
				x.by = clean(b)
			}
		case "name":
			if s.next() != '"' { // the sender's own member, which examples may have
				return s.pass(0)
			}
			x.name, ok = s.text()
		case "into":
			x.hasInto = true
			x.into, ok = s.skip()
		case "stream", "sensorId":
			if c := s.next(); c != '"' && c != '-' && c-'0' > 9 {
				return s.pass(0)
			}
			var b []byte
			b, ok = s.name("stream")
			x.stream = clean(b)
		case "vector", "embedding":
			x.hasVector, ok = true, s.pass(0)
		case "label":
			x.hasLabel = s.next() == '"'
			ok = s.pass(0)
		case "not":
			x.not = [][]byte{}
			ok = s.array(func(i int) bool {
				if i >= mostRejected {
					s.bad = reject(TooLarge, "more than %d rejected classes", mostRejected)
					return false
				}
				b, ok := s.name("not")
				x.not = append(x.not, b)
				return ok && !s.refuse(tooLong("not", len(b)))
			})
		default:
			ok = s.pass(0)
		}
		return ok
	})
	if !ok && x.not != nil {
		x.bad = s.bad // else the decoder of examples reports the fault
	}
	if t, bad := parseTime(at); bad == nil {
		x.at = t
	}
	return x
}

// name decodes and checks a name.
func (d *Decoder) name(raw *Raw, x *statement) (*Name, error) {
	s := scanner{b: x.into}
	n := &Name{Name: clean(x.name), Stream: x.stream, By: x.by, At: x.at}
	if !s.null() {
		if s.next() != '"' {
			return nil, reject(Unreadable, "into is neither a name nor null, which forgets the name")
		}
		into, ok := s.text()
		if !ok {
			return nil, s.bad
		}
		if len(into) == 0 {
			return nil, reject(Unreadable, "into is empty: null forgets a name")
		}
		n.Into = clean(into)
	}
	for _, each := range [...]struct{ what, text string }{
		{"name", n.Name}, {"into", n.Into}, {"stream", n.Stream},
	} {
		if bad := tooLong(each.what, len(each.text)); bad != nil {
			return nil, bad
		}
	}
	switch key := clean(raw.Key); {
	case n.Into == "" && n.Stream != "":
		return nil, reject(Unreadable, "a name is forgotten in all streams: leave stream out")
	case n.Name == "":
		return nil, reject(Unreadable, "name is empty")
	case n.Name == n.Into:
		return nil, reject(Unreadable, "%q is named into itself", short([]byte(n.Name)))
	case key != NameKey(n.Name, "") && key != NameKey(n.Name, n.Stream):
		return nil, reject(Unreadable, "the key %q is not that of the name, %q", short(raw.Key),
			short([]byte(NameKey(n.Name, n.Stream))))
	}
	return n, nil
}

// notThis decodes and checks a rejection.
func (d *Decoder) notThis(ctx context.Context, raw *Raw, x *statement) (*NotThis, error) {
	if x.hasLabel {
		return nil, reject(Unreadable, "both a label and not: a record teaches or rejects")
	}
	if !x.hasVector {
		return nil, reject(Unreadable, "a rejection without the vector of its item")
	}
	not := make([]string, 0, len(x.not))
	for _, class := range x.not {
		if len(class) == 0 {
			return nil, reject(Unreadable, "not names a class without a name")
		}
		not = append(not, clean(class))
	}
	slices.Sort(not)
	if not = slices.Compact(not); len(not) == 0 {
		return nil, reject(Unreadable, "not names no class")
	}
	item, err := d.example(ctx, raw)
	if err != nil {
		return nil, err
	}
	return &NotThis{
		ID: item.ItemID, Not: not, Stream: item.Stream, Model: item.Model, Track: item.Track, Vector: item.Vector,
		By: x.by, At: x.at,
	}, nil
}

// Not returns the record of a rejection.
func Not(topic string, n *NotThis) Out {
	x := struct {
		NotThis
		Vector []byte `json:"vector"`
	}{*n, AppendVector(nil, n.Vector)}
	x.At = nearest(x.At)
	return labelRecord(topic, n.ID, appendJSON(nil, &x))
}

// NameRecord returns the record of a name. The tombstone of its key, Forget(topic, NameKey(...)), revokes it.
func NameRecord(topic string, n *Name) Out {
	x := struct {
		Name
		Into *string `json:"into"`
	}{Name: *n}
	if n.Into != "" {
		x.Into = &n.Into
	}
	x.At = nearest(x.At)
	return labelRecord(topic, NameKey(n.Name, n.Stream), appendJSON(nil, &x))
}

func labelRecord(topic, key string, value []byte) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(key), Value: value,
		Headers: []Header{{"content-type", []byte("application/json")}},
	}
}
