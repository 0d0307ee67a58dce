// Package ledger is the third station of a partition: it owns what is answered and not committed. It keeps the closings
// in order, chooses which stream's memory is written when, and makes the commits, one at a time.
package ledger

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/producer"
)

// Settings are those of a process.
type Settings struct {
	Interval      time.Duration // from one journal to the next
	Eager         bool          // records need not wait for the journal
	StateInterval time.Duration // from one snapshot of a stream to the next
	// RecoveryTarget bounds how long a new owner may take to replay what no snapshot covers.
	RecoveryTarget time.Duration
	Workers        int
}

// Ledger is that of a partition, whose owner makes all calls.
type Ledger struct {
	Saver    answering.Saver // chooses the streams to save
	of       *answering.Owner
	settings *Settings
	*commits
	closings closings
	inFlight int64 // bytes of closed episodes and of dead letters that are not acknowledged
}

// New returns an empty ledger.
func New(s *Settings, of *answering.Owner, committer producer.Committer) Ledger {
	l := Ledger{settings: s}
	l.begin(of, committer)
	return l
}

func (l *Ledger) begin(of *answering.Owner, committer producer.Committer) {
	l.of = of
	l.commits = &commits{committer: committer, session: of.State, settings: l.settings, result: make(chan error, 1)}
}

// Own has another owner, whose commits the committer makes, go on with the ledger: all in it was committed.
func (l *Ledger) Own(of *answering.Owner, committer producer.Committer) {
	last := l.last
	l.begin(of, committer)
	l.last = last
}

// Begin notes the last commit of earlier owners: where reading would start again.
func (l *Ledger) Begin(last record.Position) { l.last = last }

// Last is where reading would start again after the last commit.
func (l *Ledger) Last() record.Position { return l.last }

// Confirm commits the last offset again, which the group refuses if another member owns the partition by now.
func (l *Ledger) Confirm(ctx context.Context) error {
	return l.committer.Commit(ctx, &producer.Commit{Offset: l.last.Offset})
}

// Close waits for what the last commit wrote after its end.
func (l *Ledger) Close(ctx context.Context) error { return l.committer.Close(ctx) }

// StateEnd is producer.Committer's.
func (l *Ledger) StateEnd() (end int64, known bool) { return l.committer.StateEnd() }

// Done passes the outcome of a commit to Acked.
func (l *Ledger) Done() <-chan error { return l.result }

// Failed passes on why what the last commit wrote after its end was not written.
func (l *Ledger) Failed() <-chan error { return l.committer.Failed() }

// Expect notes a job whose answers will be added.
func (l *Ledger) Expect(j *answering.Job) {
	l.inFlight += j.Episode.Bytes
	if j.Replay == nil {
		l.closings.add(j)
	}
}

// Add takes what came of a job into the next commit.
func (l *Ledger) Add(j *answering.Job, now time.Time) {
	s := j.Stream
	switch {
	case j.Episode == nil && j.Rejected != nil:
		l.Saver.Failed(s)
		l.of.Log.Error("a stream cannot be saved", "stream", s.Key.Name, "error", j.Rejected)
	case j.Snapshot != nil:
		bytes := j.Snapshot.Bytes()
		l.Save(j.Snapshot)
		l.next.saved += bytes
		l.Saver.Taken(s, bytes)
	case j.Replay != nil:
		l.inFlight -= j.Episode.Bytes
		l.Saver.Replayed(s, now)
		l.Saver.Spent(j.Took + j.Learned)
	default:
		l.inFlight += j.Bytes
		l.closings.dropAnswered()
		l.next.answer(j)
		l.Saver.Answered(s, l.settings.StateInterval)
		l.Saver.Spent(j.Took + j.Learned)
	}
}

// Saves returns what says whether the next commit, or the one in flight, has a snapshot of a stream.
func (l *Ledger) Saves() func(record.StreamID) bool {
	saved := map[record.StreamID]bool{}
	for _, d := range []*draft{&l.next, l.sending} {
		if d == nil {
			continue
		}
		for _, s := range d.snapshots {
			saved[s.Stream] = true
		}
	}
	return func(key record.StreamID) bool { return saved[key] }
}

// Save adds snapshots to the next commit.
func (l *Ledger) Save(list ...*state.Snapshot) {
	l.next.snapshots = append(l.next.snapshots, list...)
}

// Forgotten notes, if any, that the next commit deletes the state of streams.
func (l *Ledger) Forgotten(any bool) { l.next.forgotten = l.next.forgotten || any }

// Letter adds the dead letter of a record with that fault to the next commit.
func (l *Ledger) Letter(r record.Out, fault record.Fault) {
	l.inFlight += l.next.letter(r, fault)
}

// Write adds records to the next commit.
func (l *Ledger) Write(list []record.Out) {
	l.next.records = append(l.next.records, list...)
}

// Next starts the next commit and returns it; nil if there is nothing to commit or one is in flight. from, if it wants a
// journal, says where the next owner would begin if all that closed were answered.
func (l *Ledger) Next(now time.Time, from *state.Journal) *producer.Commit {
	if from != nil {
		from = l.Restart(from)
	}
	return l.commits.begin(l.of.Context, now, from)
}

// Restart moves a journal's start before what is not answered.
func (l *Ledger) Restart(from *state.Journal) *state.Journal {
	l.closings.restartBefore(from)
	return from
}

// Sent is what a commit held.
type Sent struct {
	Records int
	Jobs    []*answering.Job     // that the records belong to
	Faults  map[record.Fault]int // of the records that became dead letters
	Journal bool                 // with the offset
}

// Acked takes the outcome of a commit, and returns what it held.
func (l *Ledger) Acked(err error, now time.Time) (Sent, error) {
	sent, err := l.acknowledge(err, now)
	if err != nil {
		return Sent{}, err
	}
	if sent.journal {
		l.Saver.Written(sent.saved)
	}
	l.inFlight -= sent.letterBytes
	for _, j := range sent.jobs {
		l.inFlight -= j.Episode.Bytes + j.Bytes
		l.Saver.Earn(j.Bytes)
	}
	return Sent{len(sent.records), sent.jobs, sent.faults, sent.journal}, nil
}

// InFlight is the bytes of closed episodes and of dead letters that are not acknowledged.
func (l *Ledger) InFlight() int64 { return l.inFlight }

// Unanswered says whether a closed episode is not answered.
func (l *Ledger) Unanswered() bool { return len(l.closings.waiting) > 0 }

// Idle says whether nothing waits to be answered, committed or acknowledged.
func (l *Ledger) Idle() bool { return !l.Unanswered() && !l.Waiting() }

// Empty says whether the last commit held all that was to be committed.
func (l *Ledger) Empty() bool {
	return !l.Unanswered() && !l.Sending() && l.next.empty() && l.inFlight == 0
}

// Recovery is how long a new owner would take to replay what no snapshot covers, if the process has so many partitions.
func (l *Ledger) Recovery(partitions int) time.Duration {
	return l.Saver.Recovery(l.settings.Workers, partitions)
}

// DueForSaving returns the streams whose snapshots are to be taken now, within the allowance for state.
func (l *Ledger) DueForSaving(now time.Time, partitions int) []*answering.Stream {
	return l.Saver.Due(now, func() bool {
		return l.Recovery(partitions) > l.settings.RecoveryTarget/2 // the other half is for reading the snapshots themselves
	})
}
