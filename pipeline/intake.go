package pipeline

import (
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/pipeline/answering"
)

// intake is the first station: it takes in what is read of a partition. It owns the open episodes, leaves out
// what earlier owners answered, and makes dead letters of what cannot be used. It returns what came of it.
type intake struct {
	of         *ownership
	buffer     *consumer.Buffer
	replay     *replay
	out        passedOn             // since the last call that returned it
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

// passedOn is what came of a batch, or of the clock: what the next station gets.
type passedOn struct {
	closed  []answering.Closed // episodes, in the order in which they closed
	letters []letter           // dead letters of records that cannot be used
	joined  []*record.Item     // items that have joined an episode, where extensions read them
}

// letter is the dead letter of a record.
type letter struct {
	record.Out
	fault record.Fault
}

// Take takes in a batch.
func (i *intake) Take(b *consumer.Batch, now time.Time) passedOn {
	i.fetchedAt = now
	if b.Dimensions != nil {
		i.dimensions = b.Dimensions
		i.of.stage.labels.Agree(b.Dimensions)
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

func (i *intake) passOn() passedOn {
	i.close()
	out := i.out
	i.out = passedOn{}
	return out
}

func (i *intake) record(r *consumer.Record, now time.Time) {
	stage := i.of.stage
	if r.Rejected != nil && r.Offset >= i.rejected {
		says := "records cannot be read, and are not corrected: correct needs the settings by which run reads"
		if stage.options.Compare == nil {
			says = "records cannot be used and go to the dead letters"
			i.out.letters = append(i.out.letters, letter{stage.letter(i.of.Log, r, now), r.Rejected.Fault})
			stage.watch.Records.Rejected(1, r.Rejected.Reason, false, now)
		}
		i.warned.Once("rejected "+string(r.Rejected.Fault), func(records int) {
			i.of.Log.Warn(says, "reason", r.Rejected.Fault, "records", records, "offset", r.Offset, "detail", r.Rejected.Reason)
		})
	}
	if len(r.Items) > 0 {
		stage.watch.Records.Used(false)
	}
	if r.Empty != "" && r.Offset >= i.rejected {
		stage.metrics.empty.Add(1, r.Empty)
		i.warned.Once("empty "+r.Empty, func(records int) {
			i.of.Log.Warn("records hold nothing to answer", "reason", r.Empty, "records", records, "offset", r.Offset)
		})
	}
	for n := range r.Items {
		it := &r.Items[n]
		for _, complete := range i.replay.take(it) {
			i.replayed(it.Of(), &complete)
		}
		if at := it.Source.Position(); !i.replay.covers(at) {
			i.position = at
			if len(i.of.readers) > 0 {
				i.out.joined = append(i.out.joined, it)
			}
			i.buffer.Add(*it, r.Time, now)
			i.close()
		}
	}
	if r.Marker && r.Offset >= i.replay.from.Offset {
		i.buffer.Mark(r.Stream, record.Position{Offset: r.Offset, Object: lastObject})
		i.close()
	}
	i.position = record.Start(r.Offset + 1)
}

// lastObject is beyond the last object of any record: a marker closes what came before it and with it.
const lastObject = 1<<31 - 1

// replayed returns an episode that an earlier owner answered: it is learned without emitting results.
func (i *intake) replayed(key record.StreamID, e *replayed) {
	var size int64
	for n := range e.items {
		size += int64(e.items[n].Size())
	}
	c := answering.Closed{Replay: e.labels, Episode: &consumer.Episode{
		Key: key, Items: e.items, Closed: consumer.Reason(e.Closed), At: e.At, Reached: i.buffer.High(), Bytes: size,
	}}
	if c.Poison = i.poisoned(c.Episode); c.Poison != nil {
		i.of.Log.Error("an episode is not learned again", "stream", key.Name, "error", c.Poison)
	}
	i.out.closed = append(i.out.closed, c)
}

// close takes the episodes that have closed.
func (i *intake) close() {
	for _, e := range i.buffer.Closed() {
		i.out.closed = append(i.out.closed, answering.Closed{Episode: e, At: time.Now(), Poison: i.poisoned(e)})
	}
}

// caughtUp says whether the replay is over, so that episodes may close by the clock and commits may be made.
func (i *intake) caughtUp() bool { return i.replay.over(i.position) }

// Silent returns the episodes that close by silence. If memory is short all do: open episodes are memory too.
func (i *intake) Silent(now time.Time, short bool) passedOn {
	o := &i.of.stage.options
	if now.Sub(i.fetchedAt) > staleAfter {
		i.endSince = time.Time{} // brokers that do not answer do not make a stream silent
	}
	if o.Limits.Idle > 0 && !i.endSince.IsZero() && i.caughtUp() {
		if before := now.Add(-o.Limits.Idle); !i.endSince.After(before) {
			i.buffer.Silent(before, i.position)
		}
	}
	if short && i.caughtUp() && !o.Bounded {
		i.buffer.Silent(now, i.position)
	}
	return i.passOn()
}

// Drain closes all open episodes and returns them.
func (i *intake) Drain() passedOn {
	i.buffer.Drain(i.position)
	return i.passOn()
}

// open says whether an episode is open.
func (i *intake) open() bool { return i.buffer.Len() > 0 }

// restart returns a journal that says where the next owner would begin, if all that closed were answered.
func (i *intake) restart() *state.Journal {
	r := &state.Journal{
		From: i.position, High: i.buffer.High(), Decided: i.position, Rejected: i.rejected, Dimensions: i.dimensions, Input: i.input,
		Reading: i.journalled,
	}
	if oldest, before, ok := i.buffer.Oldest(); ok {
		r.From, r.High = oldest, before
	}
	return r
}

// fetchWait is how long a fetch waits at the end of a partition; staleAfter is well beyond it.
const (
	fetchWait  = 2 * time.Second
	staleAfter = 5 * time.Second
)

// mostHangs is how many hangs an episode may cause before it is no longer solved.
const mostHangs = 2

// poisoned returns why an episode must not be solved; nil: it may be. It must not if it contains the first
// item of an episode that hung earlier owners, even if it was closed elsewhere this time.
func (i *intake) poisoned(e *consumer.Episode) error {
	for n := range i.hung {
		h := &i.hung[n]
		if h.Times >= mostHangs && h.Stream == e.Key && !e.First().After(h.First) && !h.First.After(e.Last()) {
			return fmt.Errorf("%w: it has ended %d owners of the partition, and is not solved again", ErrHung, h.Times)
		}
	}
	return nil
}
