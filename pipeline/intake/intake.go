// Package intake is the first station of a partition: it takes in what is read, owns the open episodes, leaves out what
// earlier owners answered, and makes dead letters of what cannot be used. It returns what came of it.
package intake

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// Settings are those of a process.
type Settings struct {
	Decode  record.Options
	Limits  consumer.Limits // of episodes
	Bounded bool            // the input ends, and silence closes nothing
	Dead    string          // topic of dead letters; "": the records that cannot be used have theirs
	Labels  *labels.Topic
	Records *health.Records   // is told what of the input can be used
	Empty   telemetry.Counter // records that hold nothing to answer
	Cut     telemetry.Counter // dead letters that keep the beginning of a record only
	Lost    telemetry.Counter // records that retention took before they were read

	rate   rate
	warned telemetry.Warnings
}

// Intake is that of a partition, whose owner makes all calls.
type Intake struct {
	of         *Settings
	log        *slog.Logger
	buffer     *consumer.Buffer
	replay     *replay
	out        PassedOn             // since the last call that returned it
	shows      bool                 // items are passed on as they join their episodes
	position   record.Position      // of the next record
	rejected   int64                // bad records below are in the dead letters, or in the next commit
	dimensions map[string]int       // of most records' vectors, by record.DimensionKey; replaced, never changed
	reading    []record.PastOptions // how its records are read, the last as the options of now say
	journalled string               // reading, as journals have them
	input      string               // id of the input topic, as the journal has it; "": not known
	hung       []state.Hung         // episodes whose solve did not end for earlier owners
	fetchedAt  time.Time            // when brokers last answered a fetch
	endSince   time.Time            // since when reading has been at the end; zero: it is not
	warned     telemetry.Warnings
}

// PassedOn is what came of a batch, or of the clock: what the next station gets.
type PassedOn struct {
	Closed  []Closed       // episodes, in the order in which they closed
	Letters []Letter       // dead letters of records that cannot be used
	Joined  []*record.Item // items that have joined an episode; see Show
}

// Closed is an episode to be answered, or to be replayed: learned from without results.
type Closed struct {
	Episode *consumer.Episode
	Replay  *labels.Version // the labels with which an earlier owner answered it; nil: it is to be answered
	Poison  error           // why it must not be solved; nil: it may be
	At      time.Time       // by the wall clock
}

// Letter is the dead letter of a record.
type Letter struct {
	record.Out
	Fault record.Fault
}

// New returns the intake of a partition of which nothing was read.
func New(of *Settings, log *slog.Logger) Intake {
	return Intake{
		of: of, log: log, buffer: consumer.NewBuffer(of.Limits), replay: newReplay(), dimensions: map[string]int{},
		fetchedAt: time.Now(),
	}
}

// Own begins another ownership, which goes on where the one before ended.
func (i *Intake) Own(log *slog.Logger) {
	i.log, i.fetchedAt, i.endSince = log, time.Now(), time.Time{}
}

// Show says whether items are passed on as they join their episodes.
func (i *Intake) Show(items bool) { i.shows = items }

// Take takes in a batch.
func (i *Intake) Take(b *consumer.Batch, now time.Time) PassedOn {
	now = steady(now)
	i.fetchedAt = now
	if b.Dimensions != nil {
		i.dimensions = b.Dimensions
		i.of.Labels.Agree(b.Dimensions)
	}
	for n := range b.Records {
		i.record(&b.Records[n], now)
	}
	if b.Next > i.position.Offset {
		i.position = record.Start(b.Next)
	}
	i.rejected = max(i.rejected, b.Next)
	if b.Last {
		i.buffer.Drain(i.position)
	}
	if b.Next < b.End {
		i.endSince = time.Time{}
	} else if i.endSince.IsZero() {
		i.endSince = now
	}
	return i.passOn()
}

var began = time.Now() // by the wall clock as this process found it

// steady returns a reading of the wall clock, or, if that was set back since the process began, what it would be without.
// Else the times of all items would lie far ahead of it: none would be believed, and no episode would close by age.
func steady(now time.Time) time.Time { return later(began, now, now.Sub(began)) }

func later(last, now time.Time, passed time.Duration) time.Time {
	if on := last.Add(passed); on.Round(0).After(now.Round(0)) {
		return on
	}
	return now
}

func (i *Intake) passOn() PassedOn {
	i.close()
	out := i.out
	i.out = PassedOn{}
	return out
}

func (i *Intake) record(r *consumer.Record, now time.Time) {
	if r.Rejected != nil && r.Offset >= i.rejected {
		says := "records cannot be read, and are not corrected: correct needs the settings by which run reads"
		if i.of.Dead != "" {
			says = "records cannot be used and go to the dead letters"
			i.out.Letters = append(i.out.Letters, Letter{i.of.letter(i.log, r, now), r.Rejected.Fault})
			i.of.Records.Rejected(1, r.Rejected.Reason, false, now)
		}
		i.warned.Once("rejected "+string(r.Rejected.Fault), func(records int) {
			i.log.Warn(says, "reason", r.Rejected.Fault, "records", records, "offset", r.Offset, "detail", r.Rejected.Reason)
		})
	}
	if len(r.Items) > 0 {
		i.of.Records.Used(false)
	}
	if r.Empty != "" && r.Offset >= i.rejected {
		i.of.Empty.Add(1, r.Empty)
		i.warned.Once("empty "+r.Empty, func(records int) {
			i.log.Warn("records hold nothing to answer", "reason", r.Empty, "records", records, "offset", r.Offset)
		})
	}
	for n := range r.Items {
		it := &r.Items[n]
		for _, complete := range i.replay.take(it) {
			i.replayed(it.Of(), &complete)
		}
		if at := it.Source.Position(); !i.replay.covers(at) {
			i.position = at
			if i.shows {
				i.out.Joined = append(i.out.Joined, it)
			}
			i.buffer.Add(*it, r.Time, now)
			i.close()
		}
	}
	if r.Marker && r.Offset >= i.replay.from.Offset {
		i.buffer.Mark(r.Stream, record.Start(r.Offset).End()) // it closes what came before it and with it
		i.close()
	}
	i.position = record.Start(r.Offset + 1)
}

// replayed returns an episode that an earlier owner answered: it is learned without emitting results.
func (i *Intake) replayed(key record.StreamID, e *replayed) {
	var size int64
	for n := range e.items {
		size += int64(e.items[n].Size())
	}
	c := Closed{Replay: e.labels, Episode: &consumer.Episode{
		Key: key, Items: e.items, Closed: consumer.Reason(e.Closed), At: e.At, Reached: i.buffer.High(), Bytes: size,
	}}
	if c.Poison = i.poisoned(c.Episode); c.Poison != nil {
		i.log.Error("an episode is not learned again", "stream", key.Name, "error", c.Poison)
	}
	i.out.Closed = append(i.out.Closed, c)
}

// close takes the episodes that have closed.
func (i *Intake) close() {
	for _, e := range i.buffer.Closed() {
		i.out.Closed = append(i.out.Closed, Closed{Episode: e, At: time.Now(), Poison: i.poisoned(e)})
	}
}

// Position is that of the next record to be read.
func (i *Intake) Position() record.Position { return i.position }

// High is the highest event time read.
func (i *Intake) High() time.Time { return i.buffer.High() }

// Bytes is about the size of the open episodes.
func (i *Intake) Bytes() int64 { return i.buffer.Bytes() }

// Open says whether an episode is open.
func (i *Intake) Open() bool { return i.buffer.Len() > 0 }

// AtEnd says whether all of the input was read.
func (i *Intake) AtEnd() bool { return !i.endSince.IsZero() }

// Relearning is the number of episodes of earlier owners that are still to be learned.
func (i *Intake) Relearning() int { return i.replay.left }

// Wait notes that reading waits until there is room. jobs are those that may make some.
func (i *Intake) Wait(jobs int) {
	i.replay.giveUp(i.position, jobs)
	i.endSince = time.Time{}
}

// CaughtUp says whether the replay is over, so that episodes may close by the clock and commits may be made.
func (i *Intake) CaughtUp() bool { return i.replay.over(i.position) }

// Silent returns the episodes that close by silence. If memory is short all do: open episodes are memory too.
func (i *Intake) Silent(now time.Time, short bool) PassedOn {
	o := i.of
	if now.Sub(i.fetchedAt) > staleAfter {
		i.endSince = time.Time{} // brokers that do not answer do not make a stream silent
	}
	if o.Limits.Idle > 0 && !i.endSince.IsZero() && i.CaughtUp() {
		if before := now.Add(-o.Limits.Idle); !i.endSince.After(before) {
			i.buffer.Silent(before, i.position)
		}
	}
	if short && i.CaughtUp() && !o.Bounded {
		i.buffer.Silent(now, i.position)
	}
	return i.passOn()
}

// Drain closes all open episodes and returns them.
func (i *Intake) Drain() PassedOn {
	i.buffer.Drain(i.position)
	return i.passOn()
}

// Restart returns a journal that says where the next owner would begin, if all that closed were answered.
func (i *Intake) Restart() *state.Journal {
	r := &state.Journal{
		From: i.position, High: i.buffer.High(), Decided: i.position, Rejected: i.rejected, Dimensions: i.dimensions, Input: i.input,
		Reading: i.journalled,
	}
	if oldest, before, ok := i.buffer.Oldest(); ok {
		r.From, r.High = oldest, before
	}
	return r
}

// FetchWait is how long a fetch waits at the end of a partition; staleAfter is well beyond it.
const (
	FetchWait  = 2 * time.Second
	staleAfter = 5 * time.Second
)

// ErrHung is wrapped by the error of a solve that does not end.
var ErrHung = errors.New("an episode does not end")

// MostHangs is how many hangs an episode may cause before it is no longer solved.
const MostHangs = 2

// poisoned returns why an episode must not be solved; nil: it may be. It must not if it contains the first
// item of an episode that hung earlier owners, even if it was closed elsewhere this time.
func (i *Intake) poisoned(e *consumer.Episode) error {
	for n := range i.hung {
		h := &i.hung[n]
		if h.Times >= MostHangs && h.Stream == e.Key && !e.First().After(h.First) && !h.First.After(e.Last()) {
			return fmt.Errorf("%w: it has ended %d owners of the partition, and is not solved again", ErrHung, h.Times)
		}
	}
	return nil
}
