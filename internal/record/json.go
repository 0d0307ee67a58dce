package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// fields holds the known members of a JSON object: a record, a frame, an object of a frame, or a CloudEvent.
// Slices are parts of the value, or unescaped text.
type fields struct {
	texts
	time                time.Time
	vector              []float32
	hasVector           bool
	bytes               bool // the vector came as bytes
	attributes, field   []byte
	objects             []byte // nv.Frame
	specVersion, data   []byte // CloudEvents
	data64, contentType []byte
	kind, confidence    []byte // an object of a frame
	box, info           []byte
	timeText            []byte // time as it was written
	tensors, detection  []byte // DL Streamer
	source, roiType     []byte
	x, y, w, h          []byte
	network             []byte // that made the vector
	sensor, object      []byte // nv.Behavior
	end, embeddings     []byte
	about               json.RawMessage // attributes of an object; nil: its description
}

// read parses one JSON object. field is the name of the field that names the stream, "" for none.
func (f *fields) read(value []byte, field string, scratch []float32) *Rejection {
	*f = fields{vector: scratch[:0]}
	s := scanner{b: value}
	ok := s.object(func(name []byte) bool {
		if field != "" && string(name) == field {
			from := s.i
			f.field, _ = s.name("field " + field)
			if s.bad != nil {
				return false
			}
			s.i = from // read it again, as it may also be one of the known members
		}
		return f.member(&s, name)
	})
	if !ok || !s.end() {
		return s.bad
	}
	return nil
}

// jsonMembers are the members besides texts that are kept as they are: names, and values of any type.
var jsonMembers = map[string]struct {
	name string // for messages; "": a value
	of   func(*fields) *[]byte
}{
	"specversion":     {"specversion", func(f *fields) *[]byte { return &f.specVersion }},
	"data_base64":     {"data_base64", func(f *fields) *[]byte { return &f.data64 }},
	"datacontenttype": {"datacontenttype", func(f *fields) *[]byte { return &f.contentType }},
	"attributes":      {"", func(f *fields) *[]byte { return &f.attributes }},
	"objects":         {"", func(f *fields) *[]byte { return &f.objects }},
	"data":            {"", func(f *fields) *[]byte { return &f.data }},
	"type":            {"", func(f *fields) *[]byte { return &f.kind }},
	"confidence":      {"", func(f *fields) *[]byte { return &f.confidence }},
	"bbox":            {"", func(f *fields) *[]byte { return &f.box }},
	"info":            {"", func(f *fields) *[]byte { return &f.info }},
	"tensors":         {"", func(f *fields) *[]byte { return &f.tensors }},
	"detection":       {"", func(f *fields) *[]byte { return &f.detection }},
	"source":          {"", func(f *fields) *[]byte { return &f.source }},
	"roi_type":        {"", func(f *fields) *[]byte { return &f.roiType }},
	"x":               {"", func(f *fields) *[]byte { return &f.x }},
	"y":               {"", func(f *fields) *[]byte { return &f.y }},
	"w":               {"", func(f *fields) *[]byte { return &f.w }},
	"h":               {"", func(f *fields) *[]byte { return &f.h }},
	"sensor":          {"", func(f *fields) *[]byte { return &f.sensor }},
	"object":          {"", func(f *fields) *[]byte { return &f.object }},
	"end":             {"", func(f *fields) *[]byte { return &f.end }},
	"embeddings":      {"", func(f *fields) *[]byte { return &f.embeddings }},
}

func (f *fields) member(s *scanner, name []byte) (ok bool) {
	switch string(name) {
	case "time", "timestamp":
		var text []byte
		if text, ok = s.name(string(name)); ok && len(text) > 0 {
			var bad *Rejection
			f.timeText = text
			if f.time, bad = parseTime(text); bad != nil {
				s.bad, ok = bad.within(string(name)), false
			}
		}
		return ok
	case "vector", "embedding":
		return f.readVector(s, true)
	}
	if field, is := textField[string(name)]; is {
		f.texts[field], ok = s.name(fieldNames[field])
		return ok
	}
	known, is := jsonMembers[string(name)]
	switch {
	case !is:
		return s.pass(0)
	case known.name != "":
		*known.of(f), ok = s.name(known.name)
	default:
		*known.of(f), ok = value(s)
	}
	return ok
}

// value skips a value and returns its bytes; nil for null.
func value(s *scanner) ([]byte, bool) {
	if s.null() {
		return nil, true
	}
	return s.skip()
}

// readVector reads a vector: an array of numbers, base64 of little-endian float32, or, if nested, an object
// with one of these as its member "vector".
func (f *fields) readVector(s *scanner, nested bool) bool {
	switch c := s.next(); {
	case c == '[':
		f.hasVector = true
		var ok bool
		f.vector, ok = s.floats(f.vector[:0])
		return ok
	case c == '"':
		text, ok := s.text()
		if !ok {
			return false
		}
		var bad *Rejection
		if f.vector, bad = base64Vector(f.vector[:0], text); bad != nil {
			s.bad = bad.within("vector")
			return false
		}
		f.hasVector, f.bytes = true, true
		return true
	case c == '{' && nested:
		return s.object(func(name []byte) bool {
			if string(name) == "vector" {
				return f.readVector(s, false)
			}
			return s.pass(0)
		})
	case s.null():
		return true
	}
	return s.unexpected("an array of numbers or a base64 string")
}

// json decodes a JSON object: one embedding, a frame that holds several, or a CloudEvent around either.
func (d *Decoder) json(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, *Rejection) {
	if d.mapping != nil {
		mapped, reached, bad := d.mapped(raw, value, e, items)
		switch {
		case bad != nil || reached:
			return mapped, bad
		case !d.examples: // examples may also have the default format
			return items, reject(Unreadable, "nothing at vector-field %s", d.mapping.path)
		}
	}
	f := &d.fields
	bad := f.read(value, d.field, d.scratch)
	d.scratch = f.vector[:0]
	if bad != nil {
		return items, bad
	}
	if f.specVersion != nil && !f.hasVector && f.objects == nil {
		return d.structured(raw, f, e, items)
	}
	streamer := f.streamer()
	if streamer {
		f.streamerFrame()
	}
	e.over(f)
	switch {
	case f.objects != nil:
		return d.jsonFrame(raw, f, e, items)
	case f.hasVector:
	case streamer:
		return d.streamerTensors(raw, f, e, items)
	case f.behavior():
		return d.jsonBehavior(raw, f, e, items)
	}
	if !f.hasVector {
		return items, reject(Unreadable, "no vector")
	}
	e.bytes = f.bytes
	if d.field != "" && f.field == nil {
		if field, _ := memberName(f.attributes, d.field, d.field); field != nil {
			e.field = field
		}
	}
	return d.append(raw, e, items, clone(f.vector), -1, text(f.attributes))
}

// over overrides the envelope's fields with the value's own.
func (e *envelope) over(f *fields) {
	e.texts.over(&f.texts)
	if f.field != nil {
		e.field = f.field
	}
	if !f.time.IsZero() {
		e.time = f.time
	}
}

// clone returns a copy of the scratch vector.
func clone(v []float32) []float32 { return append(make([]float32, 0, len(v)), v...) }

// text returns a copy of JSON in valid UTF-8, so that results with it are valid JSON. As a copy it does not
// keep the whole record in memory.
func text(b []byte) json.RawMessage {
	if b == nil {
		return nil
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
}

// memberName reads the name at a member of a JSON object; nil: value is not an object, or has no such member.
// what names the member in errors.
func memberName(value []byte, member, what string) (found []byte, bad *Rejection) {
	if !object(value) {
		return nil, nil
	}
	s := scanner{b: value}
	s.object(func(name []byte) (ok bool) {
		if string(name) != member {
			return s.pass(0)
		}
		found, ok = s.name(what)
		return ok
	})
	return found, s.bad
}

// jsonFrame decodes nv.Frame in JSON. Each object with an embedding becomes an item.
func (d *Decoder) jsonFrame(raw *Raw, f *fields, e *envelope, items []Item) ([]Item, *Rejection) {
	frame := frame{d: d, raw: raw, envelope: e, id: f.texts[idField], items: items}
	if bad := frame.name(); bad != nil {
		return items, bad
	}
	s := scanner{b: f.objects}
	if !s.array(func(int) bool {
		if s.refuse(checkObjects(frame.count + 1)) {
			return false
		}
		b, ok := s.skip()
		if !ok {
			return false
		}
		var o fields
		bad := o.read(b, "", d.scratch)
		d.scratch = o.vector[:0]
		switch {
		case bad != nil:
		case o.tensors != nil:
			bad = o.tensor(d.options.Model, f.timeText)
		case o.hasVector:
			o.vector = clone(o.vector)
			bad = o.labelOfInfo()
		}
		frame.add(&o, bad)
		return true
	}) {
		return items, s.bad.within("objects")
	}
	return frame.end()
}

// labelOfInfo sets the label of an object without one from its info.
func (f *fields) labelOfInfo() (bad *Rejection) {
	if f.texts[labelField] == nil {
		f.texts[labelField], bad = memberName(f.info, "label", "info.label")
	}
	return bad
}

// parseTime reads RFC 3339, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970,
// distinguished by magnitude.
func parseTime(b []byte) (time.Time, *Rejection) {
	if len(b) > mostShown { // kept with each object of a frame, as zeros may make it as long as the record
		return time.Time{}, reject(TooLarge, "a time of %d bytes, %q...", len(b), short(b))
	}
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err == nil {
		return t.UTC(), nil
	}
	if n, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		switch size := max(n, -n); {
		case size < 1e11:
			t = time.Unix(n, 0)
		case size < 1e14:
			t = time.UnixMilli(n)
		case size < 1e17:
			t = time.UnixMicro(n)
		default:
			t = time.Unix(0, n)
		}
		return t.UTC(), nil
	}
	if x, err := strconv.ParseFloat(string(b), 64); err == nil && x > -1e11 && x < 1e11 {
		return time.UnixMicro(int64(x * 1e6)).UTC(), nil
	}
	return time.Time{}, reject(Unreadable, "%q is neither RFC 3339 nor a number of seconds since 1970", short(b))
}

// mostShown bounds the bytes of a time, and those of a wrong value in an error message.
const mostShown = 64

func short(b []byte) []byte { return b[:min(len(b), mostShown)] }
