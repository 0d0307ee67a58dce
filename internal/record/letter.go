package record

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// IDHeader on an input record is the id of the record that it repeats; its answer carries it as replayOf.
	// Any sender may write it, so it counts only if that position is before the record in the same partition.
	IDHeader = "slkstream-id"
	// ReplayedHeader is the position of a dead letter, PARTITION/OFFSET. It is on the input record that replays
	// the letter, and on the mark in the dead-letter topic; see Mark.
	ReplayedHeader = "slkstream-replayed"
)

// Letter is a dead letter, decoded.
type Letter struct {
	Raw       *Raw   // the letter's own record
	Reason    string // why the record was rejected
	Source    Source // the position of the rejected record; for an item of a frame, of the frame
	ID        string // the id that the record's answer would have had
	Time      time.Time
	Truncated bool
}

// ReadLetter decodes a record of a dead-letter topic; false: it is not a dead letter.
func ReadLetter(raw *Raw) (Letter, bool) {
	has := map[string]string{}
	for _, h := range raw.Headers {
		has[h.Key] = string(h.Value)
	}
	reason, rejected := has[ErrorHeader]
	_, truncated := has[TruncatedHeader]
	partition, bad := strconv.ParseInt(has[PartitionHeader], 10, 32)
	offset, worse := strconv.ParseInt(has[OffsetHeader], 10, 64)
	l := Letter{
		Raw: raw, Reason: reason, Time: raw.Time, Truncated: truncated,
		Source: Source{has[TopicHeader], int32(partition), offset, -1},
	}
	if t, err := time.Parse(time.RFC3339Nano, has[TimeHeader]); err == nil {
		l.Time = t
	}
	l.ID = cmp.Or(has[IDHeader], l.Source.ID())
	return l, rejected && l.Source.Topic != "" && cmp.Or(bad, worse) == nil && min(partition, offset) >= 0
}

// Position returns the letter's own position, as in ReplayedHeader.
func (l *Letter) Position() string { return fmt.Sprintf("%d/%d", l.Raw.Partition, l.Raw.Offset) }

// ReplayedLetter returns the position of the replayed letter in a mark; false: raw is not a mark.
func ReplayedLetter(raw *Raw) (position string, ok bool) {
	for _, h := range raw.Headers {
		switch h.Key {
		case ErrorHeader:
			return "", false
		case ReplayedHeader:
			position, ok = string(h.Value), true
		}
	}
	return position, ok
}

// ErrTruncated is returned by Replay for a letter that lacks a part of its record.
var ErrTruncated = errors.New("it was cut to fit the topic of dead letters: send the record itself again")

// Replay returns the input record that replays the letter. Its answer carries the id of the original answer
// as replayOf.
func (l *Letter) Replay() (Out, error) {
	if l.Truncated {
		return Out{}, ErrTruncated
	}
	out := Out{Topic: l.Source.Topic, Partition: l.Source.Partition, Key: l.Raw.Key, Value: l.Raw.Value}
	for _, h := range l.Raw.Headers {
		if !ours(h.Key) && h.Key != IDHeader {
			out.Headers = append(out.Headers, h)
		}
	}
	out.Headers = append(out.Headers,
		Header{IDHeader, []byte(l.ID)}, Header{ReplayedHeader, []byte(l.Position())})
	return out, nil
}

// Mark returns the record for the dead-letter topic that marks the letter as replayed.
func (l *Letter) Mark() Out {
	return Out{
		Topic: l.Raw.Topic, Partition: l.Raw.Partition, Key: l.Raw.Key, Value: []byte{},
		Headers: []Header{{ReplayedHeader, []byte(l.Position())}},
	}
}

// ours says whether a header belongs to the dead letter, not to its record.
func ours(name string) bool {
	switch strings.ToLower(name) {
	case ErrorHeader, TopicHeader, PartitionHeader, OffsetHeader, TruncatedHeader, LeftOutHeader, TimeHeader,
		ReplayedHeader:
		return true
	}
	return false
}

// firstID returns the id in IDHeader, "" if it is not valid for the record.
func firstID(raw *Raw, header []byte) string {
	id := string(header)
	s, ok := ParseID(id)
	if !ok || s.Topic != raw.Topic || s.Partition != raw.Partition || s.Offset >= raw.Offset {
		return ""
	}
	return id
}
