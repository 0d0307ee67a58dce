package record

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// IDHeader on an input record is the id of the record that it repeats, which its answer names beside an id
	// of its own: any sender may write it. It counts only where that position lies before the record, in its
	// partition.
	IDHeader = "slkstream-id"
	// ReplayedHeader is the position of a dead letter, PARTITION/OFFSET: on the input record that it was
	// replayed as, and, in the topic of the dead letters, on the mark that says so.
	ReplayedHeader = "slkstream-replayed"
)

// Letter is a dead letter as it is read back.
type Letter struct {
	Raw       *Raw   // as it stands in its topic
	Reason    string // why it is there
	Source    Source // the position of the record that it keeps; of an item in a frame, of the frame
	ID        string // the id that the answer of its record would have carried
	Time      time.Time
	Truncated bool
}

// ReadLetter reads a record of a topic of dead letters; false: it is none.
func ReadLetter(raw *Raw) (Letter, bool) {
	l := Letter{Raw: raw, Source: Source{Partition: -1, Offset: -1, Object: -1}, Time: raw.Time}
	found := false
	for _, h := range raw.Headers {
		value := string(h.Value)
		switch h.Key {
		case ErrorHeader:
			l.Reason, found = value, true
		case TopicHeader:
			l.Source.Topic = value
		case PartitionHeader:
			if n, err := strconv.ParseInt(value, 10, 32); err == nil {
				l.Source.Partition = int32(n)
			}
		case OffsetHeader:
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				l.Source.Offset = n
			}
		case TimeHeader:
			if t, err := time.Parse(time.RFC3339Nano, value); err == nil {
				l.Time = t
			}
		case IDHeader:
			l.ID = value
		case TruncatedHeader:
			l.Truncated = true
		}
	}
	if l.ID == "" {
		l.ID = l.Source.ID()
	}
	return l, found && l.Source.Topic != "" && l.Source.Partition >= 0 && l.Source.Offset >= 0
}

// Position is where the letter stands, as ReplayedHeader says it.
func (l *Letter) Position() string { return fmt.Sprintf("%d/%d", l.Raw.Partition, l.Raw.Offset) }

// ReplayedLetter is the position of the letter that a mark says was replayed; false: raw is no mark.
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

// ErrTruncated is returned by Replay for a letter that is not all of its record.
var ErrTruncated = errors.New("it was cut to fit the topic of dead letters: send the record itself again")

// Replay is the record to send so that the letter's is answered after all, by an answer that names the id
// that it would have carried.
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

// Mark is the record beside the letter that says that it was replayed.
func (l *Letter) Mark() Out {
	return Out{
		Topic: l.Raw.Topic, Partition: l.Raw.Partition, Key: l.Raw.Key, Value: []byte{},
		Headers: []Header{{ReplayedHeader, []byte(l.Position())}},
	}
}

// ours says whether a header tells of a dead letter rather than of its record.
func ours(name string) bool {
	switch strings.ToLower(name) {
	case ErrorHeader, TopicHeader, PartitionHeader, OffsetHeader, TruncatedHeader, LeftOutHeader, TimeHeader,
		ReplayedHeader:
		return true
	}
	return false
}

// firstID is the id that IDHeader gives to a record's items, "" if it may not.
func firstID(raw *Raw, header []byte) string {
	id := string(header)
	rest, ok := strings.CutPrefix(id, fmt.Sprintf("%s/%d/", raw.Topic, raw.Partition))
	if !ok {
		return ""
	}
	position, object, within := strings.Cut(rest, "/")
	offset, err := strconv.ParseInt(position, 10, 64)
	if err != nil || offset < 0 || offset >= raw.Offset {
		return ""
	}
	if n, err := strconv.ParseInt(object, 10, 32); within && (err != nil || n < 0) {
		return ""
	}
	return id
}
