package record

import (
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Of an info key that an object has twice the last value counts, as in every protobuf map.
func TestRepeatedInfo(t *testing.T) {
	var object []byte
	for _, e := range [][2]string{{"a", "1"}, {"a", "2"}, {"label", "x"}, {"label", "y"}} {
		b := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), e[0])
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), e[1])
		object = protowire.AppendBytes(protowire.AppendTag(object, 5, protowire.BytesType), b)
	}
	number := protowire.AppendFixed32(protowire.AppendTag(nil, 1, protowire.Fixed32Type), 0x3f800000)
	object = protowire.AppendBytes(protowire.AppendTag(object, 6, protowire.BytesType), number)
	frame := protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), object)
	d, err := NewDecoder(Options{})
	if err != nil {
		t.Fatal(err)
	}
	items, bad := d.Decode(t.Context(), &Raw{Topic: "in", Value: frame, Time: time.Now()}, nil)
	if bad != nil || len(items) != 1 || string(items[0].Attributes) != `{"info":{"a":"2","label":"y"}}` ||
		items[0].Label != "y" {
		t.Errorf("%+v, %v", items, bad)
	}
}
