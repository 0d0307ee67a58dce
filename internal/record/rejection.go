package record

import (
	"errors"
	"fmt"
	"strconv"
)

// Fault classifies a rejection. It is a label of metrics, so there must be few values.
type Fault string

// The faults for which records are rejected.
const (
	Unreadable     Fault = "unreadable" // cannot be parsed
	WrongDimension Fault = "dimension"
	BadValue       Fault = "value" // NaN, Inf, a zero vector, or a norm outside the supported range
	TooLarge       Fault = "size"
	UnknownSchema  Fault = "schema" // not in the registry, or unusable
)

// Faults lists all faults.
var Faults = []Fault{Unreadable, WrongDimension, BadValue, TooLarge, UnknownSchema}

// Rejection is the error for a record, or some of its objects, that cannot be answered and must go to the
// dead letters.
type Rejection struct {
	Fault  Fault
	Reason string

	missing bool // it is an ErrNoVector
}

// ErrNoVector is what the error of a record or a file is that has nothing where its vector should be.
var ErrNoVector = errors.New("no vector")

func (r *Rejection) Error() string { return r.Reason }

// Is says that the rejection is an ErrNoVector.
func (r *Rejection) Is(target error) bool { return r.missing && target == ErrNoVector }

// Reject returns a Rejection with a formatted reason.
func Reject(f Fault, format string, values ...any) *Rejection { return reject(f, format, values...) }

func reject(f Fault, format string, values ...any) *Rejection {
	return &Rejection{Fault: f, Reason: fmt.Sprintf(format, values...)}
}

// The reasons of Empty. They are a label of metrics, so there must be few values.
const (
	NoObjects    = "a frame without objects"
	NoEmbeddings = "no object has an embedding"
)

// Empty is the error for a valid record without anything to answer. The record does not go to the dead
// letters; it is counted by its reason and logged.
type Empty struct{ Reason string }

func (e *Empty) Error() string { return "nothing to answer: " + e.Reason }

// within adds the faulty part of the record to the reason.
func (r *Rejection) within(position string) *Rejection {
	return &Rejection{r.Fault, position + ": " + r.Reason, r.missing}
}

// Headers of a dead letter.
const (
	ErrorHeader     = "slkstream-error"
	TopicHeader     = "slkstream-topic"
	PartitionHeader = "slkstream-partition"
	OffsetHeader    = "slkstream-offset"
	TruncatedHeader = "slkstream-truncated"
	// TimeHeader holds the event time, RFC 3339: of the embedding that a result answers, or of the record in a
	// dead letter. The timestamp of the written record itself is the time of writing, because brokers may reject
	// other times, and retention uses it.
	TimeHeader = "slkstream-time"
	// LabelsHeader holds the position in the labels topic as of which a result or a correction was made: the
	// next offset of each partition.
	LabelsHeader = "slkstream-labels"
)

// DeadLetter returns the dead letter of a rejected record: its value, key and headers, and headers with the
// reason and its position. The rejected record's time, which may be the fault, is in a header; the letter's
// timestamp is the time of writing. A value longer than limit is cut, which a header marks; limit 0: no
// limit. If the topic rejects the letter for its size, its Fallback makes it smaller.
func DeadLetter(topic string, raw *Raw, reason string, limit int) Out {
	out := Out{Topic: topic, Partition: -1, Key: raw.Key, Value: raw.Value, Fallback: letter{}}
	for _, h := range raw.Headers {
		if !ours(h.Key) { // a replayed dead letter may be rejected again: drop the first rejection's headers
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

// found skips the value at the cursor and describes it for a message.
func (s *scanner) found() (string, bool) {
	value, ok := s.skip()
	switch {
	case !ok:
		return "", false
	case value[0] == '{':
		return "an object", true
	case value[0] == '[':
		return "a list", true
	}
	return string(short(value)), true
}
