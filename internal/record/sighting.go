package record

import "time"

// Kinds of events of identities.
const (
	IdentityNew  = "identity-new"
	IdentitySeen = "identity-seen"
)

// Sighting says that a stream sees an identity, beside the episodes in their topic: the first of an identity is
// IdentityNew. A repeat, after another process took the link over, has the same stream and a time less than a minute later.
type Sighting struct {
	Events   []string  `json:"events" doc:"identity-new or identity-seen, and the identity"`
	Identity string    `json:"identity" doc:"its id: GROUP/identity-5"`
	Label    string    `json:"label,omitempty" doc:"what people call it"`
	Stream   string    `json:"stream" doc:"the stream that sees it"`
	Cluster  string    `json:"cluster" doc:"what the stream calls it"`
	Model    string    `json:"model,omitempty" doc:"the embedder"`
	Before   string    `json:"before,omitempty" doc:"the stream that saw it last before"`
	Gap      *float64  `json:"gap,omitempty" doc:"seconds since then"`
	Item     string    `json:"item,omitempty" doc:"the id of the result of the item"`
	Time     time.Time `json:"time" doc:"event time of the item"`
}

// Record returns the record of the sighting. Those of an identity are in one partition, in order.
func (s *Sighting) Record(topic string) Out {
	x := *s
	x.Time = NearestTime(x.Time)
	return Out{
		Topic: topic, Partition: -1, Key: []byte(x.Identity), Value: appendJSON(nil, &x),
		Headers: []Header{isJSON, {TimeHeader, AppendTime(nil, x.Time)}},
	}
}
