// Package state is what the state topic holds, and how a partition's owner finds its way back from it. It is
// pure: records in, records out.
//
// Two kinds of record lie there for each input partition. Snapshots are what single streams remember, written
// now and then. The journal is written with every commit and is small: which episodes were answered since,
// what decided their bounds, the labels in force, and where reading has to start again. A new owner takes the
// snapshots, reads the input again from the oldest episode that no snapshot covers, and learns the journal's
// episodes without answering them: then it stands exactly where the last commit left the partition, whatever
// closed its episodes.
//
// Every key carries its owner. An owner says in its journal which earlier owners count, and up to which of
// their commits, so that what an old owner writes late never wins.
package state

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"
)

// ErrUnreadable is wrapped by the error of a record that is cut, changed, or of a format this build cannot
// read.
var ErrUnreadable = errors.New("not a readable state record")

// ErrBlocked is wrapped by the fault of a partition whose journal cannot be read: what was answered is not
// known, so that it is not taken over until a build that can read it does, or somebody discards what cannot
// be read.
var ErrBlocked = errors.New("what was answered cannot be read from the journal")

// Owner is one ownership of an input partition. Epoch grows with each owner that has seen the state of the
// one before; the group's generation decides between two that have seen the same.
type Owner struct {
	Epoch      int64
	Generation int32
}

// Compare orders owners by time.
func (o Owner) Compare(p Owner) int {
	if c := cmp.Compare(o.Epoch, p.Epoch); c != 0 {
		return c
	}
	return cmp.Compare(o.Generation, p.Generation)
}

func (o Owner) String() string { return fmt.Sprintf("%d.%d", o.Epoch, o.Generation) }

// Stream names a stream of an input partition, and the model of its embeddings.
type Stream struct {
	Name, Model string
}

const (
	journalKind  = "journal"
	snapshotKind = "stream"
	hungKind     = "hung"
)

// groupMark begins the keys that name their group. No topic's name can begin with it.
const groupMark = '@'

// stateKey is what a key says: @GROUP/TOPIC/OWNER/journal/SLOT or
// @GROUP/TOPIC/OWNER/stream/SLOT/CHUNK/MODEL/STREAM, so that groups that share a state topic by mistake do
// not meet in it. Keys of older versions lack the group.
type stateKey struct {
	group  string
	topic  string
	owner  Owner
	kind   string
	slot   int
	chunk  int
	stream Stream
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
	text, group := string(key), ""
	if len(text) > 0 && text[0] == groupMark {
		head, rest, _ := strings.Cut(text[1:], "/")
		name, err := url.PathUnescape(head)
		if err != nil {
			return bad()
		}
		text, group = rest, name
	}
	parts := strings.SplitN(text, "/", 7)
	if len(parts) < 4 {
		return bad()
	}
	p := stateKey{group: group, topic: parts[0], kind: parts[2]}
	epoch, generation, _ := strings.Cut(parts[1], ".")
	e, err1 := strconv.ParseInt(epoch, 10, 64)
	g, err2 := strconv.ParseInt(generation, 10, 32)
	slot, err3 := strconv.Atoi(parts[3])
	p.owner, p.slot = Owner{e, int32(g)}, slot
	if err1 != nil || err2 != nil || err3 != nil || slot < 0 {
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
		p.chunk, p.stream = chunk, Stream{parts[6], model}
		return p, nil
	}
	return bad()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)
