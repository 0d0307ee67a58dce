// Package record decodes and encodes Kafka records: input records with embeddings, results, labels, orders
// and dead letters.
package record

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Header is a Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// isJSON is on records whose value is JSON.
var isJSON = Header{"content-type", []byte("application/json")}

// Raw is a Kafka record with its position.
type Raw struct {
	Topic      string
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []Header
	Time       time.Time
	Rejected   *Rejection // not nil: the record is incomplete for this reason
}

// Header returns the value of the last header of that name, ignoring case; false: there is none.
func (r *Raw) Header(name string) ([]byte, bool) {
	for i := len(r.Headers) - 1; i >= 0; i-- {
		if h := &r.Headers[i]; h.Key == name || len(h.Key) == len(name) && strings.EqualFold(h.Key, name) {
			return h.Value, true
		}
	}
	return nil, false
}

// MarkerHeader on a record closes the open episode of the record's stream.
const MarkerHeader = "slkstream-marker"

// Marker says whether the record closes its stream's episode. A marker may also carry an embedding; without a
// value it has no items.
func (r *Raw) Marker() bool {
	_, marker := r.Header(MarkerHeader)
	return marker
}

// Size is approximately the record's size in memory.
func (r *Raw) Size() int {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}

// Source is the position of one embedding: its record, and the object in it if the record has several.
type Source struct {
	Topic     string
	Partition int32
	Offset    int64
	Object    int32 // -1: the record is the embedding
}

// ID returns the id of the answer to the embedding at this position. It depends on the position only, so that
// a repeated answer has the same id.
func (s Source) ID() string { return string(s.appendID(make([]byte, 0, len(s.Topic)+32))) }

// appendID appends ID to dst.
func (s Source) appendID(dst []byte) []byte {
	dst = append(dst, s.Topic...)
	dst = append(dst, '/')
	dst = strconv.AppendInt(dst, int64(s.Partition), 10)
	dst = append(dst, '/')
	dst = strconv.AppendInt(dst, s.Offset, 10)
	if s.Object >= 0 {
		dst = append(dst, '/')
		dst = strconv.AppendInt(dst, int64(s.Object), 10)
	}
	return dst
}

// Item is one embedding to be answered, or an example.
type Item struct {
	Source     Source
	ReplayOf   string // id of the item that it repeats, as the sender says, from a dead letter; "": none
	Key        []byte // the record's key, which its answer has too
	ItemID     string // the sender's id for it; "": none
	Stream     string
	Time       time.Time // event time
	Vector     []float32
	Label      string // not empty: the item is also an example
	Model      string
	Frame      string // items of one stream and frame are different objects; "": not known
	Track      string // items of one stream and track are the same object; "": not known
	Attributes json.RawMessage
	Trace      TraceContext
}

// StreamID names a stream of an input partition. Embeddings of different models are never mixed: each model
// of a stream is a stream of its own.
type StreamID struct{ Name, Model string }

// Of returns the stream that the item belongs to.
func (i *Item) Of() StreamID { return StreamID{i.Stream, i.Model} }

// ID returns the id of the item's answer.
func (i *Item) ID() string { return i.Source.ID() }

// first returns the id of the item that this one repeats, or its own.
func (i *Item) first() string { return cmp.Or(i.ReplayOf, i.ID()) }

// Size is approximately the item's size in memory.
func (i *Item) Size() int {
	const fixed = 256 // the struct, and allocation overhead
	return fixed + len(i.Key) + len(i.ItemID) + len(i.Label) + len(i.Frame) + len(i.Track) +
		4*len(i.Vector) + len(i.Attributes) + len(i.Trace.Parent) + len(i.Trace.State)
}

// TraceContext is a W3C trace context: traceparent and tracestate; "": the sender sent none.
type TraceContext struct{ Parent, State string }

// AppendHeaders appends the context's headers. A state without a parent is meaningless and left out.
func (t TraceContext) AppendHeaders(headers []Header) []Header {
	if t.Parent == "" {
		return headers
	}
	headers = append(headers, Header{Key: "traceparent", Value: []byte(t.Parent)})
	if t.State != "" {
		headers = append(headers, Header{Key: "tracestate", Value: []byte(t.State)})
	}
	return headers
}

// Out is a record to be written.
type Out struct {
	Topic      string
	Partition  int32 // -1: by key, as Java's producer chooses it
	Key, Value []byte
	Headers    []Header
	Time       time.Time
	Fallback   Fallback // nil: no replacement if it is rejected
}

// Fallback replaces a record that brokers reject for good.
type Fallback interface {
	// Instead returns the replacement for rejected, for the same topic or another. limit is the size in bytes of
	// the largest record that the topic accepts, 0 if not known, or NotForSize. False: there is no replacement,
	// and the topic's settings must change.
	Instead(rejected Out, why error, limit int) (Out, bool)
}

// NotForSize is the limit for Fallback.Instead if a record was rejected for another reason than its size.
const NotForSize = -1
