package answering

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/solver/stream"
)

// However long brokers take to give a stream's memory back, its job does not hang: the watchdog would end a process that
// only waits. What it does with the memory may hang.
func TestReadingBackDoesNotHang(t *testing.T) {
	pool := NewPool(1)
	of := NewOwner(t.Context(), &Settings{Pool: pool}, topic.TopicPartition{}, nil, slog.New(slog.DiscardHandler))
	a := New(of)
	reads, comes, learns := make(chan struct{}), make(chan struct{}), make(chan struct{})
	s := &Stream{Stream: extension.Stream{Away: func(context.Context) (*stream.Stream, error) {
		close(reads)
		<-comes
		return stream.New("camera"), nil
	}}}
	of.Learners = []extension.Learner{waits{learns}}
	hung := func() bool {
		j, _ := pool.Hung(0)
		return j != nil
	}
	a.Save(s)
	<-reads
	if hung() {
		t.Error("a job hangs whose stream's memory is read back")
	}
	close(comes)
	learns <- struct{}{}
	if !hung() {
		t.Error("what comes after that may hang for ever")
	}
	learns <- struct{}{}
	pool.Close()
}

// waits is a learner that waits in Free.
type waits struct{ until chan struct{} }

func (w waits) Hold(*extension.Stream, record.Position) <-chan struct{} { return nil }

func (w waits) Learned(*extension.Stream, *extension.Answered) {}

func (w waits) Free(*extension.Stream) {
	<-w.until
	<-w.until
}

// Where memory is used up, saved streams that have been silent for a while wait in the state topic, the longest silent
// first, and no more of them than the budget asks for.
func TestSilentStreamsGoBeforeOthers(t *testing.T) {
	now, b := time.Now(), budget.New(0)
	writer := state.NewWriter("group", "in", "state", 0, 1, state.NewLoader("group", "in").Restore())
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
		s.bytes.Store(100)
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
