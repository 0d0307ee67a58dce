package record

import "encoding/json"

// object builds a JSON object. Empty values are left out.
type object []byte

// add appends a value that is JSON.
func (m *object) add(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	opening := byte(',')
	if *m == nil {
		opening = '{'
	}
	*m = append(append(appendString(append(*m, opening), name), ':'), value...)
}

func (m *object) text(name, value string) {
	if value != "" {
		m.add(name, appendString(nil, value))
	}
}

// json returns the object, nil if nothing was added.
func (m object) json() json.RawMessage {
	if m == nil {
		return nil
	}
	return json.RawMessage(append(m, '}'))
}
