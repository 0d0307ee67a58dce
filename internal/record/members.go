package record

import "encoding/json"

// members builds a JSON object. Empty values are left out.
type members []byte

// add appends a value that is JSON.
func (m *members) add(name string, value []byte) {
	if len(value) == 0 {
		return
	}
	opening := byte(',')
	if *m == nil {
		opening = '{'
	}
	*m = append(append(appendString(append(*m, opening), name), ':'), value...)
}

func (m *members) text(name, value string) {
	if value != "" {
		m.add(name, appendString(nil, value))
	}
}

// json returns the object, nil if nothing was added.
func (m members) json() json.RawMessage {
	if m == nil {
		return nil
	}
	return json.RawMessage(append(m, '}'))
}
