package state

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// builds simulates a state topic that is written by two builds. To each of them, the other's records of some
// kinds have an unknown version.
type builds struct {
	log   []record.Out
	by    []string
	apart func(key string) bool
}

func (b *builds) write(by string, records []record.Out) {
	for _, r := range records {
		b.log, b.by = append(b.log, r), append(b.by, by)
	}
}

func (b *builds) load(as string) *Restored {
	l := NewLoader("g", "in")
	for i, r := range b.log {
		value := r.Value
		if b.by[i] != as && len(value) > 0 && b.apart(string(r.Key)) {
			value = bytes.Clone(value)
			value[len(mark)] = version + 1
		}
		l.Add(&record.Raw{Key: r.Key, Value: value})
	}
	return l.Restore()
}

// own runs one ownership by a build, which answers episodes and saves streams.
func (b *builds) own(t *testing.T, as string, next *int64, random *rand.Rand, commits int) {
	t.Helper()
	r := b.load(as)
	if r.Blocked != nil {
		t.Fatal(r.Blocked)
	}
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, r)
	for range commits {
		s := record.StreamID{Name: fmt.Sprint("s", random.IntN(4))}
		at := record.Start(*next)
		*next++
		j := &Journal{Episodes: []Episode{{Stream: s, First: at, Last: at, At: at}}}
		j.From, j.Decided = record.Start(*next), record.Start(*next)
		size := 10
		if random.IntN(4) == 0 {
			size = 2 * chunkBytes
		}
		b.write(as, k.Commit(j, []*Snapshot{{
			Stream: s, Learned: at, Pieces: []Piece{{Name: "head", Bytes: fmt.Append(make([]byte, size), as)}},
		}}))
		k.Committed()
	}
}

// Snapshots of an unknown version stay in the topic, whatever a build that cannot read them writes meanwhile.
// The build that wrote them finds each stream's newest one again.
func TestAnotherVersionsSnapshotsStay(t *testing.T) {
	for seed := range uint64(12) {
		b := &builds{apart: func(key string) bool { return strings.Contains(key, "/"+snapshotKind+"/") }}
		random, next := rand.New(rand.NewPCG(seed, 3)), int64(0)
		for range 3 {
			b.own(t, "old", &next, random, 1+random.IntN(9))
			before := b.load("old").Snapshots
			mine := len(b.load("new").Snapshots)
			b.own(t, "new", &next, random, 1+random.IntN(9))
			b.own(t, "new", &next, random, 1+random.IntN(9))
			if mine == 0 && len(b.load("new").Faults) == 0 {
				t.Fatal("the old build's snapshots were not seen to be unreadable")
			}
			after := b.load("old").Snapshots
			for s, was := range before {
				if now := after[s]; now == nil || now.Learned != was.Learned {
					t.Fatalf("seed %d: %v was saved to %v, and is %+v now", seed, s, was.Learned, now)
				}
			}
		}
	}
}

// An unreadable journal that counts blocks its partition until it is deleted; a superfluous one does not. A
// commit never deletes it.
func TestAnotherVersionsJournalBlocks(t *testing.T) {
	b := &builds{apart: func(key string) bool { return strings.Contains(key, "/"+journalKind+"/") }}
	random, next := rand.New(rand.NewPCG(1, 3)), int64(0)
	b.own(t, "old", &next, random, 20)
	r := b.load("new")
	if !errors.Is(r.Blocked, ErrBlocked) || len(r.Unreadable) == 0 {
		t.Fatalf("not blocked: %v", r.Blocked)
	}
	if r := b.load("old"); r.Blocked != nil {
		t.Fatal(r.Blocked)
	}
	var discard []record.Out
	for _, key := range r.Unreadable {
		discard = append(discard, record.Out{Key: []byte(key)})
	}
	b.write("somebody", discard)
	b.own(t, "new", &next, random, 3)
	if r := b.load("new"); r.Blocked != nil || r.Journal == nil {
		t.Fatalf("still blocked: %v", r.Blocked)
	}
}

// State of an earlier format is left alone: it is counted, blocks nothing, and none of it is deleted. The next
// owner starts without it and writes under other keys.
func TestEarlierFormatIsLeftAlone(t *testing.T) {
	b := &builds{apart: func(string) bool { return false }}
	random, next := rand.New(rand.NewPCG(2, 3)), int64(0)
	b.own(t, "old", &next, random, 9)
	old := map[string]bool{}
	for i := range b.log {
		if value := b.log[i].Value; value != nil {
			value = bytes.Clone(value)
			value[len(mark)] = version - 1
			binary.LittleEndian.PutUint32(value[head-4:head], crc32.Checksum(value[head:], castagnoli))
			b.log[i].Value = value
			old[string(b.log[i].Key)] = true
		} else {
			delete(old, string(b.log[i].Key))
		}
	}
	r := b.load("new")
	if r.Blocked != nil || r.Journal != nil || len(r.Snapshots) > 0 || len(r.Faults) > 0 || r.Old != len(old) {
		t.Fatalf("%d of %d records: %+v", r.Old, len(old), r)
	}
	before := len(b.log)
	b.own(t, "new", &next, random, 9)
	for _, out := range b.log[before:] {
		if old[string(out.Key)] {
			t.Errorf("%s is written over", out.Key)
		}
	}
	if r := b.load("new"); r.Journal == nil || r.Old != len(old) {
		t.Errorf("%d of %d records are left", r.Old, len(old))
	}
}
