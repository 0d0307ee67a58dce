package record

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// field is something that a record says: of itself, of a frame, of an object, or of an event around it.
type field int

const (
	// Texts that an item takes over.
	idField field = iota
	streamField
	labelField
	modelField
	frameField
	trackField
	parentField // the trace context's
	stateField
	// Other texts.
	timeField
	versionField // CloudEvents
	dataTypeField
	data64Field
	vectorField
	// Values that are kept as JSON.
	attributesField
	objectsField // nv.Frame; or the list at a path
	dataField    // CloudEvents
	kindField    // an object of a frame
	confidenceField
	boxField
	infoField
	tensorsField // DL Streamer
	detectionField
	sourceField
	roiField
	xField
	yField
	wField
	hField
	allFields
	nowhere = field(-1)
)

const textFields = stateField + 1

// node is a position in JSON that is known.
type node struct {
	name  string // in messages
	field field
	below map[string]*node // known members, by name
}

// members are the known members of a record, an object of a frame, or a CloudEvent. Headers have the names of
// texts and times too; an extension of a CloudEvent has its name in lower case.
var members = func() map[string]*node {
	all := map[string]*node{}
	for name, field := range map[string]field{
		"id": idField, "stream": streamField, "sensorId": streamField, "sensorid": streamField,
		"label": labelField, "model": modelField, "frame": frameField, "track": trackField,
		"traceparent": parentField, "tracestate": stateField,
		"time": timeField, "timestamp": timeField, "vector": vectorField, "embedding": vectorField,
		"specversion": versionField, "datacontenttype": dataTypeField, "data_base64": data64Field,
		"attributes": attributesField, "objects": objectsField, "data": dataField, "type": kindField,
		"confidence": confidenceField, "bbox": boxField, "info": infoField, "tensors": tensorsField,
		"detection": detectionField, "source": sourceField, "roi_type": roiField,
		"x": xField, "y": yField, "w": wField, "h": hField,
	} {
		all[name] = &node{name: name, field: field}
	}
	return all
}()

// textNames are the names of an item's texts in messages.
var textNames = [parentField]string{"id", "stream", "label", "model", "frame", "track"}

// texts holds the fields that are texts; nil: none.
type texts [textFields][]byte

// fields are the fields of a JSON object. Values are parts of it, or unescaped text; nil: none.
type fields struct {
	values    [allFields][]byte
	time      time.Time
	vector    []float32
	hasVector bool
	bytes     bool            // the vector came as bytes, not as JSON numbers
	stream    []byte          // the field that names the stream, by the setting
	network   []byte          // that made the vector
	about     json.RawMessage // attributes of an object; nil: its description
	mapped    bool            // read by paths: a time is kept as text, and a faulty value fails its item alone
	bad       *Rejection      // of a mapped item
}

// read reads the object at the cursor. stream is the name of the member that names the stream, "" for none;
// the vector is in scratch if it fits.
func (f *fields) read(s *scanner, stream string, scratch []float32) bool {
	*f = fields{vector: scratch[:0]}
	return s.object(func(name []byte) bool {
		if stream != "" && string(name) == stream {
			from := s.i
			f.stream, _ = s.name("field " + stream)
			if s.bad != nil {
				return false
			}
			s.i = from // read it again, as it may also be one of the known members
		}
		if p := members[string(name)]; p != nil {
			return f.take(s, p)
		}
		return s.pass(0)
	})
}

// take reads the value at the cursor into the field of its node.
func (f *fields) take(s *scanner, p *node) (ok bool) {
	from, to := s.i, p.field
	switch {
	case to == vectorField:
		ok = f.readVector(s, true)
		f.hasVector = f.hasVector || f.mapped && !(ok && s.b[from] == 'n')
	case to < vectorField:
		f.values[to], ok = s.name(p.name)
		if ok && to == timeField && !f.mapped && len(f.values[to]) > 0 {
			var bad *Rejection
			if f.time, bad = parseTime(f.values[to]); bad != nil {
				s.bad, ok = bad.within(p.name), false
			}
		}
	case s.null():
		f.values[to], ok = nil, true
	default:
		f.values[to], ok = s.skip()
	}
	if !ok && f.mapped {
		f.bad, s.bad, s.i = s.bad, nil, from
		return s.pass(0)
	}
	return ok
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
			if len(text) > mostShown || bytes.HasPrefix(text, []byte("[")) { // else it is something else than a vector
				s.bad = bad.within("vector")
				return false
			}
			return s.noVector(strconv.Quote(string(text)) + ", " + bad.Reason)
		}
		f.hasVector, f.bytes = true, true
		return true
	case c == '{' && nested:
		ok := s.object(func(name []byte) bool {
			if string(name) == "vector" {
				return f.readVector(s, false)
			}
			return s.pass(0)
		})
		if ok && f.mapped && !f.hasVector {
			return s.noVector("an object")
		}
		return ok
	case s.null():
		return true
	}
	found, ok := s.found()
	return ok && s.noVector(found)
}

// noVector fails with what was found where the vector should be.
func (s *scanner) noVector(found string) bool {
	s.bad = reject(Unreadable, "the vector is %s: a list of numbers or a base64 text is read; --vector-field names it, and "+
		"slkstream map shows where lists of numbers are", found)
	return false
}

// over overrides the envelope's fields with those that f has.
func (e *envelope) over(f *fields) {
	for field, value := range f.values[:textFields] {
		if len(value) > 0 {
			e.texts[field] = value
		}
	}
	if f.stream != nil {
		e.stream = f.stream
	}
	if !f.time.IsZero() {
		e.time = f.time
	}
}

// labelOfInfo sets the label of an object without one from its info.
func (f *fields) labelOfInfo() (bad *Rejection) {
	if f.values[labelField] == nil {
		f.values[labelField], bad = memberName(f.values[infoField], "label", "info.label")
	}
	return bad
}

// memberName reads the name at a member of a JSON object; nil: value is not an object, or has no such member.
// what names the member in errors.
func memberName(value []byte, member, what string) (found []byte, bad *Rejection) {
	if !isObject(value) {
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

// clone returns a copy of the scratch vector.
func clone(v []float32) []float32 { return append([]float32(nil), v...) } // without clearing it before

// text returns a copy of JSON in valid UTF-8, so that results with it are valid JSON. As a copy it does not
// keep the whole record in memory.
func text(b []byte) json.RawMessage {
	if b == nil {
		return nil
	}
	return bytes.ToValidUTF8(b, []byte("\ufffd"))
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
	if _, err := time.Parse("2006-01-02T15:04:05.999999999", strings.Replace(string(b), " ", "T", 1)); err == nil {
		return time.Time{}, reject(Unreadable, "%q has no time zone: RFC 3339 ends in Z, or in one such as +01:00", short(b))
	}
	return time.Time{}, reject(Unreadable, "%q is neither RFC 3339 nor a number of seconds since 1970", short(b))
}

// ParseTime reads a time as records have it: RFC 3339, or a number since 1970, whose size tells its unit.
func ParseTime(text string) (time.Time, error) {
	t, bad := parseTime([]byte(text))
	if bad != nil {
		return t, bad
	}
	return NearestTime(t), nil
}

// mostShown bounds the bytes of a time, and those of a wrong value in an error message.
const mostShown = 64

func short(b []byte) []byte { return b[:min(len(b), mostShown)] }
