// Package consumer turns Kafka partitions into episodes: it joins the group, reads and decodes the assigned
// partitions, and closes an episode of a stream when it is full, old, silent, marked, or memory is short.
package consumer

import (
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Reason says why an episode closed.
type Reason string

// Reasons for closing an episode. All but Idle and Drain are functions of the partition's input alone.
const (
	Size      Reason = "size"
	Age       Reason = "age"
	Idle      Reason = "idle"
	Marker    Reason = "marker"
	Memory    Reason = "memory"
	Drain     Reason = "drain"
	Dimension Reason = "dimension" // the next item's vector has another dimension
)

// Reasons are all of them. docs/formats.md lists them too.
var Reasons = []Reason{Size, Age, Idle, Marker, Memory, Drain, Dimension}

// ByItem says whether the item at the episode's At took part in closing it. Idle and Drain close before
// that item is read.
func (r Reason) ByItem() bool { return r != Idle && r != Drain }

// Episode is a run of one stream's items that is solved together.
type Episode struct {
	Key    record.StreamID
	Items  []record.Item
	Closed Reason
	// At is the position of the item or marker that closed it, or for Idle and Drain the next one to be read.
	// Nothing before it took part in the decision.
	At record.Position
	// Before is the partition's highest event time before the episode's first item.
	Before time.Time
	// Reached is the partition's event time after the last item, which may be later than the item's own.
	Reached time.Time
	Bytes   int64
}

// First is the position of the first item.
func (e *Episode) First() record.Position { return e.Items[0].Source.Position() }

// Last is the position of the last item.
func (e *Episode) Last() record.Position { return e.Items[len(e.Items)-1].Source.Position() }
