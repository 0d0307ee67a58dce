package state

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/record"
)

// stretch is the range of offsets of the state topic in which a commit's records are.
type stretch struct {
	from, to int64
	durable  atomic.Bool // from and to are set
}

// Durable returns what must be called, once, when the records of the last Commit are durable, with the offset behind them;
// known is false if the brokers did not say it. That may be on another goroutine, in the order of the commits.
func (k *Writer) Durable() func(end int64, known bool) {
	at := k.pending.stretch
	return func(end int64, known bool) {
		if !known {
			return
		}
		at.from, at.to, k.reached = k.reached, end, end
		at.durable.Store(true)
	}
}

// Saved is a stream's snapshot in the state topic. It is read back by its records, which are those from From to To, and
// others.
type Saved struct {
	From, To int64
	stream   record.StreamID
	snapshotKeys
	chunks map[string]chunk // by key
}

// Saved returns the durable snapshot of a stream; nil: none is known that covers all up to a position. It holds until the
// stream's next snapshot.
func (k *Writer) Saved(s record.StreamID, learned record.Position) *Saved {
	t := k.streams[s]
	if t == nil || t.stretch == nil || !t.stretch.durable.Load() || t.learned != learned || len(t.open) > 0 ||
		len(t.current.keys) == 0 {
		return nil
	}
	return &Saved{From: t.stretch.from, To: t.stretch.to, stream: s, snapshotKeys: t.current}
}

// Begin begins to read it, or begins again.
func (k *Saved) Begin() { k.chunks = map[string]chunk{} }

// Add takes the next record, of which it keeps no memory. Of one key the last counts: the topic may hold others between From
// and To.
func (k *Saved) Add(raw *record.Raw) error {
	if raw.Value == nil || !slices.Contains(k.keys, string(raw.Key)) {
		return nil
	}
	c, err := decodeChunk(bytes.Clone(raw.Value))
	if err == nil && c.version == k.version {
		k.chunks[string(raw.Key)] = c
	}
	return err
}

// Snapshot returns the snapshot that Add has got the records of.
func (k *Saved) Snapshot() (*Snapshot, error) {
	if have, want := len(k.chunks), len(k.keys); have != want {
		return nil, fmt.Errorf("stream %q: %w: %d of %d chunks", k.stream.Name, ErrUnreadable, have, want)
	}
	return join(k.stream, slices.SortedFunc(maps.Values(k.chunks), func(a, b chunk) int { return a.index - b.index }))
}
