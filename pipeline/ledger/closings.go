package ledger

import (
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/answering"
)

// closings keeps a partition's episodes in the order in which they closed, and so knows which of them the
// next owner must close again.
type closings struct {
	waiting []*answering.Job // the first is not answered
	closed  []closing        // answered episodes that one item closed, the last to close any
}

// closing is what a restart needs to know of a closed episode, which it does not keep in memory.
type closing struct {
	at, first record.Position // see consumer.Episode
	before    time.Time
}

func (c *closings) add(j *answering.Job) { c.waiting = append(c.waiting, j) }

// dropAnswered removes answered episodes from the front.
func (c *closings) dropAnswered() {
	for len(c.waiting) > 0 && c.waiting[0].Collected {
		e := c.waiting[0].Episode
		if len(c.closed) > 0 && c.closed[0].at != e.At {
			c.closed = c.closed[:0]
		}
		if e.Closed.ByItem() {
			c.closed = append(c.closed, closing{e.At, e.First(), e.Before})
		}
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
	}
}

// restartBefore moves a restart, which the open episodes give, before the first closed and unanswered episode.
func (c *closings) restartBefore(r *state.Journal) {
	if len(c.waiting) == 0 {
		return
	}
	r.Decided = c.waiting[0].Episode.At
	for _, j := range c.waiting {
		moveBack(r, j.Episode.First(), j.Episode.Before)
	}
	for _, e := range c.closed { // episodes that the same item closed must close again together
		if e.at == r.Decided {
			moveBack(r, e.first, e.before)
		}
	}
}

// moveBack moves a restart back to a position, if it is after that; high is the highest event time before it.
func moveBack(r *state.Journal, from record.Position, high time.Time) {
	if r.From.After(from) {
		r.From, r.High = from, high
	}
}
