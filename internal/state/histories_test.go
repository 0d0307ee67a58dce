package state

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// world simulates a state topic, and holds the truth of a few streams: what was committed.
type world struct {
	random *rand.Rand
	log    []record.Raw
	end    int64 // offset behind the log
	next   int64 // position of the next episode
	made   int   // snapshots
	truth  map[record.StreamID]*truth
}

// truth is what was committed of a stream.
type truth struct {
	ends  []record.Position // of the episodes answered since it began, or came back
	saved *Snapshot
}

func newWorld(seed uint64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 1)), truth: map[record.StreamID]*truth{}}
	for i := range 5 {
		w.truth[name(i)] = new(truth)
	}
	return w
}

func name(i int) record.StreamID { return record.StreamID{Name: fmt.Sprint("s", i)} }

// draft is a commit before it is written.
type draft struct {
	answered  []Episode
	snapshots []*Snapshot
	forgotten []record.StreamID
	records   []record.Out
}

func (w *world) write(records []record.Out) {
	for _, r := range records {
		w.log = append(w.log, record.Raw{Key: r.Key, Value: r.Value, Offset: w.end})
		w.end++
	}
}

// compact removes some of the records that later ones of their keys replace, and of the tombstones that replace nothing.
func (w *world) compact() {
	last, left := map[string]int{}, map[string]bool{}
	for i, r := range w.log {
		last[string(r.Key)] = i
	}
	share := w.random.IntN(5)
	kept := w.log[:0:0]
	for i, r := range w.log {
		key := string(r.Key)
		if (last[key] > i || r.Value == nil && !left[key]) && w.random.IntN(4) < share {
			continue
		}
		left[key] = true
		kept = append(kept, r)
	}
	w.log = kept
}

func (w *world) load() *Restored {
	l := NewLoader("g", "in")
	for i := range w.log {
		l.Add(&w.log[i])
	}
	return l.Restore()
}

// writer makes the next owner's, in whose topic few snapshots are one record.
func (w *world) writer(generation int) *Writer {
	k := NewWriter("g", "in", "state", 0, Owner{Generation: int32(generation)}, w.load())
	k.Fit(leastChunk)
	return k
}

// draft answers a few episodes and saves and forgets a few streams: one may be saved twice, or come back.
func (w *world) draft(k *Writer) *draft {
	d := &draft{}
	ends := map[record.StreamID][]record.Position{}
	for i := range len(w.truth) { // in the same order in every run
		ends[name(i)] = w.truth[name(i)].ends
		if w.random.IntN(12) == 0 && len(ends[name(i)]) > 0 && k.Forget(name(i)) {
			d.forgotten, ends[name(i)] = append(d.forgotten, name(i)), nil
		}
	}
	for range w.random.IntN(4) {
		of, at := name(w.random.IntN(len(w.truth))), record.Start(w.next+9)
		if n := len(d.forgotten); n > 0 && w.random.IntN(2) == 0 {
			of = d.forgotten[n-1]
		}
		ends[of] = append(ends[of][:len(ends[of]):len(ends[of])], at)
		d.answered = append(d.answered, Episode{
			Stream: of, First: record.Start(w.next), Last: at, At: at, Closed: "size", Labels: []int64{w.next},
		})
		w.next += 10
	}
	var again []*Snapshot // follow those of their streams
	for i := range len(w.truth) {
		list, saved := ends[name(i)], w.truth[name(i)].saved
		n := len(list)
		if n == 0 || w.random.IntN(4) > 0 {
			continue
		}
		d.snapshots = append(d.snapshots, w.snapshot(name(i), list[n-1]))
		if w.random.IntN(4) > 0 {
			continue
		}
		again = append(again, w.snapshot(name(i), list[n-1]))
		if n > 1 && (saved == nil || list[n-2].After(saved.Learned)) {
			d.snapshots[len(d.snapshots)-1].Learned = list[n-2]
		}
	}
	d.snapshots = append(d.snapshots, again...)
	j := &Journal{Rejected: w.next, Dimensions: map[string]int{"": 4}, Episodes: d.answered}
	j.From, j.Decided, j.High = record.Start(w.next), record.Start(w.next), time.Unix(w.next, 5).UTC()
	d.records = k.Commit(j, d.snapshots)
	return d
}

// snapshot makes one that no other is like, of one to four records.
func (w *world) snapshot(of record.StreamID, learned record.Position) *Snapshot {
	w.made++
	items := bytes.Repeat([]byte{byte(w.made), byte(w.made >> 8)}, []int{5, 700, 700, 1600}[w.random.IntN(4)])
	return &Snapshot{
		Stream: of, Learned: learned, Labels: []int64{int64(w.made)},
		Pieces: []Piece{{Name: "items", Bytes: items}, {Name: "head", Bytes: fmt.Append(nil, w.made)}},
	}
}

// committed changes the truth by a commit whose journal is written, so that it counts.
func (w *world) committed(d *draft) {
	for _, s := range d.forgotten {
		w.truth[s].ends = nil
	}
	for _, a := range d.answered {
		t := w.truth[a.Stream]
		t.ends = append(t.ends[:len(t.ends):len(t.ends)], a.Last)
	}
}

// commit writes a whole commit.
func (w *world) commit(k *Writer) {
	d := w.draft(k)
	durable := k.Durable()
	w.write(d.records)
	k.Committed()
	durable(w.end, w.random.IntN(8) > 0)
	w.committed(d)
	for _, s := range d.forgotten {
		w.truth[s].saved = nil
	}
	for _, s := range d.snapshots {
		w.truth[s.Stream].saved = s
	}
}

// late writes a commit that must not count.
func (w *world) late(k *Writer) {
	j := &Journal{From: record.Start(w.next), Decided: record.Start(w.next)}
	var list []*Snapshot
	for i := range len(w.truth) {
		at := record.Start(w.next + 9)
		j.Episodes = append(j.Episodes, Episode{Stream: name(i), First: record.Start(w.next), Last: at, At: at})
		list = append(list, w.snapshot(name(i), at))
		w.next += 10
	}
	records := k.Commit(j, list)
	w.write(records[:w.random.IntN(len(records)+1)])
}

// die writes the first records of a commit, after which its owner is gone. After each of them the next owner finds each
// stream as it was, or as one of the commit's snapshots has it, or without what was forgotten.
func (w *world) die(t *testing.T, k *Writer) {
	t.Helper()
	d := w.draft(k)
	last := w.random.IntN(len(d.records) + 1)
	may := map[record.StreamID][]*Snapshot{}
	for i, r := range d.records[:last] {
		w.write([]record.Out{r})
		if i == 0 {
			w.committed(d)
			for _, s := range d.snapshots {
				may[s.Stream] = append(may[s.Stream], s)
			}
			for _, s := range d.forgotten {
				may[s] = append(may[s], nil)
			}
		}
		w.check(t, w.load(), may)
	}
	found := w.load()
	for s, truth := range w.truth {
		for _, one := range append(may[s], truth.saved) {
			if same(found.Snapshots[s], one) {
				truth.saved = one
				break
			}
		}
	}
}

func same(a, b *Snapshot) bool {
	return a == nil && b == nil || a != nil && b != nil && a.Learned == b.Learned && slices.Equal(a.Labels, b.Labels) &&
		reflect.DeepEqual(a.Pieces, b.Pieces)
}

// check compares the restored state with the truth. Each stream's snapshot is the one that was saved, or one that may be there
// instead, whole; with it, the episodes to replay are all of the stream's answered episodes, without a gap.
func (w *world) check(t *testing.T, r *Restored, may map[record.StreamID][]*Snapshot) {
	t.Helper()
	if len(r.Faults) > 0 {
		t.Fatal(errors.Join(r.Faults...))
	}
	for s, truth := range w.truth {
		found := r.Snapshots[s]
		if !slices.ContainsFunc(append(may[s], truth.saved), func(one *Snapshot) bool { return same(found, one) }) {
			t.Fatalf("%v: a snapshot that was not committed: %+v", s, found)
		}
		learned, done := record.NoPosition, record.NoPosition
		if found != nil {
			learned, done = found.Learned, found.Learned
		}
		var again, want []record.Position
		for _, a := range r.Relearn {
			if a.Stream == s {
				again = append(again, a.Last)
			}
		}
		for _, end := range truth.ends {
			if end.After(learned) {
				want = append(want, end)
			}
			done = end
		}
		if !slices.Equal(again, want) {
			t.Fatalf("%v: saved to %v, to be learned again %v, not %v", s, learned, again, want)
		}
		if found, some := r.Done[s]; found != done && (some || done != record.NoPosition) {
			t.Fatalf("%v: answered to %v, not %v", s, found, done)
		}
	}
}

// readBack reads the streams that may be put away from the topic.
func (w *world) readBack(t *testing.T, k *Writer) (n int) {
	t.Helper()
	for s, truth := range w.truth {
		if truth.saved == nil {
			continue
		}
		kept := k.Saved(s, truth.saved.Learned)
		if kept == nil {
			continue
		}
		kept.Begin()
		for i := range w.log {
			if r := &w.log[i]; kept.From <= r.Offset && r.Offset < kept.To {
				if err := kept.Add(r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if found, err := kept.Snapshot(); err != nil || !same(found, truth.saved) {
			t.Fatalf("%v: read back as %+v: %v", s, found, err)
		}
		n++
	}
	return n
}

// Owners change and die anywhere in a commit, the topic is compacted, previous owners write late, streams are saved twice in
// a commit, are forgotten and come back, and are put away. Each next owner restores exactly what was committed. With
// SLKSTREAM_TEST_LONG there are four times as many.
func TestRandomHistories(t *testing.T) {
	histories := uint64(100)
	if os.Getenv("SLKSTREAM_TEST_LONG") != "" {
		histories = 400
	}
	readBack := 0
	for seed := range histories {
		w := newWorld(seed)
		var old *Writer
		for owner := range 12 {
			w.compact()
			w.check(t, w.load(), nil)
			k := w.writer(3 * owner)
			w.commit(k)
			if old != nil && w.random.IntN(2) == 0 {
				w.late(old)
			}
			for range w.random.IntN(30) {
				w.commit(k)
				if w.random.IntN(8) == 0 {
					w.compact()
					readBack += w.readBack(t, k)
				}
				if w.random.IntN(80) == 0 { // the owner succeeds itself; one in between writes late
					between := w.writer(3*owner + 1)
					k.Succeed(Owner{Generation: int32(3*owner + 2)})
					w.commit(k)
					w.late(between)
				}
			}
			if old = k; w.random.IntN(2) == 0 {
				w.die(t, k)
				old = nil
			}
			if t.Failed() {
				t.Fatal("seed", seed)
			}
		}
		w.settle(t)
	}
	if readBack < 100 {
		t.Errorf("only %d streams were read back", readBack)
	}
}

// settle checks that, a few commits later, the topic holds the journals and snapshots that are needed and nothing else.
func (w *world) settle(t *testing.T) {
	t.Helper()
	k := w.writer(100)
	for range 3 {
		at := record.Start(w.next)
		w.write(k.Commit(&Journal{From: at, Decided: at}, nil))
		k.Committed()
	}
	r := w.load()
	w.check(t, r, nil)
	if live := len(r.live); live > 200 {
		t.Fatalf("%d journals are kept", live)
	}
	needed := map[string]bool{}
	for _, keys := range r.keys {
		for _, key := range keys.keys {
			needed[key] = true
		}
	}
	last := map[string][]byte{}
	for _, raw := range w.log {
		last[string(raw.Key)] = raw.Value
	}
	for key, value := range last {
		if p, err := parseStateKey([]byte(key)); err != nil || p.kind == snapshotKind && value != nil && !needed[key] {
			t.Fatalf("%s is left: %v", key, err)
		}
	}
}
