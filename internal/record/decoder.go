package record

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Formats are the names of the forms a record's value may have where no content-type header says.
var Formats = []string{"auto", "json", "f32", "f16", "bf16", "nv", "cloudevents"}

// DefaultMaxBytes is the size above which a record is refused: far above what brokers take unless they are told to, so that
// a topic of large frames needs no setting here.
const DefaultMaxBytes = 16 << 20

// longestName bounds ids, labels, streams and models, in bytes.
const longestName = 1024

// Options say how records become items. The zero value decodes every form whose header or look tells it.
type Options struct {
	Format    string // one of Formats; "" is auto
	StreamBy  string // key, partition, header:NAME, field:NAME; "" is key
	Dimension int    // 0: of each model, that of its first good vector, unless Expect has told another
	Model     string // of records that name none
	MaxBytes  int    // a longer value is refused; 0 is DefaultMaxBytes
	TrackBy   string // record, or object: the ids of an nv.Frame's objects are tracks; "" is record
	// Alias lets vectors share memory with Raw.Value, which must then never be written to again. Keys always do.
	Alias bool
}

// Decoder turns records into items. One goroutine uses it at a time.
type Decoder struct {
	options    Options
	format     string
	header     string // stream by this header
	field      string // stream by this field
	partition  bool   // stream by partition
	dimensions map[string]int
	names      map[string]string // the few names that most records repeat
	frameName  string            // of the last item: the items of a frame share one string
	scratch    []float32
	fields     fields
	examples   bool // decoding the labels topic: keys name examples there, and streams only what says so itself
}

// NewDecoder returns a decoder, or an error that names the faulty setting.
func NewDecoder(o Options) (*Decoder, error) {
	d := &Decoder{options: o, format: o.Format, dimensions: map[string]int{}, names: map[string]string{}}
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
	if o.Dimension < 0 || o.MaxBytes < 0 {
		return nil, fmt.Errorf("dimension %d, record size %d: neither may be negative", o.Dimension, o.MaxBytes)
	}
	if d.options.MaxBytes == 0 {
		d.options.MaxBytes = DefaultMaxBytes
	}
	return d, nil
}

// Expect tells the dimension of a model's vectors, as its labels or its state have it. Options.Dimension stands above it.
func (d *Decoder) Expect(model string, dimension int) { d.dimensions[model] = dimension }

// Dimension is what a vector of that model must have; 0: not known yet.
func (d *Decoder) Dimension(model string) int {
	if d.options.Dimension > 0 {
		return d.options.Dimension
	}
	return d.dimensions[model]
}

// Decode appends the record's items to items. What it cannot use it reports as a *Rejection, for the dead letters: the
// whole record, or, beside the good items, those objects of a frame that are bad. A record without anything to label (a
// marker without a value, a frame without objects) gives neither.
func (d *Decoder) Decode(raw *Raw, items []Item) ([]Item, error) {
	if len(raw.Value) == 0 {
		if raw.Marker() {
			return items, nil
		}
		return items, reject(Unreadable, "the value is empty")
	}
	if len(raw.Value) > d.options.MaxBytes {
		return items, reject(TooLarge, "the value is %d bytes long, more than %d", len(raw.Value), d.options.MaxBytes)
	}
	items, rejection := d.decode(raw, items)
	if rejection != nil {
		return items, rejection
	}
	return items, nil
}

// Stream is the stream that a record without an embedding, a marker, belongs to.
func (d *Decoder) Stream(raw *Raw) string { return d.stream(raw, nil, nil) }

// envelope is what surrounds a value and speaks for it where it is silent itself.
type envelope struct {
	contentType              string
	id, stream, label, model []byte
	frame, track             []byte
	field                    []byte // the field that streams go by
	time                     time.Time
	traceParent              []byte
	within                   bool // of a CloudEvent: no other may lie in it
}

func (d *Decoder) decode(raw *Raw, items []Item) ([]Item, *Rejection) {
	var e envelope
	var bad *Rejection
	event := false
	for i := range raw.Headers {
		h := &raw.Headers[i]
		switch {
		case strings.EqualFold(h.Key, "content-type"):
			e.contentType = mediaType(h.Value)
		case h.Key == "traceparent":
			e.traceParent = h.Value
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
	return d.value(raw, raw.Value, &e, items)
}

// value decodes bytes in the form that the content type, else the format setting, else their look says.
func (d *Decoder) value(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, *Rejection) {
	form := d.form(value, e)
	switch form {
	case "json":
		return d.json(raw, value, e, items)
	case "cloudevents":
		return d.cloudEvent(raw, value, e, items)
	case "nv":
		return d.frame(raw, value, e, items)
	}
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

func (d *Decoder) form(value []byte, e *envelope) string {
	switch t := e.contentType; {
	case t == "application/cloudevents+json":
		return "cloudevents"
	case t == "application/json", t == "text/json", strings.HasSuffix(t, "+json"):
		return "json"
	case t == "application/protobuf", t == "application/x-protobuf", t == "application/vnd.google.protobuf":
		return "nv"
	case t == "application/x-f32", t == "application/x-f16", t == "application/x-bf16":
		return t[len("application/x-"):]
	case t == "application/octet-stream":
		if d.format == "f16" || d.format == "bf16" {
			return d.format
		}
		return "f32"
	}
	switch d.format {
	case "nv":
		if object(value) {
			return "json"
		}
		return "nv"
	case "cloudevents": // binary mode is told by its headers, and holds any form
		if !e.within {
			return "cloudevents"
		}
	case "auto":
	default:
		return d.format
	}
	switch {
	case object(value):
		return "json"
	case len(value) == 4*d.Dimension(d.options.Model):
		return "f32"
	case printable(value): // broken JSON, to be refused as that
		return "json"
	case isFrame(value):
		return "nv"
	}
	return "f32"
}

// printable says whether the value begins as text does.
func printable(value []byte) bool {
	const enough = 256
	for _, c := range value[:min(len(value), enough)] {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(value)
}

// object says whether the value looks like a JSON object.
func object(value []byte) bool {
	value = bytes.TrimSpace(value)
	return len(value) >= 2 && value[0] == '{' && value[len(value)-1] == '}'
}

// mediaType is a content type without its parameters, in lower case.
func mediaType(b []byte) string {
	t, _, _ := strings.Cut(string(b), ";")
	return strings.ToLower(strings.TrimSpace(t))
}

// rawHeaders reads the headers that speak for a value of raw bytes.
func (e *envelope) rawHeaders(raw *Raw) *Rejection {
	for i := range raw.Headers {
		switch h := &raw.Headers[i]; h.Key {
		case "id":
			e.id = h.Value
		case "stream", "sensorId":
			e.stream = h.Value
		case "label":
			e.label = h.Value
		case "model":
			e.model = h.Value
		case "frame":
			e.frame = h.Value
		case "track":
			e.track = h.Value
		case "time", "timestamp":
			var bad *Rejection
			if e.time, bad = parseTime(h.Value); bad != nil {
				return bad.within("header " + h.Key)
			}
		}
	}
	return nil
}

// AttributePrefix begins the name of a header that is an attribute of a raw record.
const AttributePrefix = "attr-"

// headerAttributes are the attributes that a raw record carries in its headers; nil if there are none. A value that is
// JSON is kept as it is, so that a box stays an array; any other is text.
func headerAttributes(raw *Raw) (json.RawMessage, *Rejection) {
	var b []byte
	for i := range raw.Headers {
		h := &raw.Headers[i]
		name, ok := strings.CutPrefix(h.Key, AttributePrefix)
		if !ok || name == "" {
			continue
		}
		if len(name) > longestName {
			return nil, reject(TooLarge, "a header's name is %d bytes long, more than %d", len(name), longestName)
		}
		if b == nil {
			b = append(b, '{')
		} else {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		if s := (scanner{b: h.Value}); s.pass(0) && s.end() {
			b = append(b, bytes.TrimSpace(h.Value)...)
		} else {
			b = appendString(b, string(h.Value))
		}
	}
	if b == nil {
		return nil, nil
	}
	return text(append(b, '}')), nil
}

// append adds one item, if its vector is good. The envelope speaks for the record; field is the value of the field that
// streams go by.
func (d *Decoder) append(raw *Raw, e *envelope, items []Item, vector []float32, object int32, attributes, field []byte) ([]Item, *Rejection) {
	for _, name := range [...]struct {
		what string
		text []byte
	}{{"id", e.id}, {"label", e.label}, {"model", e.model}, {"stream", e.stream}, {"frame", e.frame}, {"track", e.track}, {"field " + d.field, field}} {
		if len(name.text) > longestName {
			return items, reject(TooLarge, "%s is %d bytes long, more than %d", name.what, len(name.text), longestName)
		}
	}
	model := d.options.Model
	if len(e.model) > 0 {
		model = d.intern(e.model)
	}
	want := d.Dimension(model)
	if want > 0 && len(vector) != want {
		return items, reject(WrongDimension, "the vector has dimension %d, not %d", len(vector), want)
	}
	if bad := CheckVector(vector); bad != nil {
		return items, bad
	}
	if want == 0 {
		d.dimensions[model] = len(vector)
	}
	item := Item{
		Source: Source{raw.Topic, raw.Partition, raw.Offset, object}, Key: raw.Key, ItemID: clean(e.id),
		Stream: d.stream(raw, e.stream, field), Time: e.time, Vector: vector, Label: d.intern(e.label), Model: model,
		Frame: d.frameOf(e.frame), Track: d.intern(e.track), Attributes: attributes, TraceParent: clean(e.traceParent),
	}
	if item.Time.IsZero() {
		item.Time = raw.Time
	}
	return append(items, item), nil
}

// stream names the stream of an item whose sender calls it own; a record that does not say belongs to its partition's.
func (d *Decoder) stream(raw *Raw, own, field []byte) string {
	var name []byte
	switch {
	case d.examples:
		return d.intern(own)
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
	return d.intern(name)
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

// clean is the bytes as text that JSON can carry. Bytes that are no text, such as a binary key, are told apart by their
// hexadecimal digits.
func clean(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return "0x" + hex.EncodeToString(b)
}
