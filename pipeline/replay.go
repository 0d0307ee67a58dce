package pipeline

import (
	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
)

// replay is what a new owner does before it decides anything: it reads again what the last one had read, puts open
// episodes together again, and learns the episodes that were answered and that no snapshot covers.
type replay struct {
	from     record.Position // items before it were answered: they are at most learned again
	decided  record.Position // before it nothing is closed by the clock and nothing is committed
	episodes map[consumer.Key][]relearning
	left     int // episodes still to be learned again
}

// relearning is an answered episode that is put together again, with the labels that it was answered by.
type relearning struct {
	state.Answered
	view  *view
	items []record.Item
}

// newReplay is a replay of nothing: everything read is new.
func newReplay() *replay {
	return &replay{
		from: record.NoPosition, decided: record.NoPosition,
		episodes: map[consumer.Key][]relearning{},
	}
}

// add asks for an episode to be learned again. Those of a stream are added in the order of their items.
func (r *replay) add(a state.Answered, v *view) {
	key := consumer.Key{Stream: a.Stream.Name, Model: a.Stream.Model}
	r.episodes[key] = append(r.episodes[key], relearning{Answered: a, view: v})
	r.left++
}

// over says whether reading has come to where decisions are taken.
func (r *replay) over(position record.Position) bool { return !r.decided.After(position) }

// answered says whether what stands at position was answered before, and belongs into no episode any more.
func (r *replay) answered(position record.Position) bool { return r.from.After(position) }

// take gives the item to its stream's next episode and hands each episode that is whole by then to learn. Items that
// retention took are not waited for.
func (r *replay) take(it *record.Item, learn func(consumer.Key, *relearning)) {
	if r.left == 0 {
		return
	}
	key := consumer.Key{Stream: it.Stream, Model: it.Model}
	position := it.Source.Position()
	list := r.episodes[key]
	for len(list) > 0 {
		e := &list[0]
		if e.First.After(position) {
			return
		}
		beyond := position.After(e.Last)
		if !beyond {
			e.items = append(e.items, *it)
			if position != e.Last {
				return
			}
		}
		if list = list[1:]; len(list) == 0 {
			delete(r.episodes, key)
		} else {
			r.episodes[key] = list
		}
		r.left--
		if len(e.items) > 0 {
			learn(key, e)
		}
		if !beyond {
			return
		}
	}
}
