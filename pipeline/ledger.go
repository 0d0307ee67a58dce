package pipeline

import (
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/answering"
)

// ledger is the third station: it owns what is answered and not committed. It keeps the closings in order,
// chooses which stream's memory is written when, and makes the commits, one at a time.
type ledger struct {
	of       *ownership
	commits  *commits
	closings closings
	saver    answering.Saver
	inFlight int64 // bytes of closed episodes and of dead letters that are not acknowledged
}

// Expect notes a job whose answers will be added.
func (l *ledger) Expect(j *answering.Job) {
	l.inFlight += j.Episode.Bytes
	if j.Replay == nil {
		l.closings.add(j)
	}
}

// Add takes what came of a job into the next commit.
func (l *ledger) Add(j *answering.Job, now time.Time) {
	s := j.Stream
	switch {
	case j.Episode == nil && j.Rejected != nil:
		l.saver.Failed(s)
		l.of.Log.Error("a stream cannot be saved", "stream", s.Key.Name, "error", j.Rejected)
	case j.Snapshot != nil:
		bytes := j.Snapshot.Bytes()
		l.Save(j.Snapshot)
		l.commits.next.saved += bytes
		l.saver.Taken(s, bytes)
		l.of.stage.metrics.snapshots.Observe(float64(bytes))
	case j.Replay != nil:
		l.inFlight -= j.Episode.Bytes
		l.saver.Replayed(s, now)
		l.saver.Spent(j.Took + j.Learned)
	default:
		l.inFlight += j.Bytes
		l.closings.dropAnswered()
		l.commits.next.answer(j)
		l.saver.Answered(s, l.of.stage.options.StateInterval)
		l.saver.Spent(j.Took + j.Learned)
	}
}

// saves says whether the next commit, or the one in flight, has a snapshot of a stream.
func (l *ledger) saves(key record.StreamID) bool {
	has := func(d *draft) bool {
		return slices.ContainsFunc(d.snapshots, func(s *state.Snapshot) bool { return s.Stream == key })
	}
	return has(&l.commits.next) || l.commits.sending != nil && has(l.commits.sending)
}

// Save adds snapshots to the next commit.
func (l *ledger) Save(list ...*state.Snapshot) {
	l.commits.next.snapshots = append(l.commits.next.snapshots, list...)
}

// Forgotten notes, if any, that the next commit deletes the state of streams.
func (l *ledger) Forgotten(any bool) { l.commits.next.forgotten = l.commits.next.forgotten || any }

// Letters adds dead letters to the next commit.
func (l *ledger) Letters(list []letter) {
	for _, one := range list {
		l.inFlight += l.commits.next.letter(one.Out, one.fault)
	}
}

// Write adds records to the next commit.
func (l *ledger) Write(list []record.Out) {
	l.commits.next.records = append(l.commits.next.records, list...)
}

// WantsJournal says whether Next would write a journal now. final, for a hand-over, does not wait for the interval.
func (l *ledger) WantsJournal(now time.Time, final bool) bool {
	return l.commits.wantsJournal(now, final)
}

// Next starts the next commit, unless there is nothing to commit or one is in flight, and returns whether it
// did. from, if it wants a journal, says where the next owner would begin if all that closed were answered.
func (l *ledger) Next(now time.Time, from *state.Journal) bool {
	if from != nil {
		from = l.restart(from)
	}
	c := l.commits.begin(l.of.Context, now, from)
	if c == nil {
		return false
	}
	l.of.stage.metrics.stateBytes.Add(size(c.State))
	l.of.stage.metrics.outBytes.Add(size(c.Records))
	return true
}

// restart moves a journal's start before what is not answered.
func (l *ledger) restart(from *state.Journal) *state.Journal {
	l.closings.restartBefore(from)
	return from
}

// Acked takes the outcome of a commit, and returns what it held.
func (l *ledger) Acked(err error, now time.Time) (*draft, error) {
	m := l.of.stage.metrics
	sent, err := l.commits.acknowledge(err, now)
	if err != nil {
		m.commits.Add(1, "failed")
		return nil, err
	}
	m.commits.Add(1, "done")
	if sent.journal {
		l.saver.Written(sent.saved)
	}
	for fault, n := range sent.faults {
		m.rejections.Add(float64(n), string(fault))
	}
	l.inFlight -= sent.letterBytes
	for _, j := range sent.jobs {
		m.episode(j)
		l.inFlight -= j.Episode.Bytes + j.Bytes
		l.saver.Earn(j.Bytes)
		m.delay.ObserveTraced(now.Sub(j.At).Seconds(), j.Episode.Items[0].Trace.Parent)
		if traced := l.of.stage.options.Traced; traced != nil {
			traced(j.Trace(now))
		}
	}
	return sent, nil
}

// idle says whether nothing waits to be answered, committed or acknowledged.
func (l *ledger) idle() bool { return len(l.closings.waiting) == 0 && !l.commits.waiting() }

// recovery is how long a new owner would take to replay what no snapshot covers.
func (l *ledger) recovery() time.Duration {
	return l.saver.Recovery(l.of.stage.options.Workers, int(l.of.stage.owned.Load()))
}

// DueForSaving returns the streams whose snapshots are to be taken now, within the allowance for state.
func (l *ledger) DueForSaving(now time.Time) []*answering.Stream {
	return l.saver.Due(now, func() bool {
		return l.recovery() > l.of.stage.options.RecoveryTarget/2 // the other half is for reading the snapshots themselves
	})
}
