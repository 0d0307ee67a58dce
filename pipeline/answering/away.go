package answering

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/solver/stream"
)

// Counts of Settings.Moves.
const (
	MoveAway = "put-away"
	MoveBack = "back"
)

// PutAway drops the memories of streams that nothing has come from for Settings.PutAway, once they are in the state topic,
// and returns the streams. saves says whether a snapshot of a stream is on its way there. A memory comes back with the
// stream's next episode. Silence is by the process's clock, as it is its memory that is spared and no answer depends on
// it: a stream is answered as if it had stayed.
func (a *Streams) PutAway(now time.Time, saves func(record.StreamID) bool) (list []*Stream) {
	if a.owner.PutAway == 0 {
		return nil
	}
	for _, s := range a.all {
		if a.leaves(s, now.Add(-a.owner.PutAway), saves) {
			list = append(list, s)
		}
	}
	return list
}

// PutAwayForMemory does so as the budget asks, before metrics are dropped and streams evicted, with streams that nothing
// has come from for a sixtieth of Settings.PutAway, the longest silent first. What comes sooner would mostly be read back.
func (a *Streams) PutAwayForMemory(now time.Time, saves func(record.StreamID) bool) (list []*Stream) {
	if a.owner.PutAway == 0 {
		return nil
	}
	b := a.owner.Budget
	for _, s := range a.leastWorth(func(s *Stream) float64 { return float64(s.learned.Offset) }) {
		if b.Metrics.Load() <= 0 && b.Streams.Load() <= 0 {
			break
		}
		bytes := s.bytes.Load()
		if a.leaves(s, now.Add(-a.owner.PutAway/60), saves) {
			b.Metrics.Add(-bytes)
			b.Streams.Add(-bytes)
			list = append(list, s)
		}
	}
	return list
}

// leaves puts a stream away if nothing has come from it since a time.
func (a *Streams) leaves(s *Stream, since time.Time, saves func(record.StreamID) bool) bool {
	if s.unsaved || !s.free() || !s.TryLock() {
		return false
	}
	defer s.Unlock()
	return (s.Memory != nil || s.asleep != nil) && !s.used.After(since) && !saves(s.Key) && s.putAway(a.owner)
}

// putAway drops the memory of a stream, if the state topic is known to have it. The caller holds the stream.
func (s *Stream) putAway(of *Owner) bool {
	kept := of.State.Saved(s.Key, s.learned)
	if kept == nil {
		return false
	}
	s.sleep(of, nil, kept)
	of.Moves.Add(1, MoveAway)
	return true
}

// sleep has the stream's memory made from a snapshot when it is next wanted: from asleep, or from kept if that is nil. The
// caller holds the stream.
func (s *Stream) sleep(of *Owner, asleep *state.Snapshot, kept *state.Saved) {
	s.Memory, s.asleep, s.kept = nil, asleep, kept
	s.Away = func(ctx context.Context) (*stream.Stream, error) { return s.wake(ctx, of) }
	bytes := 0
	if asleep != nil {
		bytes = asleep.Bytes()
	}
	s.holds(int64(bytes), 0)
}

// fetch reads back the snapshot of a stream that was put away. A stream whose records somebody has taken out of the state
// topic starts from its labels. The caller holds the stream; the error is that of ctx.
func (s *Stream) fetch(ctx context.Context, of *Owner) error {
	if s.kept == nil {
		return nil
	}
	snapshot, err := of.State.Read(ctx, s.kept)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		of.Log.Error("the state topic has lost a stream that was put away: it starts from its labels", "stream", s.Key.Name,
			"model", s.Key.Model, "error", err)
		snapshot = &state.Snapshot{Stream: s.Key}
	}
	s.kept, s.asleep, s.used = nil, snapshot, time.Now()
	of.Moves.Add(1, MoveBack)
	return nil
}

// wake makes the memory of a stream that sleeps, or was put away. The caller holds the stream; the error is that of ctx.
func (s *Stream) wake(ctx context.Context, of *Owner) (*stream.Stream, error) {
	if err := s.fetch(ctx, of); err != nil {
		return nil, err
	}
	memory, readable := of.memory(s.asleep)
	s.asleep = nil
	s.unreadable.Store(!readable)
	s.measure(memory) // whoever wants it: it may be a question, after which nothing is learned
	return memory, nil
}
