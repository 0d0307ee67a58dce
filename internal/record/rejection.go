package record

import (
	"fmt"
	"strconv"
)

// Fault classes what is wrong with a refused record; it is a metric's label, so there are few.
type Fault string

// Faults a record is refused for.
const (
	Unreadable     Fault = "unreadable" // cannot be parsed
	WrongDimension Fault = "dimension"
	BadValue       Fault = "value" // NaN, Inf, a zero vector, or a length out of float32's reach
	TooLarge       Fault = "size"
	UnknownSchema  Fault = "schema" // the registry does not know it
)

// Faults lists them all.
var Faults = []Fault{Unreadable, WrongDimension, BadValue, TooLarge, UnknownSchema}

// Rejection is the error of a record, or of some of its objects, that cannot be answered. It goes to the dead
// letters.
type Rejection struct {
	Fault  Fault
	Reason string
}

func (r *Rejection) Error() string { return r.Reason }

// Reject is the error of a record that cannot be answered for the reason.
func Reject(f Fault, format string, values ...any) *Rejection { return reject(f, format, values...) }

func reject(f Fault, format string, values ...any) *Rejection {
	return &Rejection{f, fmt.Sprintf(format, values...)}
}

// Why a record may hold nothing to answer; a metric's label, so there are few.
const (
	NoObjects    = "a frame without objects"
	NoEmbeddings = "no object has an embedding"
)

// Empty is the error of a record that is well and holds nothing to answer. It is no dead letter; it is
// counted by its reason and told.
type Empty struct{ Reason string }

func (e *Empty) Error() string { return "nothing to answer: " + e.Reason }

// within names the part of the record that a rejection is about.
func (r *Rejection) within(position string) *Rejection {
	return &Rejection{r.Fault, position + ": " + r.Reason}
}

// Headers of a dead letter.
const (
	ErrorHeader     = "slkstream-error"
	TopicHeader     = "slkstream-topic"
	PartitionHeader = "slkstream-partition"
	OffsetHeader    = "slkstream-offset"
	TruncatedHeader = "slkstream-truncated"
	// TimeHeader holds the time of what a record of ours is about, RFC 3339: of the embedding that a result
	// answers, of the record that a dead letter keeps. Their own timestamps are those of writing, which brokers
	// take and retention goes by.
	TimeHeader = "slkstream-time"
)

// DeadLetter is the record that keeps a refused one: its bytes, key and headers, and why and where it was
// refused. Its own timestamp is that of writing: the refused record's, which may be what is wrong with it, is
// in a header. A value longer than limit is cut to it, which a header says; limit 0 keeps every value whole.
// What its topic does not take is made smaller until it fits.
func DeadLetter(topic string, raw *Raw, reason string, limit int) Out {
	out := Out{Topic: topic, Partition: -1, Key: raw.Key, Value: raw.Value, Fallback: letter{}}
	for _, h := range raw.Headers {
		if !ours(h.Key) { // a dead letter fed back and refused again says why it was refused this time
			out.Headers = append(out.Headers, h)
		}
	}
	out.Headers = append(out.Headers,
		Header{ErrorHeader, []byte(reason)},
		Header{TopicHeader, []byte(raw.Topic)},
		Header{PartitionHeader, strconv.AppendInt(nil, int64(raw.Partition), 10)},
		Header{OffsetHeader, strconv.AppendInt(nil, raw.Offset, 10)})
	if !raw.Time.IsZero() {
		out.Headers = append(out.Headers, Header{TimeHeader, AppendTime(nil, raw.Time)})
	}
	cut := raw.Rejected != nil
	if limit > 0 && len(out.Value) > limit {
		out.Value, cut = out.Value[:limit], true
	}
	if cut {
		out.Headers = append(out.Headers, Header{TruncatedHeader, []byte("true")})
	}
	return out
}
