// Package json stands in for github.com/goccy/go-json, of which the Arrow library offers its users a choice that nothing
// here makes: the standard library's package under that name, so that a newcomer does not compile another for an eighth of
// the time that the whole program takes.
package json

import (
	"encoding/json"
	"io"
)

// What the Arrow library names.
type (
	Decoder            = json.Decoder
	Encoder            = json.Encoder
	Marshaler          = json.Marshaler
	Unmarshaler        = json.Unmarshaler
	UnmarshalTypeError = json.UnmarshalTypeError
	Delim              = json.Delim
	Number             = json.Number
	RawMessage         = json.RawMessage
)

// Marshal is the standard library's.
func Marshal(v any) ([]byte, error) { return json.Marshal(v) }

// Unmarshal is the standard library's.
func Unmarshal(data []byte, v any) error { return json.Unmarshal(data, v) }

// NewDecoder is the standard library's.
func NewDecoder(r io.Reader) *Decoder { return json.NewDecoder(r) }

// NewEncoder is the standard library's.
func NewEncoder(w io.Writer) *Encoder { return json.NewEncoder(w) }
