package state

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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

// A topic that the build of 2026-11-29 wrote, with two slots a stream and a version a stream: snapshots of one and of two
// records, a stream that was forgotten and came back, another owner, and a last commit that was cut short in a snapshot whose
// key an earlier one had. It is read as that build read it, from each prefix, and written on.
func TestRecordsOfAnEarlierBuild(t *testing.T) {
	f, err := os.Open("testdata/topic-2026-11-29.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := newWorld(1)
	cam, door, hall := record.StreamID{Name: "cam"}, record.StreamID{Name: "a/door", Model: "m/2"}, record.StreamID{Name: "hall"}
	sizes := map[record.StreamID]map[int64]int{cam: {9: 1500, 19: 500}, hall: {9: 5, 29: 10}, door: {39: 1500, 49: 20}}
	snapshot := func(of record.StreamID, learned int64) *Snapshot {
		return &Snapshot{
			Stream: of, Learned: record.Start(learned), Labels: []int64{learned, 7}, Seen: time.Unix(learned, 5).UTC(), Pieces: []Piece{
				{Name: "items", Bytes: bytes.Repeat([]byte{byte(learned)}, sizes[of][learned])},
				{Name: "head", Bytes: []byte{byte(learned)}},
			},
		}
	}
	load := func() *Restored {
		l := NewLoader("g/1", "in")
		for i := range w.log {
			l.Add(&w.log[i])
		}
		r := l.Restore()
		if len(r.Faults) > 0 || r.Blocked != nil {
			t.Fatal(r.Faults, r.Blocked)
		}
		return r
	}
	for lines := json.NewDecoder(f); lines.More(); {
		var line struct {
			Key   string
			Value []byte
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		w.write([]record.Out{{Key: []byte(line.Key), Value: line.Value}})
		for of, s := range load().Snapshots {
			if want := snapshot(of, s.Learned.Offset); sizes[of][s.Learned.Offset] == 0 || !same(s, want) || !s.Seen.Equal(want.Seen) {
				t.Errorf("after %d records: %+v", len(w.log), s)
			}
		}
	}
	check := func(r *Restored, saved map[record.StreamID]int64, again map[record.StreamID]int64) {
		t.Helper()
		if len(r.Snapshots) != len(saved) || len(r.Relearn) != len(again) {
			t.Fatalf("%d streams, %d episodes to learn again", len(r.Snapshots), len(r.Relearn))
		}
		for of, at := range saved {
			if s := r.Snapshots[of]; s == nil || s.Learned.Offset != at {
				t.Errorf("%v: %+v", of, s)
			}
		}
		for _, a := range r.Relearn {
			if a.Last != (record.Position{Offset: again[a.Stream], Object: 1}) || !slices.Equal(a.Labels, []int64{a.Last.Offset, 7}) {
				t.Errorf("%+v", a)
			}
		}
	}
	r := load()
	check(r, map[record.StreamID]int64{cam: 19, hall: 29, door: 49}, map[record.StreamID]int64{cam: 25, hall: 38, door: 58})
	if j := r.Journal; j.From != record.Start(60) || j.Owner != (Owner{2, 4, 0}) || j.Reading != "f32" || j.Dimensions[""] != 4 {
		t.Errorf("%+v", j)
	}
	k := NewWriter("g/1", "in", "state", 0, Owner{Generation: 5}, r)
	for at := int64(70); at < 100; at += 10 {
		var list []*Snapshot
		if at == 80 {
			sizes[cam][75], sizes[cam][79] = 3000, 40
			list = []*Snapshot{snapshot(cam, 75), snapshot(hall, 29), snapshot(cam, 79)}
		}
		w.write(k.Commit(&Journal{From: record.Start(at), Decided: record.Start(at)}, list))
		k.Committed()
	}
	check(load(), map[record.StreamID]int64{cam: 79, hall: 29, door: 49}, map[record.StreamID]int64{hall: 38, door: 58})
	left := map[string]bool{}
	for _, raw := range w.log {
		left[string(raw.Key)] = raw.Value != nil
	}
	for key, is := range left {
		if p, err := parseStateKey([]byte(key)); err != nil || is && p.kind == snapshotKind && p.stream != door && p.owner != k.owner {
			t.Errorf("%s is left: %v", key, err)
		}
	}
}
