package record

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slkstream/slkstream/internal/form"
)

// Options configure a Decoder. The zero value decodes every format that headers or the value itself identify.
type Options struct {
	Format    string // name of a form.Form; "" is auto
	StreamBy  string // key, partition, header:NAME, field:NAME; "" is key
	Dimension int    // of every vector; 0: learned, for each model, from its records
	Model     string // of records that do not name one
	Paths     Paths
	Usual     bool    // a record that has nothing at the vector's path may have one of the usual forms
	Schemas   Schemas `json:"-"` // nil: no schema registry
	TrackBy   string  // record, or object: ids of an nv.Frame's objects are tracks; "" is record
	// LongestValue bounds the bytes of a value; 0 is 16 MiB.
	LongestValue int
	// DimensionGivenUp is called when the records show that a model has another dimension; nil: not called.
	DimensionGivenUp func(DimensionChange) `json:"-"`
}

// Decoder decodes records into items. It is not safe for concurrent use.
type Decoder struct {
	options   Options
	format    string
	header    string // stream by this header
	field     string // stream by this field
	partition bool   // stream by partition
	dimensions
	names     map[string]string // interned names, by their bytes
	senders   map[string]*sender
	fetch     int       // see NextFetch
	pieced    []*sender // that have pieces of this fetch
	frameName string    // of the last item, so that the items of a frame share one string
	scratch   []float32
	fields    fields
	scopes    []*node  // of the paths; nil: none
	nowhere   []string // fields that are not read
	// State of the record that is being decoded:
	raw      *Raw
	items    []Item
	before   int // items of earlier records
	envelope envelope
	empty    string // why it has no items
	ctx      context.Context
	failed   error         // error that says nothing about the record, as ctx's
	past     []PastOptions // how earlier records are read, in the order of their offsets
	decoders []*Decoder
	examples bool // decoding the labels topic: keys are ids, and an item without a stream of its own has none
}

// NewDecoder returns a decoder, or an error that names the faulty setting.
func NewDecoder(o Options) (*Decoder, error) {
	d := &Decoder{options: o, format: o.Format, names: map[string]string{}, senders: map[string]*sender{}}
	d.dimensions = dimensions{fixed: o.Dimension, models: map[string]*agreement{}, given: o.DimensionGivenUp}
	if d.format == "" {
		d.format = form.Auto
	}
	if !slices.Contains(form.Names(), d.format) {
		return nil, fmt.Errorf("format %q: not one of %s", o.Format, strings.Join(form.Names(), ", "))
	}
	by, name, named := strings.Cut(o.StreamBy, ":")
	switch {
	case (by == "" || by == "key") && !named:
	case by == "partition" && !named:
		d.partition = true
	case by == "header" && name != "":
		d.header = name
	case by == "field" && name != "":
		d.field = name
	default:
		return nil, fmt.Errorf("stream-by %q: not key, partition, header:NAME or field:NAME", o.StreamBy)
	}
	if o.TrackBy != "" && o.TrackBy != "record" && o.TrackBy != "object" {
		return nil, fmt.Errorf("track-by %q: not record or object", o.TrackBy)
	}
	var err error
	if d.scopes, err = o.Paths.scopes(); err != nil {
		return nil, err
	}
	for _, x := range o.Paths.texts() {
		if x.path == Nowhere {
			d.nowhere = append(d.nowhere, x.name)
		}
	}
	if o.Dimension < 0 || o.Dimension > mostDimension {
		return nil, fmt.Errorf("dimension %d: not between 0 and %d", o.Dimension, mostDimension)
	}
	return d, nil
}

// Decode appends the record's items to items. A *Rejection means that the record, or with good items some
// objects of a frame, cannot be used and must go to the dead letters. An *Empty means that a valid record has
// nothing to label, such as a frame without objects. Only a marker without a value yields neither items nor
// an error. Any other error says nothing about the record: it is ctx's, after a wait for the schema registry.
func (d *Decoder) Decode(ctx context.Context, raw *Raw, items []Item) ([]Item, error) {
	if f := d.at(raw.Offset); f != d {
		return f.Decode(ctx, raw, items)
	}
	if raw.Rejected != nil {
		return items, raw.Rejected
	}
	if len(raw.Value) == 0 && raw.Marker() {
		if bad := tooLong("stream's name", len(d.stream(raw, nil, nil))); bad != nil {
			return items, bad
		}
		return items, nil
	}
	if bad := d.check(raw); bad != nil {
		return items, bad
	}
	before := len(items)
	d.raw, d.items, d.before, d.empty, d.ctx, d.failed = raw, items, before, NoEmbeddings, ctx, nil
	rejection := d.record()
	items, d.items = d.items, nil
	if cap(d.scratch) > keptScratch {
		d.scratch = nil
	}
	switch {
	case d.failed != nil:
		return items[:before], d.failed
	case rejection != nil:
		return items, rejection
	case len(items) == before:
		return items, &Empty{d.empty}
	}
	return items, nil
}

// keptScratch is the longest vector whose scratch memory is kept for the next record.
const keptScratch = 1 << 16

// Stream returns the stream of a record without an embedding, such as a marker; "" if its name is too long.
func (d *Decoder) Stream(raw *Raw) string {
	name := d.at(raw.Offset).stream(raw, nil, nil)
	if len(name) > longestName {
		return ""
	}
	return d.intern(name)
}

// none drops the record's items, for a fault of all of it.
func (d *Decoder) none(bad *Rejection) *Rejection {
	d.items = d.items[:d.before]
	return bad
}

// envelope holds the fields from headers and surrounding events, which the value's own fields override.
type envelope struct {
	texts
	contentType string
	stream      []byte // the field that names the stream, by the setting
	time        time.Time
	within      bool // the value is a CloudEvent's data, so it must not be another CloudEvent
	bytes       bool // the vector came as bytes, not as JSON numbers
}

// record decodes the record.
func (d *Decoder) record() *Rejection {
	d.envelope = envelope{}
	e := &d.envelope
	first := ""
	for i := range d.raw.Headers {
		h := &d.raw.Headers[i]
		switch {
		case strings.EqualFold(h.Key, "content-type"):
			e.contentType = mediaType(h.Value)
		case h.Key == "traceparent":
			e.texts[parentField] = h.Value
		case h.Key == "tracestate":
			e.texts[stateField] = h.Value
		case h.Key == IDHeader:
			first = firstID(d.raw, h.Value)
		case strings.EqualFold(h.Key, "ce_specversion"):
			e.within = true
		}
	}
	if e.within {
		if bad := d.headers(eventPrefix); bad != nil {
			return bad
		}
	}
	bad := d.value(d.raw.Value)
	if first != "" {
		for i := range d.items[d.before:] {
			item := &d.items[d.before+i]
			if item.ReplayOf = first; item.Source.Object >= 0 {
				item.ReplayOf = first + "/" + strconv.Itoa(int(item.Source.Object))
			}
		}
	}
	return bad
}

// value decodes bytes in the format of their content type, else of the setting, else in the detected one.
func (d *Decoder) value(value []byte) *Rejection {
	e, kind := &d.envelope, d.form(value)
	if kind != "f32" && kind != "f16" && kind != "bf16" {
		if schema, payload, ok := framed(value); ok {
			return d.framedValue(schema, payload)
		}
	}
	switch kind {
	case "json":
		return d.json(value)
	case "cloudevents":
		return d.cloudEvent(value)
	case "nv":
		return d.protobufFrame(value)
	case "":
		return reject(
			Unreadable,
			"%d bytes that are neither JSON nor nv.Frame: raw numbers need a content-type header or --format f32, f16 or bf16",
			len(value),
		)
	}
	e.bytes = true
	if !e.within {
		if bad := d.headers(""); bad != nil {
			return bad
		}
	}
	vector, bad := rawVector(d.scratch[:0], value, kind)
	if bad != nil {
		return bad
	}
	d.scratch = vector[:0]
	attributes, bad := headerAttributes(d.raw)
	if bad != nil {
		return bad
	}
	if d.field != "" {
		e.stream, _ = memberName(attributes, d.field, d.field)
	}
	return d.append(e, vector, -1, attributes)
}

// append adds one item with a copy of its vector, if that is valid. The item's fields are in the envelope; object is its
// index in the record, -1 if the record is the embedding.
func (d *Decoder) append(e *envelope, vector []float32, object int32, attributes json.RawMessage) *Rejection {
	raw := d.raw
	d.drop(e)
	stream := d.stream(raw, e.texts[streamField], e.stream)
	for i, text := range e.texts[:parentField] {
		if d.examples && field(i) == idField {
			continue // it may be a key: see CheckKey
		}
		if bad := tooLong(textNames[i], len(text)); bad != nil {
			return bad
		}
	}
	if bad := tooLong("stream's name", max(len(stream), len(e.stream))); bad != nil {
		return bad
	}
	model := d.options.Model
	if len(e.texts[modelField]) > 0 {
		model = d.intern(e.texts[modelField])
	}
	source := Source{raw.Topic, raw.Partition, raw.Offset, object}
	if len(vector) > mostDimension {
		return reject(TooLarge, "the vector has dimension %d, more than %d", len(vector), mostDimension)
	}
	// An invalid vector is no evidence for the dimension.
	bad := CheckVector(vector)
	if want := d.Dimension(model); bad != nil && want != 0 && want != len(vector) {
		bad = wrongDimension(len(vector), want, e.bytes)
	}
	if bad == nil && !d.examples || d.options.Dimension > 0 {
		if wrong := d.accept(model, len(vector), source, e.bytes); wrong != nil {
			bad = wrong
		}
	}
	if bad != nil {
		return bad
	}
	from := d.sender(stream)
	item := Item{
		Source: source, Key: raw.Key, ItemID: clean(e.texts[idField]),
		Stream: from.name, Time: e.time, Vector: d.own(from, vector), Label: d.intern(e.texts[labelField]),
		Model: model,
		Frame: d.frameOf(e.texts[frameField]), Track: d.intern(e.texts[trackField]), Attributes: attributes,
	}
	parent, state := e.texts[parentField], e.texts[stateField]
	if len(parent)+len(state) <= longestName { // copied for each object
		item.Trace = TraceContext{Parent: clean(parent), State: clean(state)}
	}
	if item.Time.IsZero() {
		item.Time = raw.Time
	}
	item.Time = NearestTime(item.Time) // encoding/json refuses others, as in a review or a dead letter
	d.items = append(d.items, item)
	return nil
}

// stream returns the name of an item's stream by the setting StreamBy. own is the stream named by the record.
// If no name is found, the stream is that of the partition.
func (d *Decoder) stream(raw *Raw, own, field []byte) (name []byte) {
	switch {
	case d.examples:
		return own
	case d.partition:
	case d.header != "":
		name, _ = raw.Header(d.header)
	case d.field != "":
		name = field
	case len(own) > 0:
		name = own
	default:
		name = raw.Key
	}
	if len(name) == 0 {
		name = append(append(make([]byte, 0, 64), raw.Topic...), '/')
		name = strconv.AppendInt(name, int64(raw.Partition), 10)
	}
	return name
}

// frameOf returns the frame's name, sharing one string between successive items of a frame.
func (d *Decoder) frameOf(b []byte) string {
	if string(b) != d.frameName {
		d.frameName = clean(b)
	}
	return d.frameName
}

// intern returns the name as a string, sharing one string between equal names.
func (d *Decoder) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if name, ok := d.names[string(b)]; ok {
		return name
	}
	const most = 1 << 14
	if len(d.names) >= most {
		clear(d.names)
	}
	name := clean(b)
	d.names[string(b)] = name
	return name
}

// clean returns the bytes as text that JSON can hold. Bytes that are not UTF-8, such as a binary key, become
// hexadecimal digits, which keeps them distinct.
func clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return "0x" + hex.EncodeToString(b)
}
