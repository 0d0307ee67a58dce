package record

import (
	"bytes"
	"encoding/json"
	"strings"
)

// eventPrefix begins the headers of a CloudEvent in binary mode.
const eventPrefix = "ce_"

// headers reads the fields of an item from its record's headers: those of a raw vector, or with eventPrefix
// the context attributes and extensions of a CloudEvent. Fields that are set stay.
func (d *Decoder) headers(prefix string) *Rejection {
	e := &d.envelope
	for i := len(d.raw.Headers) - 1; i >= 0; i-- { // of several headers of a name the last counts
		h := &d.raw.Headers[i]
		if len(h.Key) < len(prefix) || !strings.EqualFold(h.Key[:len(prefix)], prefix) {
			continue
		}
		name := h.Key[len(prefix):]
		if prefix != "" {
			name = strings.ToLower(name)
		}
		switch member := members[name]; {
		case member == nil:
		case member.field < textFields && e.texts[member.field] == nil:
			e.texts[member.field] = h.Value
		case member.field == timeField && e.time.IsZero():
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
	var about object
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
