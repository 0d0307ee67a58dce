package intake

import (
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// replay is a new owner's first work: it reads again what the previous owner had read, rebuilds the open
// episodes, and learns answered episodes that no snapshot covers, without emitting results.
type replay struct {
	from     record.Position // items before it were answered: they are only learned
	decided  record.Position // before it nothing closes by the clock and nothing is committed
	episodes map[record.StreamID][]replayed
	left     int // episodes still to be learned
}

// replayed is an answered episode that is rebuilt, with the labels in force when it was answered.
type replayed struct {
	state.Episode
	labels *labels.Version
	items  []record.Item
}

// newReplay is empty: every record read is new.
func newReplay() *replay {
	return &replay{
		from: record.NoPosition, decided: record.NoPosition,
		episodes: map[record.StreamID][]replayed{},
	}
}

// add queues an episode for learning. Episodes of a stream are added in the order of their items.
func (r *replay) add(a state.Episode, v *labels.Version) {
	key := a.Stream
	r.episodes[key] = append(r.episodes[key], replayed{Episode: a, labels: v})
	r.left++
}

// over says whether reading has passed the replay.
func (r *replay) over(position record.Position) bool { return !r.decided.After(position) }

// covers says whether the item at position was answered before and enters no episode.
func (r *replay) covers(position record.Position) bool { return r.from.After(position) }

// giveUp ends a replay that has filled the partition while no job is left, as where the previous owner had more
// room for closed episodes: only commits make room, and a replay makes none.
func (r *replay) giveUp(position record.Position, jobs int) {
	if jobs == 0 && !r.over(position) {
		r.decided = position
	}
}

// take adds the item to its stream's next episode, and returns the episodes that are complete. It does not wait
// for items that retention has deleted.
func (r *replay) take(it *record.Item) (complete []replayed) {
	if r.left == 0 {
		return nil
	}
	key := it.Of()
	position := it.Source.Position()
	list := r.episodes[key]
	for len(list) > 0 {
		e := &list[0]
		if e.First.After(position) {
			break
		}
		beyond := position.After(e.Last)
		if !beyond {
			e.items = append(e.items, *it)
			if position != e.Last {
				break
			}
		}
		if list = list[1:]; len(list) == 0 {
			delete(r.episodes, key)
		} else {
			r.episodes[key] = list
		}
		r.left--
		if len(e.items) > 0 {
			complete = append(complete, *e)
		}
		if !beyond {
			break
		}
	}
	return complete
}
