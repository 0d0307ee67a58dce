// Package record holds the wire forms: what a Kafka record is, the embeddings one may carry, and the results
// that answer them.
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

// Raw is a Kafka record as it stands in its partition.
type Raw struct {
	Topic      string
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []Header
	Time       time.Time
	Rejected   *Rejection // not nil: what is here is not all of the record, and this is why
}

// Header returns the value of the last header of that name, whatever its case, and whether there is one.
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

// Marker says whether the record closes its stream's episode. A marker may carry an embedding too; one
// without a value decodes to no items.
func (r *Raw) Marker() bool {
	_, marker := r.Header(MarkerHeader)
	return marker
}

// Size is what the record holds in memory, near enough for a budget.
func (r *Raw) Size() int {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}

// Source is the position of one embedding: a record, and the object within it where a record holds several.
type Source struct {
	Topic     string
	Partition int32
	Offset    int64
	Object    int32 // -1 where the record is the embedding
}

// ID names the answer to the embedding at this position. It depends on the position only, so that a repeat
// carries the same one.
func (s Source) ID() string { return string(s.AppendID(make([]byte, 0, len(s.Topic)+32))) }

// AppendID appends ID to dst.
func (s Source) AppendID(dst []byte) []byte {
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

// Item is one embedding on its way through the house.
type Item struct {
	Source     Source
	ReplayOf   string // the id of the item that its sender says it repeats, a dead letter's; "": of none
	Key        []byte // the record's key, which its answer carries too
	ItemID     string // the sender's own name for it
	Stream     string
	Time       time.Time // event time
	Vector     []float32
	Label      string // not empty: it teaches
	Model      string
	Frame      string // items of one stream and one frame are different things; "": not known
	Track      string // items of one stream and one track are the same thing; "": not known
	Attributes json.RawMessage
	Trace      TraceContext
}

// ID is the id of the item's answer.
func (i *Item) ID() string { return i.Source.ID() }

// First is the id of the item that this one repeats, or its own.
func (i *Item) First() string { return cmp.Or(i.ReplayOf, i.ID()) }

// Name is what the item is known by: the sender's name for it, else its position.
func (i *Item) Name() string {
	if i.ItemID != "" {
		return i.ItemID
	}
	return i.ID()
}

// Size is what the item holds in memory, near enough for a budget.
func (i *Item) Size() int {
	const fixed = 256 // the struct itself and the headers of what it points to
	return fixed + len(i.Key) + len(i.ItemID) + len(i.Frame) + 4*len(i.Vector) + len(i.Attributes) +
		len(i.Trace.Parent) + len(i.Trace.State)
}

// TraceContext is a W3C trace context: traceparent and tracestate, "" where the sender gave none.
type TraceContext struct{ Parent, State string }

// AppendHeaders appends the context's headers. A state without a parent means nothing and is left out.
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
	Partition  int32 // -1: by key, as Java's partitioner does
	Key, Value []byte
	Headers    []Header
	Time       time.Time
	Fallback   Fallback // nil: there is nothing to write instead of it
}

// Fallback knows what to write where brokers reject a record for good.
type Fallback interface {
	// Instead returns what to write instead of rejected, to the same topic or to another. limit is the size in
	// bytes of the largest record that the topic takes, 0 where that is not known, or NotForSize. False: there
	// is nothing smaller, and it is for the topic to change.
	Instead(rejected Out, why error, limit int) (Out, bool)
}

// NotForSize is Fallback's limit for a record that was rejected for something else than its size.
const NotForSize = -1

// Alternative is another label an item might have had.
type Alternative struct {
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// Result is the answer to one Item.
type Result struct {
	ID           string          `json:"id"`
	ItemID       string          `json:"itemId,omitempty"`
	ReplayOf     string          `json:"replayOf,omitempty"` // see Item
	Stream       string          `json:"stream"`
	Episode      int64           `json:"episode"`
	Settled      *bool           `json:"settled,omitempty"` // false: a first answer, of no episode yet; nil: of its episode
	Label        string          `json:"label"`
	Confidence   float64         `json:"confidence"`
	Sure         *bool           `json:"sure,omitempty"` // nil: nobody asked, see --max-wrong
	SureFrom     float64         `json:"-"`              // the confidence from which it would be; 0: from none
	Calibrated   bool            `json:"calibrated"`
	Unknown      bool            `json:"unknown"`
	UnknownScore float64         `json:"unknownScore"`
	Alternatives []Alternative   `json:"alternatives,omitempty"`
	Time         time.Time       `json:"time"`
	Model        string          `json:"model,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	// little-endian float32, as AppendVector writes it; nil: left out
	Vector []byte       `json:"vector,omitempty"`
	Source ResultSource `json:"source"`
}

// ResultSource repeats the position of the item a Result answers.
type ResultSource struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}
