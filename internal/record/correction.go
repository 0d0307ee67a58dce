package record

import "time"

// Called is an item's label with its confidence.
type Called struct {
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
	Class      string  `json:"class,omitempty"` // before names; "": the label, or not said
}

// Cause is the reason for a changed label.
type Cause struct {
	Kind string `json:"kind"`         // taught, forgotten, renamed, rejected, answered again
	ID   string `json:"id,omitempty"` // of the record of the labels topic
	By   string `json:"by,omitempty"` // who wrote it
}

// Correction is a new label for an item that already has a result. Of several corrections for an ID the one
// of the highest revision holds; among equals, the last.
type Correction struct {
	ID       string    `json:"id"` // of the result
	Old      Called    `json:"old"`
	New      Called    `json:"new"`
	Cause    Cause     `json:"cause"`
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"` // of the cause
}

// Out returns the record of a correction. key is the key of the item's result.
func (c *Correction) Out(topic string, key []byte, also ...Header) Out {
	return Out{
		Topic: topic, Partition: -1, Key: key, Value: appendJSON(nil, c),
		Headers: append([]Header{{TimeHeader, AppendTime(nil, c.Time)}}, also...),
	}
}
