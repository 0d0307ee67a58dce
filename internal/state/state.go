// Package state encodes the records of the state topic and restores a partition from them. It does no input
// or output: it takes records and returns records.
//
// Each input partition has two kinds of record there. A snapshot is one stream's memory, written now and
// then. A journal is small and written with every commit: the episodes answered since the one before, the
// items that closed them, the labels in force, and the position where reading starts again. A new owner
// restores the snapshots, reads the input again from the oldest episode that no snapshot covers, and replays
// the journals' episodes without emitting results. It then has exactly the state of the last commit, whatever
// closed the episodes.
//
// Every key names its owner. An owner's journal lists the earlier owners that count, each up to one of its
// commits, so that late writes of an old owner are ignored.
package state

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/internal/record"
)

// ErrUnreadable is wrapped by the error for a record that is cut, corrupt, or of a format this build
// cannot read.
var ErrUnreadable = errors.New("not a readable state record")

// ErrBlocked is wrapped by Restored.Blocked if a partition's journal cannot be read. It is then not known
// which episodes were answered, so the partition must wait for a build that can read the journal, or for an
// operator who discards the unreadable records.
var ErrBlocked = errors.New("what was answered cannot be read from the journal")

// Owner is one ownership of an input partition. Epoch is one above that of the previous owner whose state was
// read; the group's generation orders two owners that have read the same state, and the incarnation two of one
// generation (topic.Generation).
type Owner struct {
	Epoch       int64
	Generation  int32
	Incarnation int32
}

// Compare orders owners by time.
func (o Owner) Compare(p Owner) int {
	return cmp.Or(cmp.Compare(o.Epoch, p.Epoch), cmp.Compare(o.Generation, p.Generation),
		cmp.Compare(o.Incarnation, p.Incarnation))
}

// String returns the owner as keys hold it: without an incarnation of 0.
func (o Owner) String() string {
	text := fmt.Sprintf("%d.%d", o.Epoch, o.Generation)
	if o.Incarnation != 0 {
		text += fmt.Sprintf(".%d", o.Incarnation)
	}
	return text
}

// parseOwner is the opposite of String.
func parseOwner(text string) (o Owner, err error) {
	epoch, generation, _ := strings.Cut(text, ".")
	generation, incarnation, again := strings.Cut(generation, ".")
	o.Epoch, err = strconv.ParseInt(epoch, 10, 64)
	g, err2 := strconv.ParseInt(generation, 10, 32)
	i, err3 := int64(0), error(nil)
	if again {
		i, err3 = strconv.ParseInt(incarnation, 10, 32)
	}
	if o.Generation, o.Incarnation = int32(g), int32(i); again && i <= 0 {
		return o, fmt.Errorf("owner %q", text)
	}
	return o, errors.Join(err, err2, err3)
}

const (
	journalKind  = "journal"
	snapshotKind = "stream"
	hungKind     = "hung"
)

// groupMark begins the keys that name their group. No topic's name can begin with it.
const groupMark = '@'

// stateKey is a decoded key: @GROUP/TOPIC/OWNER/journal/SLOT, @GROUP/TOPIC/OWNER/hung/SLOT or
// @GROUP/TOPIC/OWNER/stream/SLOT/CHUNK/MODEL/STREAM. The group keeps apart groups that share a state topic by
// mistake.
type stateKey struct {
	group  string
	topic  string
	owner  Owner
	kind   string
	slot   int
	chunk  int
	stream record.StreamID
}

func (p stateKey) String() string {
	head := string(groupMark) + url.PathEscape(p.group) + "/" + p.topic + "/" + p.owner.String() + "/" + p.kind +
		"/" + strconv.Itoa(p.slot)
	if p.kind == journalKind || p.kind == hungKind {
		return head
	}
	return head + "/" + strconv.Itoa(p.chunk) + "/" + url.PathEscape(p.stream.Model) + "/" + p.stream.Name
}

func parseStateKey(key []byte) (stateKey, error) {
	bad := func() (stateKey, error) { return stateKey{}, fmt.Errorf("%w: key %q", ErrUnreadable, key) }
	head, text, _ := strings.Cut(string(key), "/")
	group, err := url.PathUnescape(strings.TrimPrefix(head, string(groupMark)))
	parts := strings.SplitN(text, "/", 7)
	if err != nil || len(head) == 0 || head[0] != groupMark || len(parts) < 4 {
		return bad()
	}
	p := stateKey{group: group, topic: parts[0], kind: parts[2]}
	owner, err := parseOwner(parts[1])
	slot, err2 := strconv.Atoi(parts[3])
	p.owner, p.slot = owner, slot
	if err != nil || err2 != nil || slot < 0 {
		return bad()
	}
	switch {
	case (p.kind == journalKind || p.kind == hungKind) && len(parts) == 4:
		return p, nil
	case p.kind == snapshotKind && len(parts) == 7:
		model, err := url.PathUnescape(parts[5])
		chunk, err2 := strconv.Atoi(parts[4])
		if err != nil || err2 != nil || chunk < 0 {
			return bad()
		}
		p.chunk, p.stream = chunk, record.StreamID{Name: parts[6], Model: model}
		return p, nil
	}
	return bad()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
