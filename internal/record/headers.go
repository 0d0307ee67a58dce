package record

import (
	"bytes"
	"encoding/json"
	"strings"
)

// named stores a header with the name of one of a record's own fields, and ignores others.
func (e *envelope) named(name string, value []byte) {
	switch name {
	case "id":
		e.id = value
	case "stream":
		e.stream = value
	case "label":
		e.label = value
	case "model":
		e.model = value
	case "frame":
		e.frame = value
	case "track":
		e.track = value
	}
}

// rawHeaders reads the fields of a raw vector from its headers.
func (e *envelope) rawHeaders(raw *Raw) *Rejection {
	for i := range raw.Headers {
		switch h := &raw.Headers[i]; h.Key {
		case "sensorId":
			e.stream = h.Value
		case "time", "timestamp":
			var bad *Rejection
			if e.time, bad = parseTime(h.Value); bad != nil {
				return bad.within("header " + h.Key)
			}
		default:
			e.named(h.Key, h.Value)
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
