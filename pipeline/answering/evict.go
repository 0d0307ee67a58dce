package answering

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
)

// evicted is an evicted stream whose state holds its last answered position only.
type evicted struct {
	key  record.StreamID
	last record.Position
}

// free says whether no worker has, or will have, a job of the stream. Only then may it be evicted.
func (s *Stream) free() bool { return !s.saving && s.pending == 0 }

// worth orders streams by what eviction would lose: the square of their episodes, divided by the records
// since their last one. A stream that was taught counts a hundredfold, because people's labels do not come
// back. So keys that come once evict each other, not a long-lived camera that pauses.
func (s *Stream) worth(now int64) float64 {
	weight := float64(max(s.episodes*s.episodes, 1))
	if s.taught {
		weight *= 100
	}
	return weight / float64(max(now-s.learned.Offset, 1))
}

// leastWorth returns the free streams, those of least worth first.
func (a *Streams) leastWorth(worth func(*Stream) float64) []*Stream {
	list := slices.Collect(maps.Values(a.all))
	// Busy streams are left out, because workers change their memory. If they are worth least,
	// their eviction waits.
	list = slices.DeleteFunc(list, func(s *Stream) bool { return !s.free() })
	slices.SortFunc(list, func(a, b *Stream) int {
		return cmp.Or(cmp.Compare(worth(a), worth(b)),
			cmp.Compare(a.learned.Offset, b.learned.Offset), cmp.Compare(a.learned.Object, b.learned.Object))
	})
	return list
}

// Beyond returns the streams to evict so that no more than most stay, while the partition is read at an offset; nil: there
// are no more. More of them go at a time than must.
func (a *Streams) Beyond(most int, offset int64) []*Stream {
	over := len(a.all) - most
	if over <= 0 {
		return nil
	}
	list := a.leastWorth(func(s *Stream) float64 { return s.worth(offset) })
	n := over + most/20 - (len(a.all) - len(list))
	return list[:max(0, min(n, len(list)))]
}

// ForMemory returns the streams to evict for the bytes that the budget asks for: those of least worth for their bytes.
func (a *Streams) ForMemory(offset int64) (list []*Stream) {
	for _, s := range a.leastWorth(func(s *Stream) float64 {
		return s.worth(offset) / float64(max(s.bytes.Load(), 1))
	}) {
		bytes := s.bytes.Load()
		if bytes == 0 { // put away
			continue
		}
		if a.owner.Budget.Streams.Add(-bytes) <= -bytes {
			break
		}
		list = append(list, s)
	}
	return list
}

// DropMetrics drops metrics of streams that no worker is using, the largest first, as the budget asks, and returns
// the streams.
func (a *Streams) DropMetrics() (dropped []*Stream) {
	list := slices.SortedFunc(maps.Values(a.all), func(a, b *Stream) int {
		return cmp.Or(cmp.Compare(b.metricBytes.Load(), a.metricBytes.Load()),
			cmp.Compare(a.Key.Name, b.Key.Name))
	})
	for _, s := range list {
		if s.metricBytes.Load() == 0 || a.owner.Budget.Metrics.Load() <= 0 {
			break
		}
		if !s.TryLock() {
			continue
		}
		a.owner.Budget.Metrics.Add(-s.metricBytes.Load())
		_ = s.Return(a.owner.Context) // it is here: what was put away has no bytes
		a.setAside(s)
		s.Memory.DropMetric()
		s.measure(s.Memory)
		s.Unlock()
		dropped = append(dropped, s)
	}
	return dropped
}

// Evict gives up streams, and returns empty snapshots that replace their memory at once. They tell the next owner which
// items were answered, and are deleted when no item of the stream will be read again and no journal names it: see
// ForgetEvicted.
func (a *Streams) Evict(list []*Stream) (empty []*state.Snapshot) {
	for _, s := range list {
		empty = append(empty, &state.Snapshot{Stream: s.Key, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime})
		s.gone = true
		delete(a.all, s.Key)
		a.evicted = append(a.evicted, evicted{s.Key, s.learned})
	}
	return empty
}

// ForgetEvicted deletes the state of evicted streams of which no item at from or later will be read again, and says
// whether of any. saves says whether a snapshot of a stream is on its way to the state, from where it would stay.
func (a *Streams) ForgetEvicted(from record.Position, saves func(record.StreamID) bool) (any bool) {
	left := a.evicted[:0]
	for _, l := range a.evicted {
		switch {
		case a.all[l.key] != nil: // the stream has returned
		case from.After(l.last) && !saves(l.key) && a.owner.State.Forget(l.key):
			any = true
		default:
			left = append(left, l)
		}
	}
	clear(a.evicted[len(left):])
	a.evicted = left
	return any
}

// ForgetSilent gives up saved streams without an item since an event time, none of whose items at from or later will be
// read again, deletes their state and returns them.
func (a *Streams) ForgetSilent(since time.Time, from record.Position, saves func(record.StreamID) bool) (list []*Stream) {
	for key, s := range a.all {
		if s.unsaved || !s.free() || !from.After(s.learned) || since.Before(s.learnedTime) {
			continue
		}
		if saves(key) || !a.owner.State.Forget(key) {
			continue
		}
		delete(a.all, key)
		list = append(list, s)
	}
	return list
}

// LastTime returns the event time of the partition at the stream's last answered item.
func (s *Stream) LastTime() time.Time { return s.learnedTime }
