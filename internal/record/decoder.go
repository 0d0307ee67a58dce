package record

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Formats are the names of the forms a record's value may have where no content-type header says.
var Formats = []string{"auto", "json", "f32", "f16", "bf16", "nv", "cloudevents"}

// Options say how records become items. The zero value decodes every form whose header or look tells it.
type Options struct {
	Format    string // one of Formats; "" is auto
	StreamBy  string // key, partition, header:NAME, field:NAME; "" is key
	Dimension int    // of every vector; 0: of each model, what its records agree on
	Model     string // of records that name none
	Limits    Limits
	Paths     Paths
	Schemas   Schemas `json:"-"` // nil: without a schema registry
	TrackBy   string  // record, or object: the ids of an nv.Frame's objects are tracks; "" is record
	// Alias lets vectors share memory with Raw.Value, which must then never be written to again. Keys always do.
	Alias bool
	// DimensionGivenUp is told when a model's dimension proves wrong; nil tells nobody.
	DimensionGivenUp func(DimensionChange) `json:"-"`
}

// Decoder turns records into items. One goroutine uses it at a time.
type Decoder struct {
	options    Options
	format     string
	header     string // stream by this header
	field      string // stream by this field
	partition  bool   // stream by partition
	dimensions dimensions
	names      map[string]string // the few names that most records repeat
	frameName  string            // of the last item: the items of a frame share one string
	scratch    []float32
	fields     fields
	mapping    *mapping
	// Of the record that is being decoded:
	envelope envelope
	empty    string // why it holds nothing
	ctx      context.Context
	failed   error // why it cannot be told what it holds
	examples bool  // decoding the labels topic: keys name examples there, and streams only what says so itself
}

// NewDecoder returns a decoder, or an error that names the faulty setting.
func NewDecoder(o Options) (*Decoder, error) {
	d := &Decoder{options: o, format: o.Format, names: map[string]string{}}
	d.dimensions = dimensions{fixed: o.Dimension, models: map[string]*agreement{}, given: o.DimensionGivenUp}
	if d.format == "" {
		d.format = "auto"
	}
	if !slices.Contains(Formats, d.format) {
		return nil, fmt.Errorf("format %q: not one of %s", o.Format, strings.Join(Formats, ", "))
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
	if d.mapping, err = o.Paths.mapping(); err != nil {
		return nil, err
	}
	if o.Dimension < 0 {
		return nil, fmt.Errorf("dimension %d: negative", o.Dimension)
	}
	if err := d.options.Limits.fill(); err != nil {
		return nil, err
	}
	if o.Dimension > d.options.Limits.Dimension {
		return nil, fmt.Errorf("dimension %d: above the most that is taken, %d", o.Dimension,
			d.options.Limits.Dimension)
	}
	return d, nil
}

// Expect tells the dimension of a model's vectors as the state has it: what was agreed on before.
// Options.Dimension stands above it, and it is given up if the records prove it wrong.
func (d *Decoder) Expect(model string, dimension int) { d.dimensions.expect(model, dimension) }

// Suggest tells the dimension that so many labelled examples of a model have. Records may say otherwise.
func (d *Decoder) Suggest(model string, dimension, examples int) {
	d.dimensions.suggest(model, dimension, examples)
}

// Dimension is what a vector of that model must have; 0: records do not agree yet, and any is taken.
func (d *Decoder) Dimension(model string) int { return d.dimensions.of(model) }

// Agreed returns the dimensions that records agree on, by model, if they have changed since the last call,
// else nil. A Decoder that is told them by Expect goes on where this one stands, but for what speaks for
// each.
func (d *Decoder) Agreed() map[string]int {
	if !d.dimensions.changed {
		return nil
	}
	d.dimensions.changed = false
	return d.dimensions.agreed()
}

// Decode appends the record's items to items. What it cannot use it reports as a *Rejection, for the dead
// letters: the whole record, or, beside the good items, those objects of a frame that are bad. A record
// without anything to label (a frame without objects) is an *Empty; only a marker without a value gives
// neither items nor an error. ctx ends the wait for a schema registry that is away, with its error; nothing
// of the record is decided then.
func (d *Decoder) Decode(ctx context.Context, raw *Raw, items []Item) ([]Item, error) {
	if raw.Rejected != nil {
		return items, raw.Rejected
	}
	if len(raw.Value) == 0 && raw.Marker() {
		if n, longest := len(d.stream(raw, nil, nil)), d.options.Limits.Name; n > longest {
			return items, reject(TooLarge, "stream's name is %d bytes long, more than %d", n, longest)
		}
		return items, nil
	}
	if bad := d.options.Limits.check(raw); bad != nil {
		return items, bad
	}
	before := len(items)
	d.empty, d.ctx, d.failed = "", ctx, nil
	items, rejection := d.decode(raw, items)
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

// keptScratch is the longest vector whose memory is kept for the next record.
const keptScratch = 1 << 16

// Stream is the stream that a record without an embedding, a marker, belongs to; "" where its name is too
// long.
func (d *Decoder) Stream(raw *Raw) string {
	name := d.stream(raw, nil, nil)
	if len(name) > d.options.Limits.Name {
		return ""
	}
	return d.intern(name)
}

// envelope is what surrounds a value and speaks for it where it is silent itself.
type envelope struct {
	contentType              string
	id, stream, label, model []byte
	frame, track             []byte
	field                    []byte // the field that streams go by
	time                     time.Time
	traceParent, traceState  []byte
	within                   bool // of a CloudEvent: no other may lie in it
	bytes                    bool // the vector came as bytes, not as numbers in words
}

func (d *Decoder) decode(raw *Raw, items []Item) ([]Item, *Rejection) {
	d.envelope = envelope{}
	e := &d.envelope
	var bad *Rejection
	event, first := false, ""
	for i := range raw.Headers {
		h := &raw.Headers[i]
		switch {
		case strings.EqualFold(h.Key, "content-type"):
			e.contentType = mediaType(h.Value)
		case h.Key == "traceparent":
			e.traceParent = h.Value
		case h.Key == "tracestate":
			e.traceState = h.Value
		case h.Key == IDHeader:
			first = firstID(raw, h.Value)
		case strings.EqualFold(h.Key, "ce_specversion"):
			event = true
		}
	}
	if event {
		e.within = true
		if bad = e.attributes(raw); bad != nil {
			return items, bad
		}
	}
	from := len(items)
	items, bad = d.value(raw, raw.Value, e, items)
	if first != "" {
		for i := range items[from:] {
			item := &items[from+i]
			if item.ReplayOf = first; item.Source.Object >= 0 {
				item.ReplayOf = first + "/" + strconv.Itoa(int(item.Source.Object))
			}
		}
	}
	return items, bad
}

// value decodes bytes in the form that the content type, else the format setting, else their look says.
func (d *Decoder) value(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, *Rejection) {
	form := d.form(value, e)
	if form != "f32" && form != "f16" && form != "bf16" {
		if schema, payload, ok := framed(value); ok {
			return d.framedValue(raw, schema, payload, e, items)
		}
	}
	switch form {
	case "json":
		return d.json(raw, value, e, items)
	case "cloudevents":
		return d.cloudEvent(raw, value, e, items)
	case "nv":
		return d.frame(raw, value, e, items)
	case "":
		return items, reject(Unreadable, "%d bytes that are neither JSON nor nv.Frame: raw numbers need a content-type header or --format f32, f16 or bf16", len(value))
	}
	e.bytes = true
	if !e.within {
		if bad := e.rawHeaders(raw); bad != nil {
			return items, bad
		}
	}
	vector, bad := rawVector(value, element(form), d.options.Alias)
	if bad != nil {
		return items, bad
	}
	attributes, bad := headerAttributes(raw)
	if bad != nil {
		return items, bad
	}
	var field []byte
	if d.field != "" {
		field = d.attributeField(attributes)
	}
	return d.append(raw, e, items, vector, -1, attributes, field)
}

// append adds one item, if its vector is good. The envelope speaks for the record; field is the value of the
// field that streams go by.
func (d *Decoder) append(raw *Raw, e *envelope, items []Item, vector []float32, object int32, attributes,
	field []byte,
) ([]Item, *Rejection) {
	stream := d.stream(raw, e.stream, field)
	for _, name := range [...]struct {
		what string
		text []byte
	}{
		{"id", e.id},
		{"label", e.label},
		{"model", e.model},
		{"stream", e.stream},
		{"frame", e.frame},
		{"track", e.track},
		{"field " + d.field, field},
		{"stream's name", stream},
	} {
		if longest := d.options.Limits.Name; len(name.text) > longest {
			return items, reject(TooLarge, "%s is %d bytes long, more than %d", name.what, len(name.text), longest)
		}
	}
	model := d.options.Model
	if len(e.model) > 0 {
		model = d.intern(e.model)
	}
	source := Source{raw.Topic, raw.Partition, raw.Offset, object}
	if len(vector) > d.options.Limits.Dimension {
		return items, reject(TooLarge, "the vector has dimension %d, more than %d", len(vector),
			d.options.Limits.Dimension)
	}
	// A vector that is bad in itself says nothing about how long the others are.
	bad := CheckVector(vector)
	if want := d.dimensions.of(model); bad != nil && want != 0 && want != len(vector) {
		bad = wrongDimension(len(vector), want, e.bytes)
	}
	if bad == nil && !d.examples || d.options.Dimension > 0 {
		if wrong := d.dimensions.accept(model, len(vector), source, e.bytes); wrong != nil {
			bad = wrong
		}
	}
	if bad != nil {
		return items, bad
	}
	item := Item{
		Source: source, Key: raw.Key, ItemID: clean(e.id),
		Stream: d.intern(stream), Time: e.time, Vector: vector, Label: d.intern(e.label),
		Model: model,
		Frame: d.frameOf(e.frame), Track: d.intern(e.track), Attributes: attributes,
		Trace: TraceContext{Parent: clean(e.traceParent), State: clean(e.traceState)},
	}
	if item.Time.IsZero() {
		item.Time = raw.Time
	}
	return append(items, item), nil
}

// stream names the stream of an item whose sender calls it own; a record that does not say belongs to its
// partition's.
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

// frameOf returns the frame's name, the same string for each of a run of items of one frame.
func (d *Decoder) frameOf(b []byte) string {
	if string(b) != d.frameName {
		d.frameName = clean(b)
	}
	return d.frameName
}

// intern returns the name as a string, the same one for the same bytes.
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

// clean is the bytes as text that JSON can carry. Bytes that are no text, such as a binary key, are told
// apart by their hexadecimal digits.
func clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return "0x" + hex.EncodeToString(b)
}
