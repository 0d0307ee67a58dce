package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/ledger"
	"github.com/slkstream/slkstream/producer"
)

// ownership is one ownership of a partition, from claim to hand-over. Nothing of it changes once episodes are answered.
type ownership struct {
	*answering.Owner // as workers see it
	stage            *Stage
	abandon          func() // ends its context
	extensions              // what stands beside
}

// partition is what one ownership of a partition works with: three stations, each of which takes in what the one
// before gives out, and what stands beside them. One goroutine owns all of it. Workers have jobs and their
// streams, and the ownership, and touch nothing else.
type partition struct {
	*ownership
	intake      intake.Intake
	answering   answering.Streams
	ledger      ledger.Ledger
	progress    *health.Partition
	input       topic.ID  // the topic's; zero: not known
	afterCommit func()    // called once it is acknowledged
	retired     time.Time // when silent streams were last searched for
	postponed   bool      // free waits for the end of the commit in flight
	warned      telemetry.Warnings
	handed      bool // everything is committed or in flight; closing waits for it
}

var errInputRemade = errors.New("the input was deleted and made again")

// run works until ctx ends, then hands the partition over as the context's cause requires.
func (p *partition) run(ctx context.Context, reader *topic.Reader, decoder *record.Decoder, end int64) error {
	beside, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		p.extensions.end()
		p.withdraw()
	}()
	if err := p.extensions.begin(beside); err != nil {
		return err
	}
	p.announce() // from here on other goroutines use the streams
	r := fetch(ctx, reader, decoder, consumer.Bounds{Committed: p.stage.options.Committed, End: end})
	defer r.stop(nil)
	p.progress.Claimed(p.input, func() { r.cancel(errInputRemade) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	ticks := time.Now()
	for {
		in := r.batches
		if p.full() {
			p.intake.Wait(p.answering.Jobs())
			in = nil
		}
		select {
		case <-ctx.Done():
			r.stop(nil)
			return p.handOver(context.Cause(ctx))
		case b, more := <-in:
			if more {
				p.take(b)
				if len(b.Records) > 0 {
					ticks = sooner(ticks, time.Now().Add(tickEvery))
				}
				break
			}
			r.batches = nil // at the end of a range closed episodes must still be answered
			if r.err != nil && ctx.Err() == nil {
				return errors.Join(r.err, p.handOver(r.err)) // the input may no longer hold the items in memory
			}
		case jobs := <-p.answering.Done():
			p.collect(jobs)
		case err := <-p.ledger.Done():
			if err := p.acknowledge(err); err != nil {
				return err
			}
			if p.postponed {
				p.free(time.Now())
			}
		case err := <-p.ledger.Failed():
			return err
		case now := <-timer.C:
			if !now.Before(ticks) {
				ticks = time.Now().Add(p.tick())
			}
		}
		wakes := ticks
		if now := time.Now(); !p.commit(false) && p.intake.CaughtUp() {
			if wait, ok := p.ledger.Wait(now); ok {
				wakes = sooner(wakes, now.Add(wait))
			}
		}
		timer.Reset(time.Until(wakes))
	}
}

func sooner(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// fetching is the reading of a partition, on a goroutine of its own.
type fetching struct {
	ctx     context.Context
	cancel  context.CancelCauseFunc
	batches chan *consumer.Batch // closed at the end
	err     error                // why it ended; valid after that
}

func fetch(ctx context.Context, reader *topic.Reader, decoder *record.Decoder, bounds consumer.Bounds) *fetching {
	r := &fetching{batches: make(chan *consumer.Batch, 1)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	batches := r.batches
	go func() {
		defer close(batches)
		r.err = consumer.Fetch(r.ctx, reader, decoder, bounds, batches)
		if cause := context.Cause(r.ctx); errors.Is(cause, errInputRemade) {
			r.err = cause
		}
	}()
	return r
}

// stop ends the reading and waits for its end.
func (r *fetching) stop(cause error) {
	r.cancel(cause)
	if r.batches == nil {
		return
	}
	for range r.batches { // nobody takes them any more
	}
	r.batches = nil
}

// full says that reading must wait: closed episodes must be acknowledged first, or the workers have enough to
// do.
func (p *partition) full() bool {
	return p.ledger.InFlight() >= p.stage.inFlightMost() || p.Budget.Paused.Load() || p.answering.Busy()
}

// take adds a batch to the open episodes.
func (p *partition) take(b *consumer.Batch) {
	now := time.Now()
	p.ledger.Saver.Read(b)
	t := p.intake.Take(b, now)
	var last time.Time
	old := time.Duration(0)
	if b.Next < b.End {
		last, old = b.Time, now.Sub(b.Time)
	}
	if len(t.Joined) > 0 {
		p.extensions.read(p.answering.Read(t.Joined), old)
	}
	p.submit(t)
	p.progress.Read(b.Next, last, now)
	p.progress.Ends(b.End, b.Waiting, now)
	if p.ledger.Idle() {
		p.progress.Moved(now) // reading is all that remains
	}
}

// submit passes on what was taken in.
func (p *partition) submit(t intake.PassedOn) {
	for _, l := range t.Letters {
		p.ledger.Letter(l.Out, l.Fault)
	}
	for _, c := range t.Closed {
		p.ledger.Expect(p.answering.Submit(c))
	}
}

// collect takes the jobs that workers have done into the next commit.
func (p *partition) collect(jobs []*answering.Job) {
	now := time.Now()
	for _, j := range p.answering.Collect(jobs) {
		p.ledger.Add(j, now)
		if j.Snapshot != nil {
			p.stage.metrics.snapshots.Observe(float64(j.Snapshot.Bytes()))
		}
		if j.Answers() {
			p.note(j, now)
		}
		if e := j.Answered(); e != nil && len(p.extensions.all) > 0 {
			p.ledger.Write(p.extensions.pass(e))
		}
	}
}

// note records what an answered episode says of its stream.
func (p *partition) note(j *answering.Job, now time.Time) {
	s, e := j.Stream, j.Episode
	const several = 3 // records of one dimension are taken as the feed's own
	labels := p.stage.labels
	if j.Rejected == nil && len(e.Items) >= several && labels.Dimension(e.Key.Model) == 0 {
		labels.Agree(map[string]int{e.Key.Model: len(e.Items[0].Vector)})
	}
	p.stage.watch.Streams.Answered(health.Stream{TopicPartition: p.TopicPartition, Key: s.Key}, health.Answer{
		EmbeddingChanged: j.Report.EmbeddingChanged, Doubtful: j.Report.Doubtful, Right: j.Report.LabelledRight,
		Labelled: j.Report.Labelled,
	}, now)
	if j.Rejected != nil {
		p.Log.Error("an episode could not be answered: its items are in the dead letters", "stream", e.Key.Name,
			"items", len(e.Items), "error", j.Rejected)
	}
	for _, note := range j.Report.Notes {
		p.Log.Warn(note, "stream", e.Key.Name, "episode", j.Report.Episode)
	}
}

// commit starts the next commit, unless there is nothing to commit or one is in flight, and says whether it
// did. At least once, results are written as soon as they are ready, journal and offset at the commit
// interval. In a transaction all of it is written together.
func (p *partition) commit(final bool) bool {
	if !p.intake.CaughtUp() {
		return false
	}
	now := time.Now()
	var begun *producer.Commit
	if p.ledger.WantsJournal(now, final) {
		begun = p.ledger.Next(now, p.intake.Restart())
	} else {
		begun = p.ledger.Next(now, nil)
	}
	if begun != nil {
		p.stage.metrics.commit(begun)
	}
	return begun != nil
}

// acknowledge takes the outcome of a commit.
func (p *partition) acknowledge(err error) error {
	now := time.Now()
	sent, err := p.ledger.Acked(err, now)
	p.stage.metrics.acknowledged(&sent, err, now)
	if err != nil {
		return err
	}
	if traced := p.stage.options.Traced; traced != nil {
		for _, j := range sent.Jobs {
			traced(j.Trace(now))
		}
	}
	if sent.Records > 0 {
		p.afterCommit()
	}
	p.progress.Moved(now)
	if sent.Journal {
		p.progress.Committed(p.ledger.Last().Offset, now)
	}
	return nil
}

// tick does the work that depends on the clock and returns when to call it again.
func (p *partition) tick() time.Duration {
	now := time.Now()
	p.submit(p.intake.Silent(now, p.Budget.Paused.Load()))
	if p.State.Remade() {
		for s := range p.answering.All() {
			p.ledger.Saver.Changed(s, now)
		}
	}
	if p.intake.CaughtUp() {
		for _, s := range p.ledger.DueForSaving(now, int(p.stage.owned.Load())) {
			p.answering.Save(s)
		}
	}
	p.free(now)
	p.report(now)
	next := min(restingTick, p.stage.options.StallAfter/4)
	if p.intake.CaughtUp() {
		again, records := p.extensions.labelled(p.stage.labels.Current())
		p.ledger.Write(records)
		if again > 0 {
			next = min(next, again)
		}
	}
	if p.intake.Open() || p.answering.Jobs() > 0 || p.ledger.Waiting() || !p.intake.CaughtUp() {
		next = min(next, tickEvery)
	}
	return next
}

// Ticks come at tickEvery, and at restingTick while nothing can end by time.
const (
	tickEvery   = 100 * time.Millisecond
	restingTick = time.Second
)

// report updates the progress of a partition that neither reads nor commits.
func (p *partition) report(now time.Time) {
	p.stage.metrics.size(p)
	doing := "reading"
	switch {
	case p.ledger.Sending():
		doing = "writing"
	case p.ledger.Unanswered():
		doing = "answering"
	case p.intake.Relearning() > 0:
		doing = "learning again"
	case p.Budget.Paused.Load():
		doing = "waiting for memory"
	}
	p.progress.Doing(doing)
	if p.intake.AtEnd() && p.answering.Jobs() == 0 && p.ledger.Idle() {
		p.progress.Moved(now)
	}
	if p.intake.Relearning() == 0 && p.intake.CaughtUp() {
		p.progress.Ready(now)
	}
}
