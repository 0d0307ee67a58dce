package pipeline

import (
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/producer"
)

// settled says whether the replay has come to where decisions are taken.
func (p *partition) settled() bool { return !p.replay.decided.After(p.position) }

// from is the lowest place that the next owner has to read again, the highest event time before it, and the place from
// which it has to decide again.
func (p *partition) from() (from record.Place, high time.Time, decided record.Place) {
	from, high, decided = p.position, p.buffer.High(), p.position
	if oldest, before, ok := p.buffer.Oldest(); ok {
		from, high = oldest, before
	}
	if len(p.closed) == 0 {
		return from, high, decided
	}
	decided = p.closed[0].episode.At
	needs := func(j *job) {
		if first := j.episode.First(); from.After(first) {
			from, high = first, j.episode.Before
		}
	}
	for _, j := range p.closed {
		needs(j)
	}
	for _, j := range p.together { // what the same item has closed is decided again with it
		if j.episode.At == decided {
			needs(j)
		}
	}
	return from, high, decided
}

// hand starts the next commit if there is one to make and none on its way. At least once, results leave as soon as they
// are there, and the journal and the offset with the commit interval; in a transaction all of it goes together.
func (p *partition) hand(last bool) bool {
	if p.busy || !p.settled() {
		return false
	}
	now := time.Now()
	full := last || !now.Before(p.due)
	c := &producer.Commit{Offset: -1}
	if full {
		from, high, decided := p.from()
		if len(p.records) == 0 && len(p.answered) == 0 && len(p.snapshots) == 0 && from == p.committed && !p.retired {
			return false
		}
		p.retired = false
		c.State = p.keeper.Commit(&state.Journal{
			From: from, High: high, Decided: decided, Rejected: p.rejected,
			Dimensions: p.dimensions, Answered: p.answered,
		}, p.snapshots)
		c.Offset = from.Offset
		p.committed = from
		p.answered, p.snapshots = nil, nil
		p.due = now.Add(p.stage.options.CommitInterval)
	} else if !p.stage.options.Eager || len(p.records) == 0 {
		return false
	}
	c.Records = p.records
	p.records = nil
	p.carried, p.sending = p.sending, nil
	p.posted, p.letters = p.letters, 0
	p.busy, p.journaled = true, full
	p.stage.metrics.handed(c)
	go func() { p.result <- p.committer.Commit(p.ctx, c) }()
	return true
}

// acknowledge takes in what became of a commit.
func (p *partition) acknowledge(err error) error {
	p.busy = false
	p.stage.metrics.committed(err)
	if err != nil {
		return err
	}
	if p.journaled {
		p.keeper.Committed()
	}
	now := time.Now()
	p.inflight -= p.posted
	for _, j := range p.carried {
		p.inflight -= j.episode.Bytes + j.bytes
		p.allowance += stateShare * float64(j.bytes)
		took := now.Sub(j.closed)
		p.stage.metrics.acknowledged(took, j.episode.Items[0].TraceParent)
		if told := p.stage.options.Acknowledged; told != nil {
			told(j.report.Episode, took)
		}
	}
	p.carried = nil
	return nil
}
