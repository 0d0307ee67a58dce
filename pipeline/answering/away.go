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
	after := a.of.PutAway
	if after == 0 {
		return nil
	}
	for _, s := range a.all {
		if s.unsaved || !s.quiet() || !s.TryLock() {
			continue
		}
		if s.Memory != nil && now.Sub(s.used) >= after && !saves(s.Key) && s.putAway(a.of) {
			list = append(list, s)
		}
		s.Unlock()
	}
	return list
}

// putAway drops the memory of a stream, if the state topic is known to have it. The caller holds the stream.
func (s *Stream) putAway(of *Owner) bool {
	kept := of.State.Saved(s.Key, s.learned)
	if kept == nil {
		return false
	}
	s.Memory, s.Away = nil, func(ctx context.Context) (*stream.Stream, error) { return s.fetch(ctx, of, kept) }
	s.bytes.Store(0)
	s.metricBytes.Store(0)
	of.Moves.Add(1, MoveAway)
	return true
}

// fetch reads back a memory that was put away. A stream whose records somebody has taken out of the state topic starts
// from its labels.
func (s *Stream) fetch(ctx context.Context, of *Owner, kept *state.Saved) (*stream.Stream, error) {
	snapshot, err := of.State.Read(ctx, kept)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s.used = time.Now()
	of.Moves.Add(1, MoveBack)
	if err == nil {
		memory, _ := of.memory(snapshot)
		return memory, nil
	}
	of.Log.Error("the state topic has lost a stream that was put away: it starts from its labels", "stream", s.Key.Name,
		"model", s.Key.Model, "error", err)
	return stream.New(s.Key.Name, of.Memory), nil
}
