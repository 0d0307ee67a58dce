package state

import (
	"bytes"
	"net/url"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Loader collects the records of one partition of the state topic that belong to one group and one input
// topic. The last record of each key counts.
type Loader struct {
	group string // "": any
	topic string
	last  map[string]*loaded // by key
	end   int64              // offset behind the last record
	bytes int64
}

// loaded is a record, and when and where it was written.
type loaded struct {
	value  []byte
	time   time.Time
	offset int64
}

// NewLoader returns a loader for a group and an input topic; "" means any group.
func NewLoader(group, topic string) *Loader {
	return &Loader{group: group, topic: topic, last: map[string]*loaded{}}
}

// Input returns the group and the input topic that a key belongs to. ok is false for a key that does not hold
// state, such as a backfill's plan.
func Input(key []byte) (group, topic string, ok bool) {
	head, rest, _ := bytes.Cut(key, []byte("/"))
	if len(head) == 0 || head[0] != groupMark {
		return "", "", false
	}
	group, err := url.PathUnescape(string(head[1:]))
	input, _, _ := bytes.Cut(rest, []byte("/"))
	return group, string(input), err == nil && len(input) > 0
}

// Concerns says whether a record under the key may be part of the group's state of the input topic.
func Concerns(key []byte, group, topic string) bool {
	of, input, ok := Input(key)
	return ok && input == topic && (group == "" || of == group)
}

// Add takes the next record. It copies the value, so that the rest of the fetched batch can be freed, into the memory of the
// one that it replaces: most records of a state topic are replaced by later ones.
func (l *Loader) Add(raw *record.Raw) {
	if !Concerns(raw.Key, l.group, l.topic) {
		return
	}
	l.bytes += int64(len(raw.Value))
	l.end = raw.Offset + 1
	if raw.Value == nil {
		delete(l.last, string(raw.Key))
		return
	}
	r := l.last[string(raw.Key)]
	if r == nil {
		r = new(loaded)
		l.last[string(raw.Key)] = r
	}
	if cap(r.value) > 2*len(raw.Value) {
		r.value = nil // it would keep more than it needs
	}
	r.value, r.time, r.offset = append(r.value[:0], raw.Value...), raw.Time, raw.Offset
}

// Bytes is the size of all values passed to Add.
func (l *Loader) Bytes() int64 { return l.bytes }
