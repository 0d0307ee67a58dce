package consumer

import (
	"container/list"
	"fmt"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Limits say when an episode closes.
type Limits struct {
	Size   int           // items
	Age    time.Duration // of event time; 0: off
	Idle   time.Duration // without a new item, by the wall clock; 0: off
	Memory int64         // bytes of all open episodes of the partition
}

// Validate returns every fault, not only the first.
func (l Limits) Validate() []error {
	var faults []error
	if l.Size < 1 {
		faults = append(faults, fmt.Errorf("episode-size %d: below 1", l.Size))
	}
	if l.Age < 0 || l.Idle < 0 {
		faults = append(faults, fmt.Errorf("episode-age %v, episode-idle %v: neither may be negative", l.Age,
			l.Idle))
	}
	if l.Memory < 1 {
		faults = append(faults, fmt.Errorf("max-memory %d: below 1", l.Memory))
	}
	return faults
}

// Buffer gathers the items of one partition into episodes, stream by stream. Except for Idle and Drain,
// where an episode closes is a function of the items and their order, so that reading the same input again
// gives the same episodes.
type Buffer struct {
	limits Limits
	closed []*Episode // that Closed has not returned yet
	open   map[record.StreamID]*openEpisode
	// byAge holds the open episodes in the order of their first items. The oldest closes first, and
	// bounds the committed offset.
	byAge list.List
	// bySilence holds them in the order of their last arrival by the wall clock.
	bySilence list.List
	bytes     int64
	length    int       // items of the last episode that closed
	high      time.Time // highest event time seen

	alreadyAnswered map[record.StreamID]*answeredTo
	closedAhead     []AnsweredAhead // in the order in which they close
	models          map[string]int  // of the open episodes, and how many each has
}

// openBytes is approximately what an open episode takes beside its items and its stream's name. It counts
// where a sender names a new stream with each item.
const openBytes = 512

// openEpisode is an open episode. One ahead was answered before a restart: its items are counted but not
// kept, so that the memory limit closes the other episodes where it closed them the first time.
type openEpisode struct {
	episode     Episode
	first       record.Position
	count       int
	dimension   int       // of its items' vectors
	begun       time.Time // event time of the first item, or the highest seen until then if it was late
	arrived     time.Time
	ahead       bool
	age, silent *list.Element
}

// AnsweredAhead is an episode that was answered before a restart, although an episode that closed earlier was not.
type AnsweredAhead struct {
	Key             record.StreamID
	First, Last, At record.Position
	Closed          Reason
}

// answeredTo says which of a stream's items need no answer.
type answeredTo struct {
	decided record.Position // up to here: closed before the position at which decisions resume
	last    record.Position // up to here: answered, but open at that position: ahead of others
}

// NewBuffer returns an empty buffer.
func NewBuffer(l Limits) *Buffer {
	return &Buffer{
		limits: l,
		open:   map[record.StreamID]*openEpisode{}, alreadyAnswered: map[record.StreamID]*answeredTo{}, models: map[string]int{},
	}
}

// Resume prepares for reading a partition again: high is the highest event time before the position
// at which reading starts. It is ignored if it is not credible; older versions stored such times. now
// is the wall clock.
func (b *Buffer) Resume(high, now time.Time) {
	if !high.After(now.Add(clockTolerance)) {
		b.high = high
	}
}

// Skip marks the stream's items up to last as answered, in episodes that closed before any undecided one.
func (b *Buffer) Skip(key record.StreamID, last record.Position) {
	b.alreadyAnswered[key] = &answeredTo{decided: last, last: last}
}

// AddAhead adds episodes, in the order in which they closed, that were answered although an earlier one was
// not. It is called after Skip.
func (b *Buffer) AddAhead(list []AnsweredAhead) {
	for _, g := range list {
		a := b.alreadyAnswered[g.Key]
		if a == nil {
			a = &answeredTo{decided: record.NoPosition, last: record.NoPosition}
			b.alreadyAnswered[g.Key] = a
		}
		if g.Last.After(a.last) {
			a.last = g.Last
		}
		if !g.First.After(a.decided) { // Skip covered it too, but it was open where decisions resume
			a.decided = before(g.First)
		}
	}
	b.closedAhead = append(b.closedAhead, list...)
}

func before(p record.Position) record.Position {
	if p.Object > 0 {
		return record.Position{Offset: p.Offset, Object: p.Object - 1}
	}
	return record.Start(p.Offset - 1).End()
}

// clockTolerance is how far senders' clocks may be ahead of the clock of their records' writer, and of ours.
const clockTolerance = time.Hour

// credible says whether an item that was written at a given time, and is read now, can have happened at
// t. An item whose time is not credible keeps it, but does not advance the partition's event time.
// Otherwise one camera whose clock is in 2030 would close the episodes of every stream, and from then on
// none would close by age.
func credible(t, written, now time.Time) bool {
	limit := now
	if written.Before(now) && written.Unix() > 0 { // else the record's timestamp is wrong
		limit = written
	}
	return !t.After(limit.Add(clockTolerance))
}

// Add puts an item into its stream's open episode; written is its record's timestamp, now the wall clock.
func (b *Buffer) Add(item record.Item, written, now time.Time) {
	position := item.Source.Position()
	key := item.Of()
	ahead := false
	if a := b.alreadyAnswered[key]; a != nil {
		switch {
		case !position.After(a.decided):
			b.advance(&item, written, now)
			return
		case !position.After(a.last):
			ahead = true
		default:
			delete(b.alreadyAnswered, key)
		}
	}
	previous := b.high
	b.advance(&item, written, now)
	o := b.open[key]
	switch {
	case o == nil:
	case o.ahead != ahead:
		b.close(o, Size, position) // answered and unanswered items share no episode
		o = nil
	case o.dimension != len(item.Vector): // records may disagree on the dimension
		b.close(o, Dimension, position)
		o = nil
	}
	if o == nil {
		o = &openEpisode{
			first: position, begun: b.high, ahead: ahead, dimension: len(item.Vector),
			episode: Episode{Key: key, Before: previous},
		}
		b.open[key] = o
		o.episode.Bytes = int64(openBytes + len(key.Name) + len(key.Model))
		b.bytes += o.episode.Bytes
		b.models[key.Model]++
		o.age = b.byAge.PushBack(o)
		o.silent = b.bySilence.PushBack(o)
	} else {
		b.bySilence.MoveToBack(o.silent)
	}
	o.arrived = now
	o.count++
	o.episode.Reached = b.high
	size := int64(item.Size())
	o.episode.Bytes += size
	b.bytes += size
	if !ahead {
		if n := len(o.episode.Items); n == cap(o.episode.Items) { // no more than the episode can take
			more := max(n, 4, min(b.length/6, 16))
			if most := b.length - n; most <= 6*n { // it may become as long as the last one
				more = max(more, most)
			}
			o.episode.Items = slices.Grow(o.episode.Items, max(1, min(more, b.limits.Size-n)))
		}
		o.episode.Items = append(o.episode.Items, item)
	}
	if o.count >= b.limits.Size {
		b.close(o, Size, position)
	}
	b.dropAhead(position, false)
	for b.bytes > b.limits.Memory {
		b.close(b.byAge.Front().Value.(*openEpisode), Memory, position)
	}
	b.dropAhead(position, true)
}

// advance moves event time forward and closes the episodes that are too old by it, before the item that moved
// it joins its stream.
func (b *Buffer) advance(item *record.Item, written, now time.Time) {
	t, position := item.Time, item.Source.Position()
	if !t.After(b.high) || !credible(t, written, now) {
		return
	}
	b.high = t
	if b.limits.Age == 0 {
		return
	}
	for front := b.byAge.Front(); front != nil; front = b.byAge.Front() {
		o := front.Value.(*openEpisode)
		if b.high.Sub(o.begun) < b.limits.Age {
			return
		}
		b.close(o, Age, position)
	}
}

// dropAhead drops the episodes answered ahead that had closed by position. Unless memory is true, it keeps those that the memory
// limit closed: they go after that limit has been applied.
func (b *Buffer) dropAhead(position record.Position, memory bool) {
	if len(b.closedAhead) == 0 {
		return
	}
	kept := b.closedAhead[:0]
	for i, g := range b.closedAhead {
		if g.At.After(position) {
			kept = append(kept, b.closedAhead[i:]...)
			break
		}
		if g.Closed == Memory && !memory {
			kept = append(kept, g)
			continue
		}
		if o := b.open[g.Key]; o != nil && o.ahead && !o.first.After(g.Last) {
			b.close(o, g.Closed, position)
		}
	}
	b.closedAhead = kept
}

// Mark closes the open episodes of a stream, of all its models, the oldest first. position is the marker's.
func (b *Buffer) Mark(stream string, position record.Position) {
	var marked []*openEpisode
	for model := range b.models {
		if o := b.open[record.StreamID{Name: stream, Model: model}]; o != nil {
			marked = append(marked, o)
		}
	}
	slices.SortFunc(marked, func(x, y *openEpisode) int {
		if x.first.After(y.first) {
			return 1
		}
		return -1
	})
	for _, o := range marked {
		b.close(o, Marker, position)
	}
}

// Silent closes the episodes that got no item after before. position is the next one to be read.
func (b *Buffer) Silent(before time.Time, position record.Position) {
	for front := b.bySilence.Front(); front != nil; front = b.bySilence.Front() {
		o := front.Value.(*openEpisode)
		if o.arrived.After(before) {
			return
		}
		b.close(o, Idle, position)
	}
}

// Drain closes all open episodes. position is the next one to be read.
func (b *Buffer) Drain(position record.Position) {
	for front := b.byAge.Front(); front != nil; front = b.byAge.Front() {
		b.close(front.Value.(*openEpisode), Drain, position)
	}
}

// Closed returns the episodes that have closed since the last call, in order.
func (b *Buffer) Closed() []*Episode {
	list := b.closed
	b.closed = nil
	return list
}

// Oldest returns the position of the oldest open episode's first item and the highest event time before it;
// false if none is open.
func (b *Buffer) Oldest() (record.Position, time.Time, bool) {
	front := b.byAge.Front()
	if front == nil {
		return record.Position{}, time.Time{}, false
	}
	o := front.Value.(*openEpisode)
	return o.first, o.episode.Before, true
}

// High is the highest event time seen.
func (b *Buffer) High() time.Time { return b.high }

// Bytes is about the size of the open episodes.
func (b *Buffer) Bytes() int64 { return b.bytes }

// Len is the number of open episodes.
func (b *Buffer) Len() int { return len(b.open) }

func (b *Buffer) close(o *openEpisode, why Reason, at record.Position) {
	b.byAge.Remove(o.age)
	b.bySilence.Remove(o.silent)
	delete(b.open, o.episode.Key)
	if model := o.episode.Key.Model; b.models[model] > 1 {
		b.models[model]--
	} else {
		delete(b.models, model)
	}
	b.bytes -= o.episode.Bytes
	if o.ahead {
		return
	}
	o.episode.Closed, o.episode.At, b.length = why, at, len(o.episode.Items)
	b.closed = append(b.closed, &o.episode)
}
