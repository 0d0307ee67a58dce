package record

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// NotThis rejects classes for an item: items very near its vector belong to none of them. An example of the
// same ID replaces it.
type NotThis struct {
	ID     string    `json:"id,omitempty"`
	ItemID string    `json:"itemId,omitempty"` // the sender's id of the item; "": none
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
	// Called are the classes that had the name when it was forgotten: they are forgotten with it.
	Called []CalledSo `json:"called,omitempty"`
}

// ByLink is who writes the names that say which clusters are one thing.
const ByLink = "link"

// identityPrefix is how the names of identities begin.
const identityPrefix = "identity-"

// InGroup returns the name by which the link of a group speaks of something, so that two links may write to one topic:
// those of other groups begin with something else.
func InGroup(group, name string) string { return url.PathEscape(group) + "/" + name }

// IdentityName returns the name of an identity of a group: shop/identity-5.
func IdentityName(group string, id int64) string {
	return InGroup(group, identityPrefix+strconv.FormatInt(id, 10))
}

// IdentityOf returns the group and the id of an identity's name; 0: it is none.
func IdentityOf(name string) (group string, id int64) {
	group, digits, _ := strings.Cut(name, "/"+identityPrefix)
	group, err := url.PathUnescape(group)
	if err != nil {
		return "", 0
	}
	if id, err = strconv.ParseInt(digits, 10, 64); err != nil || id < 1 || IdentityName(group, id) != name {
		return "", 0
	}
	return group, id
}

// OfLink says whether the name is one that a link gave, and of which group: a cluster's into an identity, or an
// identity's into the name that people gave to one of its clusters. They are no names of classes.
func (n *Name) OfLink() (group string, is bool) {
	if n.By != ByLink || n.Stream != "" || n.Into == "" {
		return "", false
	}
	group, id := IdentityOf(n.Into)
	if id == 0 {
		group, id = IdentityOf(n.Name)
	}
	return group, id != 0 && strings.HasPrefix(n.Name, InGroup(group, ""))
}

// CalledSo is a class that has a name, in one stream or, with Stream "", in all.
type CalledSo struct {
	Class  string `json:"class"`
	Stream string `json:"stream,omitempty"`
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

// NameKey returns the record key for the name of a class in a stream; stream "": in all.
func NameKey(name, stream string) string {
	if stream == "" {
		return namePrefix + name
	}
	return namePrefix + name + "/" + stream
}

// mostRejected bounds the classes in one rejection.
const mostRejected = 100

// statement holds the members, as JSON, that distinguish rejections and names from examples. They are read
// before the vector is decoded; nil: no such member.
type statement struct{ by, at, itemID, name, into, called, stream, label, not, vector []byte }

// read reads them. A value that is no JSON object has none.
func (x *statement) read(value []byte) *Rejection {
	if !isObject(value) {
		return nil
	}
	s := scanner{b: value}
	s.pick(map[string]*[]byte{
		"by": &x.by, "at": &x.at, "itemId": &x.itemID, "name": &x.name, "into": &x.into, "called": &x.called, "stream": &x.stream,
		"sensorId": &x.stream, "label": &x.label, "not": &x.not, "vector": &x.vector, "embedding": &x.vector,
	})
	return s.bad
}

// asName checks and returns a name; by and at are those of label.
func (x *statement) asName(label *Label, raw *Raw) (*Name, error) {
	into := textOf(x.into)
	n := &Name{Name: clean(textOf(x.name)), Into: clean(into), By: label.By, At: label.At}
	if s := (scanner{b: x.stream}); len(x.stream) > 0 && x.stream[0] != '{' && x.stream[0] != '[' {
		stream, _ := s.name("stream")
		n.Stream = clean(stream)
	}
	if bad := tooLong("name, into or stream", max(len(n.Name), len(n.Into), len(n.Stream))); bad != nil {
		return nil, bad
	}
	switch key := clean(raw.Key); {
	case into == nil && string(x.into) != "null":
		return nil, reject(Unreadable, "into is neither a name nor null, which forgets the name")
	case into != nil && len(into) == 0:
		return nil, reject(Unreadable, "into is empty: null forgets a name")
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
	if n.Into != "" || x.called == nil {
		return n, nil
	}
	if json.Unmarshal(x.called, &n.Called) != nil {
		return nil, reject(Unreadable, "called is no list of classes and streams")
	}
	for i := range n.Called {
		c := &n.Called[i]
		c.Class, c.Stream = clean([]byte(c.Class)), clean([]byte(c.Stream))
		if bad := tooLong("called: a class or stream", max(len(c.Class), len(c.Stream))); bad != nil {
			return nil, bad
		}
	}
	return n, nil
}

// notThis decodes and checks a rejection; by and at are those of label.
func (d *Decoder) notThis(ctx context.Context, label *Label, raw *Raw, x *statement) (*NotThis, error) {
	if textOf(x.label) != nil {
		return nil, reject(Unreadable, "both a label and not: a record teaches or rejects")
	}
	if x.vector == nil {
		return nil, reject(Unreadable, "a rejection without the vector of its item")
	}
	var not []string
	s := scanner{b: x.not}
	if !s.array(func(i int) bool {
		class, ok := s.name("not")
		switch {
		case !ok:
		case i >= mostRejected:
			s.bad = reject(TooLarge, "more than %d rejected classes", mostRejected)
		case len(class) == 0:
			s.bad = reject(Unreadable, "not names a class without a name")
		default:
			s.bad = tooLong("not", len(class))
			not = append(not, clean(class))
		}
		return s.bad == nil
	}) {
		return nil, s.bad
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
		ID: item.ItemID, ItemID: label.ItemID, Not: not, Stream: item.Stream, Model: item.Model, Track: item.Track, Vector: item.Vector,
		By: label.By, At: label.At,
	}, nil
}

// Not returns the record of a rejection.
func Not(topic string, n *NotThis) Out {
	x := struct {
		NotThis
		Vector []byte `json:"vector"`
	}{*n, AppendVector(nil, n.Vector)}
	x.At = NearestTime(x.At)
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
	x.At = NearestTime(x.At)
	return labelRecord(topic, NameKey(n.Name, n.Stream), appendJSON(nil, &x))
}

func labelRecord(topic, key string, value []byte) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(key), Value: value,
		Headers: []Header{isJSON},
	}
}
