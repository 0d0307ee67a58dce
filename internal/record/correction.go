package record

import "time"

// Called is what an item is called, and how sure that is.
type Called struct {
	Label      string  `json:"label"`
	Confidence float64 `json:"confidence"`
}

// Cause is why an item is called something else.
type Cause struct {
	Kind string `json:"kind"`         // taught, forgotten, renamed, rejected, answered again
	ID   string `json:"id,omitempty"` // of the record of the labels topic
	By   string `json:"by,omitempty"` // who wrote it
}

// Correction says that an item that has a result is called something else since. Of several for an ID the one of
// the highest revision stands, of equals the last.
type Correction struct {
	ID       string    `json:"id"` // of the result
	Old      Called    `json:"old"`
	New      Called    `json:"new"`
	Cause    Cause     `json:"cause"`
	Revision int64     `json:"revision"`
	Time     time.Time `json:"time"` // of the cause
}

// Out is the record of a correction. It has the key of the item's result.
func (c *Correction) Out(topic string, key []byte) Out {
	return Out{
		Topic: topic, Partition: -1, Key: key, Value: appendJSON(nil, c),
		Headers: []Header{{TimeHeader, AppendTime(nil, c.Time)}},
	}
}
