package record

import (
	"encoding/json"
	"reflect"
	"testing"
	"unsafe"
)

// A field of any kind that may be empty is left out as encoding/json leaves it out.
func TestEmptyFieldsAreLeftOut(t *testing.T) {
	type optional struct {
		Must   string          `json:"must"`
		Text   string          `json:"text,omitempty"`
		Number float64         `json:"number,omitempty"`
		Whole  int64           `json:"whole,omitzero"`
		Small  int32           `json:"small,omitzero"`
		Truth  *bool           `json:"truth,omitempty"`
		JSON   json.RawMessage `json:"json,omitempty"`
		Bytes  []byte          `json:"bytes,omitempty"`
		List   []Alternative   `json:"list,omitempty"`
	}
	fields, no := fieldsOf(reflect.TypeFor[optional]()), false
	for _, v := range []optional{
		{},
		{
			Text: "a", Number: .25, Whole: 1, Small: 2, Truth: &no, JSON: []byte(`{}`), Bytes: []byte{1},
			List: []Alternative{{Label: "b", Confidence: .5}},
		},
	} {
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := appendFields(nil, fields, unsafe.Pointer(&v)); string(got) != string(want) {
			t.Errorf("%s, not %s", got, want)
		}
	}
}
