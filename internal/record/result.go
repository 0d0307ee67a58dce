package record

import (
	"encoding/json"
	"reflect"
	"time"
	"unsafe"
)

// Result is the answer to one Item. This list is where a field of a result is added: JSON, the Avro schema, the columns
// of labelled files and the description of the topics follow from it. Tags: json has the name and whether an empty value
// is left out; avro:"-" keeps a field out of Avro; file:"column" makes it a column of labelled files; doc describes it.
type Result struct {
	ID           string          `json:"id" file:"column" doc:"TOPIC/PARTITION/OFFSET, and /OBJECT in a frame; a repeat has it too"`
	ItemID       string          `json:"itemId,omitempty" doc:"the sender's id of the item"`
	ReplayOf     string          `json:"replayOf,omitempty" doc:"the id that the item had before it was a dead letter"`
	Stream       string          `json:"stream" doc:"the stream that the item belongs to"`
	Settled      *bool           `json:"settled,omitempty" avro:"-" doc:"false in a first answer; a result has no such field"`
	Episode      int64           `json:"episode,omitzero" doc:"the number of the episode in its stream; a first answer has none"`
	Label        string          `json:"label" file:"column" doc:"the class, by its present name, or a cluster such as cluster-17"`
	Class        string          `json:"class,omitempty" doc:"the class itself, where a person gave it another name"`
	Identity     string          `json:"identity,omitempty" doc:"the thing over all streams, with --identities: GROUP/identity-5, or the name that people gave to it"`
	Confidence   float64         `json:"confidence" file:"column" doc:"of the label, 0 to 1"`
	Sure         *bool           `json:"sure,omitempty" doc:"whether the label is within --max-wrong"`
	SureFrom     float64         `json:"-"` // least confidence for Sure; 0: none
	Calibrated   bool            `json:"calibrated" file:"column" doc:"whether confidence was fitted to labelled items"`
	Unknown      bool            `json:"unknown" file:"column" doc:"whether the item is of no class that was taught"`
	UnknownScore float64         `json:"unknownScore" file:"column" doc:"0 at a labelled example, at most 2"`
	Alternatives []Alternative   `json:"alternatives,omitempty" doc:"the next best labels"`
	Time         time.Time       `json:"time" doc:"event time"`
	Model        string          `json:"model,omitempty" doc:"the embedder of the vector"`
	Attributes   json.RawMessage `json:"attributes,omitempty" doc:"what the record has beside its vector; in Avro a text of JSON"`
	// Vector is little-endian float32, as from AppendVector; nil: left out.
	Vector []byte       `json:"vector,omitempty" doc:"with --with-vector: base64 of little-endian float32, in Avro the numbers"`
	Source ResultSource `json:"source" doc:"the record that holds the item"`
}

// Alternative is another possible label of an item.
type Alternative struct {
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// ResultSource is the position of the record that a Result answers.
type ResultSource struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
}

// ResultFields are the fields of a result's record.
var ResultFields = fieldsOf(reflect.TypeFor[Result]())

// AppendResult appends the JSON of a result to dst. encoding/json decodes it to the same Result, except that
// scores are rounded to six decimals.
func AppendResult(dst []byte, r *Result) []byte {
	return appendFields(dst, ResultFields, unsafe.Pointer(r))
}
