package extension

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"unsafe"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// Stream is a stream of a partition. Whoever uses its memory holds its lock.
type Stream struct {
	sync.Mutex
	Key    record.StreamID
	At     topic.TopicPartition
	Memory *stream.Stream // nil: put away, or nobody has wanted it since the process has the stream
	// Away makes the memory, or reads it back; nil: it is there.
	Away func(context.Context) (*stream.Stream, error)
}

// Return brings the memory back if it is away. The caller holds the lock. The error is that of ctx.
func (s *Stream) Return(ctx context.Context) (err error) {
	if s.Away == nil {
		return nil
	}
	if s.Memory, err = s.Away(ctx); err == nil {
		s.Away = nil
	}
	return err
}

// ItemOf converts a record's item, whose position has this key, to the stream's form.
func ItemOf(it *record.Item, key string) stream.Item {
	name := key
	if it.Label != "" { // the stream keeps it, but not the keys of all items
		name = it.Name()
	}
	return stream.Item{
		ID: name, Vector: it.Vector, Label: it.Label, Model: it.Model,
		Position: stream.Position(it.Source.Position()), Frame: it.Frame, Track: it.Track, Result: record.ResultOf(key),
	}
}

// KeysOf returns the keys of the positions of n items, which share memory.
func KeysOf(n int, item func(int) *record.Item) []string {
	keys, buffer := make([]string, n), make([]byte, 0, 40*n)
	for i := range keys {
		from := len(buffer)
		buffer = item(i).Source.AppendKey(buffer)
		// Nothing changes these bytes any more. A buffer that grew has moved, but they stay where they were.
		keys[i] = unsafe.String(&buffer[from], len(buffer)-from)
	}
	return keys
}

// SetResult sets the fields that every result has of an item and its answer.
func SetResult(r *record.Result, it *record.Item, id string, a *stream.Answer) {
	*r = record.Result{
		ID: id, ItemID: it.ItemID, ReplayOf: it.ReplayOf, Stream: it.Stream, Label: a.Label,
		Confidence: a.Confidence, Calibrated: a.Calibrated, Unknown: a.Unknown, UnknownScore: a.UnknownScore,
		Time: it.Time, Model: it.Model, Attributes: it.Attributes,
		Source: record.ResultSource{Topic: it.Source.Topic, Partition: it.Source.Partition, Offset: it.Source.Offset},
	}
	if a.Class != a.Label {
		r.Class = a.Class
	}
}

// Guard runs do, and says whether it ended well. A panic ends here: it is logged with the message what.
func Guard(log *slog.Logger, what, stream string, do func()) (well bool) {
	defer func() {
		if fault := recover(); fault != nil {
			log.Error(what, "stream", stream, "error", fault, "stack", string(debug.Stack()))
		}
	}()
	do()
	return true
}
