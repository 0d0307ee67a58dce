package record

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The fields of an item that are texts. Headers, CloudEvents, JSON and paths name them alike.
const (
	idField = iota
	streamField
	labelField
	modelField
	frameField
	trackField
	parentField // the trace context's
	stateField
	textFields
)

var fieldNames = [textFields]string{
	"id", "stream", "label", "model", "frame", "track", "traceparent", "tracestate",
}

// textField returns the field of a name; an extension of a CloudEvent has its name in lower case.
var textField = map[string]int{
	"id": idField, "stream": streamField, "sensorId": streamField, "sensorid": streamField, "label": labelField,
	"model": modelField, "frame": frameField, "track": trackField, "traceparent": parentField,
	"tracestate": stateField,
}

// texts holds the values of these fields; nil: none.
type texts [textFields][]byte

// over sets the fields that other has.
func (t *texts) over(other *texts) {
	for field, value := range other {
		if len(value) > 0 {
			t[field] = value
		}
	}
}

// eventPrefix begins the headers of a CloudEvent in binary mode.
const eventPrefix = "ce_"

// headers reads the fields of an item from its record's headers: those of a raw vector, or with eventPrefix
// the context attributes and extensions of a CloudEvent. Fields that are set stay.
func (e *envelope) headers(raw *Raw, prefix string) *Rejection {
	for i := len(raw.Headers) - 1; i >= 0; i-- { // of several headers of a name the last counts
		h := &raw.Headers[i]
		if len(h.Key) < len(prefix) || !strings.EqualFold(h.Key[:len(prefix)], prefix) {
			continue
		}
		name := h.Key[len(prefix):]
		if prefix != "" {
			name = strings.ToLower(name)
		}
		if field, ok := textField[name]; ok && e.texts[field] == nil {
			e.texts[field] = h.Value
		}
		if (name == "time" || name == "timestamp") && e.time.IsZero() {
			var bad *Rejection
			if e.time, bad = parseTime(h.Value); bad != nil {
				return bad.within("header " + h.Key)
			}
		}
	}
	return nil
}

// AttributePrefix begins the names of headers that are attributes of a raw vector.
const AttributePrefix = "attr-"

const longestHeader = 1024 // of the name of an attribute

// headerAttributes returns the attributes in a raw vector's headers; nil if there are none. A JSON value
// stays JSON, so that a box stays an array; any other becomes a string.
func headerAttributes(raw *Raw) (json.RawMessage, *Rejection) {
	var about members
	for i := range raw.Headers {
		h := &raw.Headers[i]
		name, ok := strings.CutPrefix(h.Key, AttributePrefix)
		if !ok || name == "" {
			continue
		}
		if len(name) > longestHeader {
			return nil, reject(TooLarge, "a header's name is %d bytes long, more than %d", len(name), longestHeader)
		}
		if s := (scanner{b: h.Value}); s.pass(0) && s.end() {
			about.add(name, bytes.TrimSpace(h.Value))
		} else {
			about.add(name, appendString(nil, string(h.Value)))
		}
	}
	return text(about.json()), nil
}
