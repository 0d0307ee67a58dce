package pipeline

import (
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// intake is the first station: it takes in what is read of a partition. It owns the open episodes, leaves out
// what earlier owners answered, and makes dead letters of what cannot be used. It returns what came of it.
type intake struct {
	of         *ownership
	buffer     *consumer.Buffer
	replay     *replay
	out        taken           // since the last call that returned it
	position   record.Position // of the next record
	rejected   int64           // bad records below are in the dead letters, or in the next commit
	dimensions map[string]int  // of most records' vectors, by record.DimensionKey; replaced, never changed
	formers    []record.Former // how its records are read, the last as the options of now say
	reading    string          // what journals say of formers
	input      string          // id of the input topic, as the journal has it; "": not known
	hung       []state.Hung    // episodes whose solve did not end for earlier owners
	fetchedAt  time.Time       // when brokers last answered a fetch
	endSince   time.Time       // since when reading has been at the end; zero: it is not
	warned     telemetry.Warnings
}

// taken is what came of a batch, or of the clock.
type taken struct {
	closed  []closed       // episodes, in the order in which they closed
	letters []letter       // dead letters of records that cannot be used
	joined  []*record.Item // items that have joined an episode, where wings read them
}

// closed is an episode to be answered, or to be learned from again without results.
type closed struct {
	episode *consumer.Episode
	relearn *labels.Version // the labels with which an earlier owner answered it; nil: it is to be answered
	poison  error           // why it must not be solved; nil: it may be
	at      time.Time       // by the wall clock
}

// letter is the dead letter of a record.
type letter struct {
	record.Out
	fault record.Fault
}

// Take takes in a batch.
func (i *intake) Take(b *consumer.Batch, now time.Time) taken {
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
	return i.taken()
}

func (i *intake) taken() taken {
	i.close()
	out := i.out
	i.out = taken{}
	return out
}

func (i *intake) record(r *consumer.Record, now time.Time) {
	stage := i.of.stage
	if r.Rejected != nil && r.Offset >= i.rejected && stage.options.Compare == nil {
		i.out.letters = append(i.out.letters, letter{stage.letter(i.of.log, r, now), r.Rejected.Fault})
		i.warned.Once("rejected "+string(r.Rejected.Fault), func(records int) {
			i.of.log.Warn("records cannot be used and go to the dead letters", "reason", r.Rejected.Fault,
				"records", records, "offset", r.Offset, "detail", r.Rejected.Reason)
		})
		stage.watch.Records.Rejected(1, r.Rejected.Reason, false, now)
	}
	if len(r.Items) > 0 {
		stage.watch.Records.Used(false)
	}
	if r.Empty != "" && r.Offset >= i.rejected {
		stage.metrics.empty.Add(1, r.Empty)
		i.warned.Once("empty "+r.Empty, func(records int) {
			i.of.log.Warn("records hold nothing to answer", "reason", r.Empty, "records", records, "offset", r.Offset)
		})
	}
	for n := range r.Items {
		it := &r.Items[n]
		for _, complete := range i.replay.take(it) {
			i.relearn(it.Of(), &complete)
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

// relearn returns an episode that an earlier owner answered: it is learned without emitting results.
func (i *intake) relearn(key record.Stream, e *relearning) {
	var size int64
	for n := range e.items {
		size += int64(e.items[n].Size())
	}
	c := closed{relearn: e.view, episode: &consumer.Episode{
		Key: key, Items: e.items, Closed: consumer.Reason(e.Closed), At: e.At, Reached: i.buffer.High(), Bytes: size,
	}}
	if c.poison = i.poisoned(c.episode); c.poison != nil {
		i.of.log.Error("an episode is not learned again", "stream", key.Name, "error", c.poison)
	}
	i.out.closed = append(i.out.closed, c)
}

// close takes the episodes that have closed.
func (i *intake) close() {
	for _, e := range i.buffer.Closed() {
		i.out.closed = append(i.out.closed, closed{episode: e, at: time.Now(), poison: i.poisoned(e)})
	}
}

// caughtUp says whether the replay is over, so that episodes may close by the clock and commits may be made.
func (i *intake) caughtUp() bool { return i.replay.over(i.position) }

// Silent returns the episodes that close by silence. If memory is short all do: open episodes are memory too.
func (i *intake) Silent(now time.Time, short bool) taken {
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
	return i.taken()
}

// Drain closes all open episodes and returns them.
func (i *intake) Drain() taken {
	i.buffer.Drain(i.position)
	return i.taken()
}

// open says whether an episode is open.
func (i *intake) open() bool { return i.buffer.Len() > 0 }

// restart returns a journal that says where the next owner would begin, if all that closed were answered.
func (i *intake) restart() *state.Journal {
	r := &state.Journal{
		From: i.position, High: i.buffer.High(), Decided: i.position, Rejected: i.rejected, Dimensions: i.dimensions, Input: i.input,
		Reading: i.reading,
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
