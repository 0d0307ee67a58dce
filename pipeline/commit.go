package pipeline

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/producer"
)

// draft is a commit in the making.
type draft struct {
	records     []record.Out
	answered    []state.Answered
	snapshots   []*state.Snapshot
	jobs        []*job               // whose records those are
	letterBytes int64                // of the dead letters among the records
	faults      map[record.Fault]int // of the records in those dead letters
	journal     bool                 // it carries the journal and the offset, besides the records
	forgotten   bool                 // streams were given up: the next journal takes their snapshots away
	after       []<-chan struct{}    // first answers on their way that the records wait for
}

// letter adds the dead letter of a record with that fault and returns its bytes.
func (d *draft) letter(r record.Out, fault record.Fault) int64 {
	if d.faults == nil {
		d.faults = map[record.Fault]int{}
	}
	d.faults[fault]++
	size := int64(len(r.Key) + len(r.Value))
	d.records = append(d.records, r)
	d.letterBytes += size
	return size
}

// answer adds an answered episode and its records.
func (d *draft) answer(j *job) {
	e := j.episode
	d.records = append(d.records, j.records...)
	d.jobs = append(d.jobs, j)
	d.answered = append(d.answered, state.Answered{
		Stream: state.Stream{Name: e.Key.Stream, Model: e.Key.Model},
		First:  e.First(), Last: e.Last(), At: e.At, Closed: string(e.Closed), Labels: j.labels,
	})
}

// restart is what the next owner of a partition goes by.
type restart struct {
	from    record.Position // the lowest position that it has to read again
	high    time.Time       // the highest event time before it
	decided record.Position // where it has to decide again
}

// commits makes the commits of one partition, one at a time, from what its owner puts into next.
type commits struct {
	committer producer.Committer
	keeper    *state.Keeper
	interval  time.Duration // from one journal to the next
	eager     bool          // records need not wait for the journal

	next    draft
	sending *draft // on its way; nil: none is
	result  chan error
	due     time.Time       // of the next journal
	begun   time.Time       // when the commit on its way was begun
	takes   time.Duration   // what a commit takes: the longest of late
	last    record.Position // what the last commit said of where to start again
}

func newCommits(committer producer.Committer, keeper *state.Keeper, interval time.Duration, eager bool) *commits {
	return &commits{committer: committer, keeper: keeper, interval: interval, eager: eager, result: make(chan error, 1)}
}

// waiting says whether there is anything to commit or to acknowledge.
func (c *commits) waiting() bool {
	return c.sending != nil || len(c.next.records) > 0 || len(c.next.answered) > 0
}

// begin starts the next commit and returns it; nil if there is none to make yet or one is on its way. final is the commit
// of a hand-over, which does not wait for the interval. journal fills in what the owner knows beside the episodes.
func (c *commits) begin(ctx context.Context, now time.Time, final bool, journal func() (*state.Journal, restart)) *producer.Commit {
	if c.sending != nil {
		return nil
	}
	d := &c.next
	commit := &producer.Commit{Offset: -1}
	if final || !now.Before(c.due) {
		j, at := journal()
		if len(d.records) == 0 && len(d.answered) == 0 && len(d.snapshots) == 0 && at.from == c.last && !d.forgotten {
			return nil
		}
		j.From, j.High, j.Decided, j.Answered = at.from, at.high, at.decided, d.answered
		commit.State = c.keeper.Commit(j, d.snapshots)
		commit.Offset = at.from.Offset
		c.last = at.from
		c.due = now.Add(c.interval - c.ahead())
		d.journal = true
	} else if !c.eager || len(d.records) == 0 {
		return nil
	}
	commit.Records = d.records
	sending := *d
	c.sending, c.next, c.begun = &sending, draft{}, now
	if !sending.journal { // what only the journal carries waits for it
		c.next.answered, c.next.snapshots, c.next.forgotten = sending.answered, sending.snapshots, sending.forgotten
	}
	go func() {
		for _, sent := range sending.after {
			<-sent
		}
		c.result <- c.committer.Commit(ctx, commit)
	}()
	return commit
}

// ahead is how much sooner than an interval after the last one a journal is begun: results that wait for it
// are to be there within the interval, not to leave then. What takes longer than half of the interval is left
// to take longer, as commits would come ever more often.
func (c *commits) ahead() time.Duration {
	if c.eager {
		return 0
	}
	return min(c.takes, c.interval/2)
}

// wait is how long it is until what waits may be committed; false: nothing does, or a commit is on its way.
func (c *commits) wait(now time.Time) (time.Duration, bool) {
	if c.sending != nil || !c.waiting() {
		return 0, false
	}
	return max(0, c.due.Sub(now)), true
}

// acknowledge takes in what became of the commit on its way, and returns it.
func (c *commits) acknowledge(err error, now time.Time) (*draft, error) {
	sent := c.sending
	c.sending = nil
	took := now.Sub(c.begun)
	c.takes = max(took, c.takes-(c.takes-took)/8)
	if err == nil && sent.journal {
		c.keeper.Committed()
	}
	return sent, err
}

// closings keeps the episodes of a partition in the order in which they closed, and so knows what the next owner has to
// decide again.
type closings struct {
	waiting []*job // the first is not answered
	left    []*job // answered ones that an item closed, the same as the last of them
}

func (c *closings) add(j *job) { c.waiting = append(c.waiting, j) }

// answered takes away the episodes at the front that are answered.
func (c *closings) answered() {
	for len(c.waiting) > 0 && c.waiting[0].answered {
		first := c.waiting[0]
		if len(c.left) > 0 && c.left[0].episode.At != first.episode.At {
			c.left = c.left[:0]
		}
		if first.episode.Closed.ByItem() {
			c.left = append(c.left, first)
		}
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
	}
}

// lower moves a restart, as the open episodes alone would have it, to before what is closed and not answered.
func (c *closings) lower(r restart) restart {
	if len(c.waiting) == 0 {
		return r
	}
	r.decided = c.waiting[0].episode.At
	needs := func(j *job) {
		if first := j.episode.First(); r.from.After(first) {
			r.from, r.high = first, j.episode.Before
		}
	}
	for _, j := range c.waiting {
		needs(j)
	}
	for _, j := range c.left { // what the same item has closed is decided again with it
		if j.episode.At == r.decided {
			needs(j)
		}
	}
	return r
}
