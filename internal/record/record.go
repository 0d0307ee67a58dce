// Package record holds the wire forms: what a Kafka record is, the embeddings one may carry, and the results that
// answer them.
package record

import (
	"encoding/json"
	"fmt"
	"time"
)

// Header is a Kafka record header.
type Header struct {
	Key   string
	Value []byte
}

// Raw is a Kafka record as it stands in its partition.
type Raw struct {
	Topic      string
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []Header
	Time       time.Time
}

// Source is the place of one embedding: a record, and the object within it where a record holds several.
type Source struct {
	Topic     string
	Partition int32
	Offset    int64
	Object    int32 // -1 where the record is the embedding
}

// ID names the answer to the embedding at this place. It depends on the place only, so that a repeat carries the same one.
func (s Source) ID() string {
	if s.Object < 0 {
		return fmt.Sprintf("%s/%d/%d", s.Topic, s.Partition, s.Offset)
	}
	return fmt.Sprintf("%s/%d/%d/%d", s.Topic, s.Partition, s.Offset, s.Object)
}

// Item is one embedding on its way through the house.
type Item struct {
	Source      Source
	Key         []byte // the record's key, which its answer carries too
	ItemID      string // the sender's own name for it
	Stream      string
	Time        time.Time // event time
	Vector      []float32
	Label       string // not empty: it teaches
	Model       string
	Attributes  json.RawMessage
	TraceParent string
}

// Out is a record to be written.
type Out struct {
	Topic      string
	Partition  int32 // -1: by key, as Java's partitioner does
	Key, Value []byte
	Headers    []Header
	Time       time.Time
}

// Alternative is another label an item might have had.
type Alternative struct {
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// Result is the answer to one Item.
type Result struct {
	ID           string          `json:"id"`
	ItemID       string          `json:"itemId,omitempty"`
	Stream       string          `json:"stream"`
	Episode      int64           `json:"episode"`
	Label        string          `json:"label"`
	Confidence   float64         `json:"confidence"`
	Calibrated   bool            `json:"calibrated"`
	Unknown      bool            `json:"unknown"`
	UnknownScore float64         `json:"unknownScore"`
	Alternatives []Alternative   `json:"alternatives,omitempty"`
	Time         time.Time       `json:"time"`
	Model        string          `json:"model,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Source       ResultSource    `json:"source"`
}

// ResultSource repeats the place of the item a Result answers.
type ResultSource struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}
