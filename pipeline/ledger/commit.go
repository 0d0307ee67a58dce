package ledger

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/producer"
)

// draft collects the next commit.
type draft struct {
	records     []record.Out
	jobs        []*answering.Job     // that the records belong to
	letterBytes int64                // of the dead letters among the records
	faults      map[record.Fault]int // of the records in those dead letters
	journal     bool                 // includes the journal and the offset
	after       []<-chan struct{}    // closed once the records may be written
	withJournal
}

// withJournal is the part of a draft that is written together with a journal.
type withJournal struct {
	episodes  []state.Episode
	snapshots []*state.Snapshot
	saved     int  // bytes of the snapshots that the saver asked for
	forgotten bool // streams were evicted: the journal deletes their snapshots
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
func (d *draft) answer(j *answering.Job) {
	e := j.Episode
	if d.records == nil {
		d.records = j.Records // nearly always all of a commit
	} else {
		d.records = append(d.records, j.Records...)
	}
	j.Records = nil
	d.after = append(d.after, j.After...)
	d.jobs = append(d.jobs, j)
	d.episodes = append(d.episodes, state.Episode{
		Stream: e.Key,
		First:  e.First(), Last: e.Last(), At: e.At, Closed: string(e.Closed), Labels: j.Labels,
	})
}

func (d *draft) empty() bool {
	return len(d.records) == 0 && len(d.episodes) == 0 && len(d.snapshots) == 0 && !d.forgotten
}

// commits writes the commits of one partition, one at a time. Its owner fills next.
type commits struct {
	committer producer.Committer
	session   *store.Partition
	settings  *Settings

	next    draft
	sending *draft // in flight; nil: none
	result  chan error
	due     time.Time       // of the next journal
	begun   time.Time       // when the commit in flight began
	takes   time.Duration   // duration of a commit: the longest of the last few
	last    record.Position // restart position of the last commit
}

// Sending says whether a commit is in flight.
func (c *commits) Sending() bool { return c.sending != nil }

// Waiting says whether there is anything to commit or to acknowledge.
func (c *commits) Waiting() bool {
	return c.sending != nil || len(c.next.records) > 0 || len(c.next.episodes) > 0
}

// WantsJournal says whether the next commit may begin now and includes a journal. final, for a hand-over, does not wait
// for the interval.
func (c *commits) WantsJournal(now time.Time, final bool) bool {
	return c.sending == nil && (final || !now.Before(c.due))
}

// begin starts the next commit and returns it; nil if there is none to make yet or one is in flight. j is the journal that
// it wants, or nil.
func (c *commits) begin(ctx context.Context, now time.Time, j *state.Journal) *producer.Commit {
	if c.sending != nil {
		return nil
	}
	d := &c.next
	commit := &producer.Commit{Offset: -1}
	if j != nil {
		if d.empty() && j.From == c.last {
			return nil
		}
		j.Episodes = d.episodes
		c.session.Add(commit, j, d.snapshots)
		c.last = j.From
		c.due = now.Add(c.settings.Interval - c.ahead())
		d.journal = true
	} else if !c.settings.Eager || len(d.records) == 0 {
		return nil
	}
	commit.Records = d.records
	sending := *d
	c.sending, c.next, c.begun = &sending, draft{}, now
	if !sending.journal {
		c.next.withJournal = sending.withJournal
	}
	go func() {
		for _, sent := range sending.after {
			<-sent
		}
		c.result <- c.committer.Commit(ctx, commit)
	}()
	return commit
}

// ahead is how much earlier than the interval a journal begins, so that results that wait for it are written
// within the interval. It is at most half the interval, or slow commits would follow each other ever faster.
func (c *commits) ahead() time.Duration {
	if c.settings.Eager {
		return 0
	}
	return min(c.takes, c.settings.Interval/2)
}

// Wait is the time until the next commit may begin; false: nothing waits, or a commit is in flight.
func (c *commits) Wait(now time.Time) (time.Duration, bool) {
	if c.sending != nil || !c.Waiting() {
		return 0, false
	}
	return max(0, c.due.Sub(now)), true
}

// acknowledge takes the outcome of the commit in flight, and returns what it held.
func (c *commits) acknowledge(err error, now time.Time) (*draft, error) {
	sent := c.sending
	c.sending = nil
	took := now.Sub(c.begun)
	c.takes = max(took, c.takes-(c.takes-took)/8)
	if err == nil && sent.journal {
		c.session.Committed()
	}
	return sent, err
}
