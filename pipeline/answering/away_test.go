package answering

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/solver/stream"
)

// A restored stream's memory is made when it is first wanted, and is what was saved. Until then it is saved again as it was
// read. A snapshot of which no memory can be made is left alone: the stream starts cold.
func TestMemoriesAreMadeWhenWanted(t *testing.T) {
	pieces := learned(t).State()
	writer := state.NewWriter("group", "in", "state", 0, state.Owner{Generation: 1}, state.NewLoader("group", "in").Restore())
	at := record.Position{Offset: 59, Object: -1}
	writer.Start(record.Position{})
	snapshots := map[record.StreamID]*state.Snapshot{}
	var list []*state.Snapshot
	for name, pieces := range map[string][]state.Piece{
		"good": pieces, "cut": pieces[:len(pieces)-1], "damaged": {{Name: "head", Bytes: pieces[0].Bytes[:20]}}, "reset": nil,
	} {
		s := &state.Snapshot{Stream: record.StreamID{Name: name}, Learned: at, Pieces: pieces}
		snapshots[s.Stream], list = s, append(list, s)
	}
	writer.Commit(&state.Journal{From: at, Decided: at}, list)
	writer.Durable()(20, true)
	writer.Committed()
	pool := NewPool(1)
	defer pool.Close()
	settings := &Settings{Memory: stream.Defaults(), Budget: budget.New(0), Known: new(Known), Pool: pool}
	of := NewOwner(t.Context(), settings, topic.TopicPartition{}, &store.Partition{Writer: writer}, slog.New(slog.DiscardHandler))
	a := New(of)
	a.Restore(snapshots)
	for name, want := range map[string]struct {
		episodes   int64
		left, made bool
	}{"good": {episodes: 3}, "cut": {episodes: 3}, "damaged": {left: true, made: true}, "reset": {}} {
		s := a.Find(record.StreamID{Name: name})
		if made := s.Memory != nil; made != want.made || s.episodes != want.episodes || s.taught != (want.episodes > 0) {
			t.Errorf("%s: memory %v, %d episodes, taught %v", name, made, s.episodes, s.taught)
		}
		if left := writer.Saved(s.Key, at) == nil; left != want.left {
			t.Errorf("%s: left alone %v", name, left)
		}
		if want.made {
			continue
		}
		a.Save(s)
		jobs := a.Collect(<-a.Done())
		if got := jobs[0].Snapshot; s.Memory != nil || !slices.EqualFunc(got.Pieces, snapshots[s.Key].Pieces, samePiece) ||
			got.Learned != at {
			t.Errorf("%s: saved as %v", name, got)
		}
		s.Lock()
		if err := s.Return(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := s.Snapshot().Pieces
		s.Unlock()
		if size, ofMetric := s.Memory.Bytes(); s.bytes.Load() != int64(size+ofMetric) {
			t.Errorf("%s: counted as %d bytes, not %d, once it was wanted", name, s.bytes.Load(), size+ofMetric)
		}
		if name == "good" && !slices.EqualFunc(again, pieces, samePiece) {
			t.Error("it is not what was saved")
		}
		a.Snapshot(s) // what is saved next is no other's
		if left := writer.Saved(s.Key, at) == nil; left != (name == "cut") {
			t.Errorf("%s: left alone %v once it was wanted", name, left)
		}
	}
}

// learned returns a stream that was taught and has answered three episodes.
func learned(t *testing.T) *stream.Stream {
	t.Helper()
	s := stream.New("good")
	for e := range 3 {
		items := make([]stream.Item, 20)
		for i := range items {
			vector := []float32{1, .1, 0, float32(i) / 100}
			vector[i%2], vector[1-i%2] = 1, .1
			items[i] = stream.Item{Vector: vector, Position: stream.Position{Offset: int64(20*e + i), Object: -1}}
			if i < 2 {
				items[i].Label = []string{"a", "b"}[i]
			}
		}
		if _, _, err := s.Answer(t.Context(), new(stream.Engine), items, nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Where memory is used up, the metric of a restored stream that nobody has wanted yet is seen, and can be dropped as that of
// any other: otherwise streams would be given up in its place.
func TestMetricsOfUnwantedStreamsAreDropped(t *testing.T) {
	b, known := budget.New(0), new(Known)
	settings := &Settings{Memory: stream.Defaults(), Budget: b, Known: known}
	of := NewOwner(t.Context(), settings, topic.TopicPartition{}, &store.Partition{}, slog.New(slog.DiscardHandler))
	a := New(of)
	key := record.StreamID{Name: "good"}
	a.Restore(map[record.StreamID]*state.Snapshot{key: {Stream: key, Pieces: learned(t).State()}})
	s := a.Find(key)
	known.Add(s)
	all, ofMetrics := known.Bytes()
	if s.Memory != nil || ofMetrics == 0 || ofMetrics >= all {
		t.Fatalf("memory %v, %d bytes of metrics of %d", s.Memory != nil, ofMetrics, all)
	}
	b.Metrics.Store(1)
	if dropped := a.DropMetrics(); !slices.Equal(dropped, []*Stream{s}) {
		t.Errorf("%d streams have no metric now, not 1", len(dropped))
	}
	if _, left := known.Bytes(); left != 0 {
		t.Errorf("%d bytes of metrics are left", left)
	}
}

func samePiece(a, b state.Piece) bool { return a.Name == b.Name && string(a.Bytes) == string(b.Bytes) }

// What the process counts for its streams is the sum over those that are known, whatever they come to hold before, meanwhile
// and after.
func TestBytesAreThoseOfKnownStreams(t *testing.T) {
	known, random := new(Known), rand.New(rand.NewPCG(1, 1))
	streams, in := make([]Stream, 8), make([]bool, 8)
	for range 1000 {
		i := random.IntN(len(streams))
		switch s := &streams[i]; random.IntN(3) {
		case 0:
			s.holds(random.Int64N(1000), random.Int64N(100))
		case 1:
			known.Add(s)
			in[i] = true
		case 2:
			known.Drop(s)
			in[i] = false
		}
		var all, ofMetrics int64
		for i := range streams {
			if in[i] {
				all, ofMetrics = all+streams[i].bytes.Load(), ofMetrics+streams[i].metricBytes.Load()
			}
		}
		if a, m := known.Bytes(); a != all || m != ofMetrics {
			t.Fatalf("%d bytes, %d of metrics; they hold %d, %d", a, m, all, ofMetrics)
		}
	}
}

// Where memory is used up, saved streams that have been silent for a while wait in the state topic, the longest silent
// first, and no more of them than the budget asks for.
func TestSilentStreamsGoBeforeOthers(t *testing.T) {
	now, b := time.Now(), budget.New(0)
	writer := state.NewWriter("group", "in", "state", 0, state.Owner{Generation: 1}, state.NewLoader("group", "in").Restore())
	settings := &Settings{
		Budget: b, Known: new(Known), PutAway: time.Hour, Moves: telemetry.NewSet().Counter("moves", "", "move"),
	}
	of := NewOwner(t.Context(), settings, topic.TopicPartition{}, &store.Partition{Writer: writer}, slog.New(slog.DiscardHandler))
	a := New(of)
	at := func(offset int) record.Position { return record.Position{Offset: int64(offset), Object: -1} }
	writer.Start(at(0))
	names := []string{"silent", "longest", "sooner", "busy", "unsaved", "unwritten"}
	var snapshots []*state.Snapshot
	for i, name := range names {
		s := a.Stream(record.StreamID{Name: name})
		s.learned, s.used = at(10-i), now.Add(-time.Minute)
		s.holds(100, 0)
		s.unsaved = name == "unsaved"
		switch name {
		case "sooner":
			s.used = now.Add(-time.Minute + 1)
		case "busy":
			s.pending = 1
		case "unwritten":
			continue
		}
		snapshots = append(snapshots, &state.Snapshot{
			Stream: s.Key, Learned: s.learned, Pieces: []state.Piece{{Name: "head", Bytes: []byte{1}}},
		})
	}
	writer.Commit(&state.Journal{From: at(100), Decided: at(100)}, snapshots)
	writer.Durable()(20, true)
	writer.Committed()
	saves := func(record.StreamID) bool { return false }
	for _, asked := range []struct {
		bytes int64
		want  []string
	}{{0, nil}, {100, []string{"longest"}}, {1000, []string{"silent"}}, {1000, nil}} {
		b.Streams.Store(asked.bytes)
		var got []string
		for _, s := range a.PutAwayForMemory(now, saves) {
			got = append(got, s.Key.Name)
		}
		if !slices.Equal(got, asked.want) {
			t.Errorf("%q for %d bytes, want %q", got, asked.bytes, asked.want)
		}
		if left := b.Streams.Load(); left != asked.bytes-int64(100*len(got)) {
			t.Errorf("%d bytes are still asked for, of %d", left, asked.bytes)
		}
	}
	b.Streams.Store(1000)
	for _, s := range a.ForMemory(100) {
		if s.Memory == nil {
			t.Errorf("stream %s is given up, and has no memory", s.Key.Name)
		}
	}
}
