package state

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// If the first snapshot of a stream is cut short, its episodes are replayed, and no fault is reported; nor by
// the owner after the next, which may find the remaining chunks.
func TestFirstSnapshotCutShort(t *testing.T) {
	w := newWorld(1)
	s := record.StreamID{Name: "s1"}
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, w.load())
	episode := Episode{Stream: s, First: record.Start(0), Last: record.Start(9), At: record.Start(9)}
	j := &Journal{Episodes: []Episode{episode}}
	j.From, j.Decided = record.Start(10), record.Start(10)
	records := k.Commit(j, []*Snapshot{{
		Stream: s, Learned: record.Start(9), Pieces: []Piece{{Name: "head", Bytes: make([]byte, 2*chunkBytes)}},
	}})
	w.write(records[:2]) // the journal and one chunk
	w.truth[s].ends = []record.Position{record.Start(9)}
	w.check(t, w.load(), nil)
	next := NewWriter("g", "in", "state", 0, Owner{Generation: 2}, w.load())
	w.write(next.Commit(&Journal{From: record.Start(10), Decided: record.Start(10)}, nil)[:1])
	w.check(t, w.load(), nil)
}

// A changed or cut record is reported as a fault, and the others are read.
func TestUnreadableRecords(t *testing.T) {
	w := newWorld(1)
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, w.load())
	for range 40 {
		w.commit(k)
	}
	for i := range w.log {
		replaced := slices.ContainsFunc(w.log[i+1:], func(r record.Raw) bool { return bytes.Equal(r.Key, w.log[i].Key) })
		if len(w.log[i].Value) == 0 || replaced {
			continue
		}
		for _, damage := range []func([]byte) []byte{
			func(b []byte) []byte { return b[:len(b)/2] },
			func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			func(b []byte) []byte { b[len(mark)] = version + 1; return b },
			func([]byte) []byte { return []byte{} },
		} {
			l := NewLoader("g", "in")
			for n, r := range w.log {
				value := r.Value
				if n == i {
					value = damage(append([]byte(nil), value...))
				}
				l.Add(&record.Raw{Key: r.Key, Value: value})
			}
			l.Add(&record.Raw{Key: []byte("@g/in/nonsense"), Value: []byte{1}})
			if r := l.Restore(); len(r.Faults) < 2 {
				t.Fatalf("record %d, %s: the damage was not seen", i, w.log[i].Key)
			}
		}
	}
}

// State of another input's partition of the same number is ignored.
func TestInputsAreApart(t *testing.T) {
	w := newWorld(2)
	w.commit(NewWriter("g", "in", "state", 0, Owner{Generation: 1}, w.load()))
	l := NewLoader("g", "i")
	for _, r := range w.log {
		l.Add(&record.Raw{Key: r.Key, Value: r.Value})
	}
	if r := l.Restore(); r.Journal != nil || len(r.Done) > 0 {
		t.Errorf("%+v", r)
	}
}

func FuzzRecords(f *testing.F) {
	w := newWorld(3)
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, w.load())
	for range 10 {
		w.commit(k)
	}
	for _, r := range w.log {
		f.Add(string(r.Key), r.Value)
	}
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		l := NewLoader("g", "in")
		l.Add(&record.Raw{Key: []byte(key), Value: value})
		if len(value) >= head { // with a right checksum, to reach the decoder behind it
			l.Add(&record.Raw{Key: []byte(key + "0"), Value: seal(append([]byte(nil), value...))})
		}
		NewWriter("g", "in", "state", 0, Owner{Generation: 2}, l.Restore()).Commit(&Journal{}, nil)
	})
}

// Two groups on one state topic ignore each other's records.
func TestGroupsAreKeptApart(t *testing.T) {
	write := func(group string) *record.Raw {
		k := NewWriter(group, "in", "state", 0, Owner{Generation: 1}, NewLoader(group, "in").Restore())
		out := k.Commit(&Journal{From: record.Start(7)}, nil)[0]
		return &record.Raw{Key: out.Key, Value: out.Value}
	}
	mine, other := write("mine/and more"), write("other")
	for name, test := range map[string]struct {
		raw  *record.Raw
		read bool
	}{"mine": {mine, true}, "another's": {other, false}} {
		l := NewLoader("mine/and more", "in")
		l.Add(test.raw)
		if r := l.Restore(); (r.Journal != nil) != test.read || len(r.Faults) > 0 {
			t.Errorf("%s: %+v %v", name, r.Journal, r.Faults)
		}
	}
}

// However many episodes a commit answers, its records stay below the brokers' limit, and the next owner can
// start from each prefix of them. However long streams have no snapshot, a commit does not grow.
func TestJournalIsBounded(t *testing.T) {
	const streams = 40_000
	name := func(i int) record.StreamID {
		return record.StreamID{Name: fmt.Sprintf("%d-%s", i, strings.Repeat("x", 30))}
	}
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, NewLoader("g", "in").Restore())
	k.Start(record.Start(5))
	var answered []Episode
	for i := range streams {
		at := record.Start(int64(100 + i))
		answered = append(answered, Episode{
			Stream: name(i), First: at, Last: at, At: at, Closed: "size",
			Labels: []int64{1, 2},
		})
	}
	out := k.Commit(&Journal{From: record.Start(200_000), Decided: record.Start(200_000), Episodes: answered},
		nil)
	for n := range out {
		if size := len(out[n].Key) + len(out[n].Value); size > 512<<10 {
			t.Errorf("a record of %d bytes", size)
		}
		l := NewLoader("g", "in")
		for _, r := range out[:n+1] {
			l.Add(&record.Raw{Key: r.Key, Value: r.Value})
		}
		r := l.Restore()
		want := record.Start(5)
		if n == len(out)-1 {
			want = record.Start(200_000)
		}
		if len(r.Faults) > 0 || r.Journal.From != want || len(r.Relearn) == 0 || n == len(out)-1 &&
			len(r.Relearn) != streams {
			t.Fatalf("%d of %d records: from %v, %d to learn again, %v", n+1, len(out), r.Journal.From, len(r.Relearn),
				r.Faults)
		}
	}
	k.Committed()
	topic := map[string][]byte{}
	put := func(out []record.Out) {
		for _, r := range out {
			topic[string(r.Key)] = r.Value
		}
	}
	put(out)
	const commits = 3000
	for i := range commits {
		at := record.Start(int64(300_000 + i))
		out := k.Commit(&Journal{
			From: at, Decided: at.Next(),
			Episodes: []Episode{{Stream: name(i % 700), First: at, Last: at, At: at}},
		}, nil)
		size := 0
		for _, r := range out {
			size += len(r.Value)
		}
		if size > journalBytes {
			t.Fatalf("commit %d is %d bytes", i, size)
		}
		put(out)
		k.Committed()
	}
	l := NewLoader("g", "in")
	for key, value := range topic {
		l.Add(&record.Raw{Key: []byte(key), Value: value})
	}
	r := l.Restore()
	if len(r.Relearn) != streams+commits || len(r.Faults) > 0 {
		t.Errorf("%d of %d to learn again, %v", len(r.Relearn), streams+commits, r.Faults)
	}
	if len(r.Journal.Live) > mostJournals+8 {
		t.Errorf("%d journals are needed", len(r.Journal.Live))
	}
}

// In a state topic with a small record limit, every record fits: with long names of streams and of models, as
// many models as are remembered, and more journals than are needed at a time.
func TestRecordsFitASmallLimit(t *testing.T) {
	const limit, commits = 20_000, 400
	group, in := strings.Repeat("g", 200), strings.Repeat("i", 249)
	k := NewWriter(group, in, "state", 0, Owner{Generation: 1}, NewLoader(group, in).Restore())
	k.Fit(limit)
	dimensions := map[string]int{}
	for i := range 100 {
		dimensions[record.DimensionKey(fmt.Sprintf("%01024d", i))] = 512
	}
	at := int64(1) << 40
	topic := map[string][]byte{}
	for i := range commits {
		j := &Journal{Dimensions: dimensions, High: time.Unix(1<<32, 999_999_999), Input: strings.Repeat("x", 16)}
		episodes := 1
		if i%100 == 0 {
			episodes = 1000
		}
		if i == 200 { // of one item
			episodes = 10_000
		}
		for range episodes {
			at++
			j.Episodes = append(j.Episodes, Episode{
				Stream: record.StreamID{Name: fmt.Sprintf("%01024d", at), Model: fmt.Sprintf("%01024d", i%100)},
				First:  record.Position{Offset: at, Object: 9999}, Last: record.Position{Offset: at, Object: 9999},
				At: record.Position{Offset: at, Object: 9999}, Closed: "marker", Labels: []int64{at, at, at, at},
			})
		}
		j.From, j.Decided = record.Start(at+1), record.Start(at+1)
		var snapshots []*Snapshot
		if i%100 == 50 {
			snapshots = append(snapshots, &Snapshot{
				Stream: j.Episodes[0].Stream, Learned: j.Episodes[0].Last,
				Pieces: []Piece{{Name: "head", Bytes: make([]byte, 50_000)}},
			})
		}
		for _, r := range k.Commit(j, snapshots) {
			if size := len(r.Key) + len(r.Value); size > limit {
				t.Fatalf("commit %d: a record %.80s of %d bytes", i, r.Key, size)
			}
			if topic[string(r.Key)] = r.Value; r.Value == nil {
				delete(topic, string(r.Key))
			}
		}
		k.Committed()
	}
	l := NewLoader(group, in)
	for key, value := range topic {
		l.Add(&record.Raw{Key: []byte(key), Value: value})
	}
	r := l.Restore()
	if want := 3*1000 + 10_000 + commits - 4 - 4; len(r.Relearn) != want || len(r.Faults) > 0 {
		t.Errorf("%d episodes to learn again, not %d, %v", len(r.Relearn), want, r.Faults)
	}
	if n := len(r.Journal.Live); n < 1000 {
		t.Errorf("only %d journals are needed", n)
	}
}

// An episode that hangs during its replay counts like one that hangs during its answer, until a snapshot
// covers it.
func TestHungWhileLearnedAgain(t *testing.T) {
	r := NewLoader("g", "in").Restore()
	k := NewWriter("g", "in", "state", 0, Owner{Generation: 1}, r)
	stream, first, end := record.StreamID{Name: "a"}, record.Start(0), record.Start(10)
	answered := []Episode{{Stream: stream, First: first, Last: record.Start(9)}}
	j := &Journal{From: end, Decided: end, Episodes: answered}
	records := k.Commit(j, nil)
	k.Committed()
	load := func() *Restored {
		l := NewLoader("g", "in")
		for _, r := range records {
			l.Add(&record.Raw{Key: r.Key, Value: r.Value})
		}
		return l.Restore()
	}
	for times := 1; times <= 2; times++ {
		r := load()
		records = append(records, NewWriter("g", "in", "state", 0, Owner{Generation: int32(1 + times)}, r).Hung(stream, first))
		if r = load(); len(r.Hung) != 1 || r.Hung[0].Times != times {
			t.Fatalf("after %d hangs: %+v", times, r.Hung)
		}
	}
	records = append(records, k.Commit(&Journal{From: end, Decided: end},
		[]*Snapshot{{Stream: stream, Learned: record.Start(9)}})...)
	if r := load(); len(r.Hung) != 0 {
		t.Errorf("covered by a snapshot: %+v", r.Hung)
	}
}

// Of two owners of one generation that have read the same state, the later incarnation counts, and what the earlier one
// writes late replaces nothing of it. Keys and journals hold the incarnation.
func TestIncarnationsOfOneGeneration(t *testing.T) {
	w := newWorld(1)
	first := NewWriter("g", "in", "state", 0, Owner{Generation: 7}, w.load())
	next := NewWriter("g", "in", "state", 0, Owner{Generation: 7, Incarnation: 1}, w.load())
	journal := func(at int64) *Journal { return &Journal{From: record.Start(at), Decided: record.Start(at)} }
	w.write(next.Commit(journal(20), nil)[:1])
	w.write(first.Commit(journal(10), nil)[:1])
	r := w.load()
	if want := (Owner{Epoch: 1, Generation: 7, Incarnation: 1}); r.Journal.Owner != want || r.Journal.From != record.Start(20) {
		t.Errorf("%v counts, from %v", r.Journal.Owner, r.Journal.From)
	}
	for _, o := range []Owner{{1, 7, 0}, {1, 7, 1}, {1, 7, 2}, {1, 8, 0}, {2, 1, 0}} {
		if again, err := parseOwner(o.String()); err != nil || again != o {
			t.Errorf("%v is read as %v: %v", o, again, err)
		}
		if c := o.Compare(Owner{1, 7, 1}); (c > 0) != (o.Epoch > 1 || o.Generation > 7 || o.Incarnation > 1) {
			t.Errorf("%v is compared as %d", o, c)
		}
	}
	for _, text := range []string{"1", "1.7.0", "1.7.-1", "1.7.x", "1.7.1.1"} {
		if o, err := parseOwner(text); err == nil {
			t.Errorf("%q is read as %v", text, o)
		}
	}
}
