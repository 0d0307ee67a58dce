package state

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/record"
)

// A snapshot is read back from a stretch of the topic that holds others too: of the key's records the last of its version
// counts, and nothing but the whole snapshot is it.
func TestKept(t *testing.T) {
	at := func(offset int64) record.Position { return record.Position{Offset: offset, Object: -1} }
	of := record.StreamID{Name: "cam"}
	k := NewWriter("group", "in", "state", 0, Owner{Generation: 1}, NewLoader("group", "in").Restore())
	k.Start(at(0))
	commit := func(learned ...int64) []record.Out {
		var list []*Snapshot
		for _, offset := range learned {
			piece := make([]byte, 3*leastChunk)
			piece[0] = byte(offset)
			list = append(list, &Snapshot{Stream: of, Learned: at(offset), Pieces: []Piece{{Name: "head", Bytes: piece}}})
		}
		return k.Commit(&Journal{From: at(100), Decided: at(100)}, list)
	}
	k.Fit(2 * leastChunk)
	records := commit(1)
	if k.Saved(of, at(1)) != nil {
		t.Error("it is kept before it is durable")
	}
	k.Durable()(9, true)
	k.Committed()
	records = append(records, commit(2, 3)...)
	durable := k.Durable()
	k.Committed()
	if k.Saved(of, at(3)) != nil {
		t.Error("it is kept before it is durable, or where nobody knows")
	}
	durable(20, true)
	if k.Saved(of, at(2)) != nil || k.Saved(record.StreamID{Name: "other"}, at(3)) != nil {
		t.Error("another is kept")
	}
	kept := k.Saved(of, at(3))
	if kept.From != 9 || kept.To != 20 {
		t.Errorf("from %d to %d", kept.From, kept.To)
	}
	if len(kept.keys) < 2 {
		t.Fatal("one chunk")
	}
	read := func(records []record.Out) (*Snapshot, error) {
		kept.Begin()
		for _, r := range records {
			if err := kept.Add(&record.Raw{Key: r.Key, Value: r.Value}); err != nil {
				return nil, err
			}
		}
		return kept.Snapshot()
	}
	for range 2 {
		if s, err := read(records); err != nil || s.Learned != at(3) || s.Pieces[0].Bytes[0] != 3 {
			t.Error(s, err)
		}
	}
	cut := slices.DeleteFunc(slices.Clone(records), func(r record.Out) bool { return string(r.Key) == kept.keys[0] })
	for what, list := range map[string][]record.Out{"cut": cut, "of an earlier version": records[:4], "none": nil} {
		if _, err := read(list); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %v", what, err)
		}
	}
	k.Leave(of)
	if k.Saved(of, at(3)) != nil {
		t.Error("it is kept although it was left")
	}
}

// A stream may be saved twice before a commit is written: for a hand-over after its turn, for example. If the process dies
// between the chunks of its snapshots, the next owner never joins chunks of both.
func TestTwoSnapshotsOfAStreamInOneCommit(t *testing.T) {
	t.Parallel()
	of, filler := record.StreamID{Name: "cam"}, record.StreamID{Name: "door"}
	snapshot := func(at int64) *Snapshot {
		return &Snapshot{Stream: of, Learned: record.Start(at), Pieces: []Piece{
			{Name: "items", Bytes: bytes.Repeat([]byte{byte(at)}, 3*chunkBytes/2)},
			{Name: "head", Bytes: []byte{byte(at)}},
		}}
	}
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, NewLoader("g", "in").Restore())
	k.Start(record.Start(0))
	written := k.Commit(&Journal{From: record.Start(1), Decided: record.Start(1)}, []*Snapshot{snapshot(1)})
	k.Committed()
	next := k.Commit(&Journal{From: record.Start(3), Decided: record.Start(3)},
		[]*Snapshot{snapshot(2), {Stream: filler, Learned: record.Start(2)}, snapshot(3)})
	for cut := range len(next) + 1 {
		l := NewLoader("g", "in")
		for _, r := range append(written[:len(written):len(written)], next[:cut]...) {
			l.Add(&record.Raw{Key: r.Key, Value: r.Value})
		}
		r := l.Restore()
		got := r.Snapshots[of]
		if len(r.Faults) > 0 || got == nil {
			t.Fatalf("after %d records: %v, %v", cut, got, r.Faults)
		}
		if !reflect.DeepEqual(got.Pieces, snapshot(got.Learned.Offset).Pieces) {
			t.Fatalf("after %d records: a snapshot to %v with other bytes", cut, got.Learned)
		}
	}
	k.Committed()
	if k.Saved(of, record.Start(2)) != nil || len(k.streams[of].current.keys) != 2 {
		t.Error(k.streams[of])
	}
}

// A stream that is forgotten and comes back before the next commit does not take the keys of its last snapshot.
func TestForgottenStreamComesBackInOneCommit(t *testing.T) {
	t.Parallel()
	of := record.StreamID{Name: "cam"}
	snapshot := func(at int64) *Snapshot {
		return &Snapshot{Stream: of, Learned: record.Start(at), Pieces: []Piece{
			{Name: "items", Bytes: bytes.Repeat([]byte{byte(at)}, 3*chunkBytes/2)}, {Name: "head", Bytes: []byte{byte(at)}},
		}}
	}
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, NewLoader("g", "in").Restore())
	k.Start(record.Start(0))
	written := k.Commit(&Journal{From: record.Start(1), Decided: record.Start(1)}, []*Snapshot{snapshot(1)})
	k.Committed()
	if !k.Forget(of) {
		t.Fatal("it is still needed")
	}
	next := k.Commit(&Journal{From: record.Start(2), Decided: record.Start(2)}, []*Snapshot{snapshot(2)})
	for cut := range len(next) + 1 {
		l := NewLoader("g", "in")
		for _, r := range append(written[:len(written):len(written)], next[:cut]...) {
			l.Add(&record.Raw{Key: r.Key, Value: r.Value})
		}
		got := l.Restore().Snapshots[of]
		if got != nil && !reflect.DeepEqual(got.Pieces, snapshot(got.Learned.Offset).Pieces) {
			t.Errorf("after %d records: a snapshot to %v with other bytes", cut, got.Learned)
		}
		if cut == len(next) && (got == nil || got.Learned != record.Start(2)) {
			t.Errorf("the last snapshot: %v", got)
		}
	}
}
