// Package consumer turns Kafka partitions into episodes: it reads, decodes, and closes an episode of a stream when it
// is full, old, silent, marked, or memory is short.
package consumer

import "slkstream/internal/record"

// Reason says why an episode closed.
type Reason string

// Reasons an episode closes for.
const (
	Size   Reason = "size"
	Age    Reason = "age"
	Idle   Reason = "idle"
	Marker Reason = "marker"
	Memory Reason = "memory"
	Drain  Reason = "drain"
)

// Episode is a run of one stream's items that is solved as one.
type Episode struct {
	Stream string
	Items  []record.Item
	Closed Reason
}

// Buffer gathers the items of one partition into episodes, a stream at a time.
type Buffer struct {
	size int
	open map[string]*Episode
}

// NewBuffer closes episodes at size items.
func NewBuffer(size int) *Buffer { return &Buffer{size, map[string]*Episode{}} }

// Add puts an item into its stream's open episode and returns that episode if the item closed it.
func (b *Buffer) Add(item record.Item) *Episode {
	e := b.open[item.Stream]
	if e == nil {
		e = &Episode{Stream: item.Stream}
		b.open[item.Stream] = e
	}
	if e.Items = append(e.Items, item); len(e.Items) < b.size {
		return nil
	}
	delete(b.open, item.Stream)
	e.Closed = Size
	return e
}
