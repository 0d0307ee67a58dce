package registry

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/twmb/avro"
)

// A time beyond the year 9999, as of nanoseconds sent for microseconds, is a text like any other: it may be
// in a field that nobody reads.
func TestTimesBeyondTheYear9999(t *testing.T) {
	schema := avro.MustParse(`{"type":"record","name":"r","fields":[{"name":"id","type":"string"},
		{"name":"at","type":{"type":"array","items":{"type":"long","logicalType":"timestamp-micros"}}}]}`)
	type r struct {
		ID string      `avro:"id"`
		At []time.Time `avro:"at"`
	}
	far := time.UnixMicro(1_700_000_000_000_000_000)
	payload, err := schema.Encode(&r{"a", []time.Time{far, time.Unix(0, 0)}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := avroJSON(schema, payload)
	var got struct {
		ID string
		At []string
	}
	if err != nil || json.Unmarshal(text, &got) != nil || got.ID != "a" || len(got.At) != 2 ||
		got.At[1] != "1970-01-01T00:00:00Z" {
		t.Errorf("%s, %v", text, err)
	}
}
