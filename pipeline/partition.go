package pipeline

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/solver/stream"
)

// partition is one ownership of one input partition, from claim to hand-over. One goroutine owns all of it
// except the inbox. The stage's workers answer its episodes; commits run one at a time, each on a goroutine.
type partition struct {
	topic.TopicPartition
	stage    *Stage
	progress *health.Partition
	log      *slog.Logger
	ctx      context.Context // ends when the partition is released, not when it drains
	abandon  func()          // ends ctx
	reading  []record.Former // how its records are read; readingText is what journals say of it

	readingText string

	buffer   *consumer.Buffer
	streams  map[record.Stream]*liveStream
	replay   *replay
	closings closings
	commits  *commits
	saver    saver
	inbox    inbox
	warned   telemetry.Warnings
	recent   *recent.Partition // nil: recent items are not kept
	earlier  *earlier          // nil: those of earlier owners are not corrected

	correcting *correcting   // nil: recent items already carry the names of the labels in force
	works      func()        // called after an acknowledged commit
	first      *firstAnswers // nil: none are given

	handed bool // everything is committed or in flight; closing waits for it

	input topic.ID      // zero: not known
	anew  chan struct{} // holds one value when the topic was deleted and created again

	statesMade int64 // Stage.statesMade when all streams were last in the state topic, or queued for saving

	stateID  topic.ID // of the state topic when it was read; zero: not known
	stateEnd int64    // of the partition's state: only this owner has written before it since it was read

	position   record.Position // of the next record
	rejected   int64           // bad records below are in the dead letters, or in the next commit
	dimensions map[string]int  // of most records' vectors, by record.DimensionKey; replaced, never changed
	jobs       int             // given to the workers and not collected
	inFlight   int64           // bytes of closed episodes and of dead letters that are not acknowledged
	unsolved   int64           // bytes of closed episodes that wait for a worker

	retired   retired      // evicted streams
	hung      []state.Hung // episodes whose solve did not end for earlier owners
	fetchedAt time.Time    // when brokers last answered a fetch
	endSince  time.Time    // since when reading has been at the end; zero: it is not
	resting   bool         // nothing is open, being answered or written: ticks are rarer
}

var errAnew = errors.New("the input was deleted and made again")

// run works until ctx ends, then hands the partition over as the context's cause requires.
func (p *partition) run(ctx context.Context, reader *topic.Reader, decoder *record.Decoder, end int64) error {
	defer func() {
		p.first.stop()
		p.withdraw()
	}()
	fetching, stop := context.WithCancel(ctx)
	batches := make(chan *consumer.Batch, 1)
	fetched := make(chan error, 1)
	go func() {
		fetched <- consumer.Fetch(fetching, reader, decoder, consumer.Bounds{Committed: p.stage.options.Committed, End: end}, batches)
	}()
	fetchEnded := false
	endFetch := func() {
		stop()
		if !fetchEnded {
			<-fetched
			fetchEnded = true
		}
	}
	defer endFetch()
	p.readEarlier(fetching)
	timer, due := time.NewTimer(0), time.NewTimer(0)
	defer timer.Stop()
	defer due.Stop()
	for {
		in := batches
		if p.full() {
			if p.jobs == 0 && !p.caughtUp() {
				p.replay.giveUp(p.position)
			}
			in = nil
			p.endSince = time.Time{}
		}
		select {
		case <-ctx.Done():
			endFetch()
			return p.handOver(context.Cause(ctx))
		case err := <-fetched:
			fetchEnded = true
			if err != nil && ctx.Err() == nil { // the input may no longer hold the items in memory
				return errors.Join(err, p.handOver(err))
			}
			fetched = nil // the end of the range: closed episodes must still be answered
		case <-p.anew: // the items in memory cannot be read again
			endFetch()
			return errors.Join(errAnew, p.handOver(errAnew))
		case b := <-in:
			p.take(b)
			if len(b.Records) > 0 && p.resting {
				p.resting = false
				timer.Reset(tickEvery)
			}
		case <-p.inbox.wake:
			p.collect()
		case read := <-p.readOfEarlier():
			p.takeEarlier(read)
		case err := <-p.commits.result:
			if err := p.acknowledge(err); err != nil {
				return err
			}
		case err := <-p.commits.committer.Failed():
			return err
		case <-timer.C:
			timer.Reset(p.tick())
		case <-due.C:
		}
		if !p.commit(false) && p.caughtUp() {
			if wait, ok := p.commits.wait(time.Now()); ok {
				due.Reset(wait)
			}
		}
	}
}

// full says that reading must wait: closed episodes must be acknowledged first, or the workers have enough to
// do. Reading far ahead of the workers only fills memory. If few streams are ready, as when a topic holds
// items of one stream in long runs, reading continues to find others. A partition with unsolved episodes is
// woken when a worker is done and checks again.
func (p *partition) full() bool {
	return p.inFlight >= p.stage.inFlightMost() || p.stage.memory.paused.Load() ||
		p.unsolved >= unsolvedMost && p.stage.pool.busyFor(readyMost)
}

// unsolvedMost bytes of closed episodes may wait in a partition however busy the workers are: about one
// fetch. Beyond that, reading waits once each worker has readyMost streams to work on.
const (
	unsolvedMost = 1 << 20
	readyMost    = 2
)

// take adds a batch to the open episodes.
func (p *partition) take(b *consumer.Batch) {
	now := time.Now()
	p.fetchedAt = now
	p.saver.read(b)
	if b.Dimensions != nil {
		p.dimensions = b.Dimensions
		p.stage.labels.Agree(b.Dimensions)
	}
	for i := range b.Records {
		p.record(&b.Records[i], now)
	}
	if b.Next > p.position.Offset {
		p.position = record.Start(b.Next)
	}
	p.rejected = max(p.rejected, b.Next)
	if b.Last {
		p.buffer.Drain(p.position)
	}
	if b.Next < b.End {
		p.endSince = time.Time{}
	} else if p.endSince.IsZero() {
		p.endSince = now
	}
	p.first.flush(b.Next < b.End && now.Sub(b.Time) > p.stage.options.NowWithin)
	var last time.Time
	if b.Next < b.End {
		last = b.Time
	}
	p.progress.Read(b.Next, last, now)
	p.progress.Ends(b.End, b.Waiting, now)
	if len(p.closings.waiting) == 0 && !p.commits.waiting() {
		p.progress.Moved(now) // reading is all that remains
	}
}

func (p *partition) record(r *consumer.Record, now time.Time) {
	if r.Rejected != nil && r.Offset >= p.rejected && p.stage.options.Compare == nil {
		p.inFlight += p.commits.next.letter(p.stage.letter(p.log, r, now), r.Rejected.Fault)
		p.warned.Once("rejected "+string(r.Rejected.Fault), func(records int) {
			p.log.Warn("records cannot be used and go to the dead letters", "reason", r.Rejected.Fault,
				"records", records, "offset", r.Offset, "detail", r.Rejected.Reason)
		})
		p.stage.records.Rejected(1, r.Rejected.Reason, false, now)
	}
	if len(r.Items) > 0 {
		p.stage.records.Used(false)
	}
	if r.Empty != "" && r.Offset >= p.rejected {
		p.stage.metrics.empty.Add(1, r.Empty)
		p.warned.Once("empty "+r.Empty, func(records int) {
			p.log.Warn("records hold nothing to answer", "reason", r.Empty, "records", records, "offset", r.Offset)
		})
	}
	for i := range r.Items {
		it := &r.Items[i]
		p.replay.take(it, p.relearn)
		if at := it.Source.Position(); !p.replay.covers(at) {
			p.position = at
			p.first.read(it, now)
			p.buffer.Add(*it, r.Time, now)
		}
	}
	if r.Marker && r.Offset >= p.replay.from.Offset {
		p.buffer.Mark(r.Stream, record.Position{Offset: r.Offset, Object: 1<<31 - 1})
	}
	p.position = record.Start(r.Offset + 1)
}

// relearn replays an episode that an earlier owner answered: it is learned without emitting results.
func (p *partition) relearn(key record.Stream, e *relearning) {
	var size int64
	for i := range e.items {
		size += int64(e.items[i].Size())
	}
	p.inFlight += size
	p.unsolved += size
	j := &job{
		stream: p.stream(key), relearn: e.view,
		episode: &consumer.Episode{
			Key: key, Items: e.items, Closed: consumer.Reason(e.Closed), At: e.At, Reached: p.buffer.High(), Bytes: size,
		},
	}
	if j.poison = p.poisoned(j.episode); j.poison != nil {
		p.log.Error("an episode is not learned again", "stream", key.Name, "error", j.poison)
	}
	p.submit(j)
}

// close is called with each episode that the buffer closes.
func (p *partition) close(e *consumer.Episode) {
	j := &job{stream: p.stream(e.Key), episode: e, closed: time.Now(), poison: p.poisoned(e)}
	p.closings.add(j)
	p.inFlight += e.Bytes
	p.unsolved += e.Bytes
	p.submit(j)
}

func (p *partition) submit(j *job) {
	p.jobs++
	j.stream.pending++
	p.stage.pool.submit(j)
}

func (p *partition) stream(key record.Stream) *liveStream {
	s := p.streams[key]
	if s == nil {
		s = &liveStream{
			key: key, partition: p, memory: stream.New(key.Name, p.stage.options.Memory), learned: record.NoPosition, saved: time.Now(),
		}
		p.streams[key] = s
		p.stage.remembered.Store(s.key, s)
	}
	return s
}

// collect takes the jobs that workers have done.
func (p *partition) collect() {
	for _, j := range p.inbox.take() {
		p.jobs--
		j.stream.pending--
		if j.episode != nil {
			p.unsolved -= j.episode.Bytes
		}
		if p.ctx.Err() == nil {
			p.done(j)
		}
	}
}

// done takes a job's outcome into the next commit.
func (p *partition) done(j *job) {
	s := j.stream
	switch {
	case j.episode == nil && j.rejected != nil:
		s.saving = false
		p.saver.unwritten -= s.size
		p.log.Error("a stream cannot be saved", "stream", s.key.Name, "error", j.rejected)
	case j.snapshot != nil:
		s.saving = false
		p.commits.next.snapshots = append(p.commits.next.snapshots, j.snapshot)
		p.commits.next.saved += j.snapshot.Bytes()
		p.saver.settle(s, j.snapshot.Bytes())
		p.stage.metrics.snapshots.Observe(float64(j.snapshot.Bytes()))
	case j.relearn != nil:
		p.inFlight -= j.episode.Bytes
		p.keep(j.kept)
		p.saver.relearned(s, time.Now())
		p.saver.spent.solves += j.took + j.learned
	default:
		j.done = true
		e := j.episode
		s.episodes = max(s.episodes, j.report.Episode)
		s.taught = s.taught || slices.ContainsFunc(e.Items, func(it record.Item) bool { return it.Label != "" })
		const several = 3 // records of one dimension are taken as the feed's own
		labels := p.stage.labels
		if j.rejected == nil && len(e.Items) >= several && labels.Dimension(e.Key.Model) == 0 {
			labels.Agree(map[string]int{e.Key.Model: len(e.Items[0].Vector)})
		}
		p.stage.streams.Answered(health.Stream{TopicPartition: p.TopicPartition, Key: s.key}, health.Answer{
			EmbeddingChanged: j.report.EmbeddingChanged, Doubtful: j.report.Doubtful, Right: j.report.LabelledRight,
			Labelled: j.report.Labelled,
		}, time.Now())
		p.commits.next.answer(j)
		if sent := p.first.settle(s, e.Last()); sent != nil {
			p.commits.next.after = append(p.commits.next.after, sent)
		}
		p.keep(j.kept)
		p.inFlight += j.bytes
		p.closings.drop()
		p.saver.changed(s, s.saved.Add(p.stage.options.StateInterval))
		p.saver.spent.solves += j.took + j.learned
		if j.rejected != nil {
			p.log.Error(
				"an episode could not be answered: its items are in the dead letters",
				"stream",
				e.Key.Name,
				"items",
				len(e.Items),
				"error",
				j.rejected,
			)
		}
		for _, note := range j.report.Notes {
			p.log.Warn(note, "stream", e.Key.Name, "episode", j.report.Episode)
		}
	}
}

// caughtUp says whether the replay is over, so that episodes may close by the clock and commits may be made.
func (p *partition) caughtUp() bool { return p.replay.over(p.position) }

// inputName is the input's id as the journal writes it; "" if it is not known.
func (p *partition) inputName() string {
	if p.input == (topic.ID{}) {
		return ""
	}
	return string(p.input[:])
}

// restart returns a journal that says where the next owner would begin if it took the partition now.
func (p *partition) restart() *state.Journal {
	r := &state.Journal{
		From: p.position, High: p.buffer.High(), Decided: p.position,
		Rejected: p.rejected, Dimensions: p.dimensions, Input: p.inputName(), Reading: p.readingText,
	}
	if oldest, before, ok := p.buffer.Oldest(); ok {
		r.From, r.High = oldest, before
	}
	p.closings.lower(r)
	return r
}

// commit starts the next commit, unless there is nothing to commit or one is in flight, and says whether it
// did. At least once, results are written as soon as they are ready, journal and offset at the commit
// interval. In a transaction all of it is written together.
func (p *partition) commit(final bool) bool {
	if !p.caughtUp() {
		return false
	}
	c := p.commits.begin(p.ctx, time.Now(), final, p.restart)
	if c == nil {
		return false
	}
	p.stage.metrics.stateBytes.Add(size(c.State))
	p.stage.metrics.outBytes.Add(size(c.Records))
	return true
}

// acknowledge takes the outcome of a commit.
func (p *partition) acknowledge(err error) error {
	now := time.Now()
	sent, err := p.commits.acknowledge(err, now)
	if err != nil {
		p.stage.metrics.commits.Add(1, "failed")
		return err
	}
	p.stage.metrics.commits.Add(1, "done")
	if len(sent.records) > 0 {
		p.works()
	}
	p.progress.Moved(now)
	if sent.journal {
		p.saver.unwritten -= sent.saved
		p.progress.Committed(p.commits.last.Offset, now)
	}
	for fault, n := range sent.faults {
		p.stage.metrics.rejections.Add(float64(n), string(fault))
	}
	p.inFlight -= sent.letterBytes
	for _, j := range sent.jobs {
		p.stage.metrics.episode(j)
		p.inFlight -= j.episode.Bytes + j.bytes
		p.saver.earn(j.bytes)
		p.stage.metrics.delay.ObserveTraced(now.Sub(j.closed).Seconds(), j.episode.Items[0].Trace.Parent)
		if traced := p.stage.options.Traced; traced != nil {
			traced(j.trace(now))
		}
	}
	return nil
}

// tick does the work that depends on the clock and returns when to call it again.
func (p *partition) tick() time.Duration {
	now := time.Now()
	o := &p.stage.options
	if now.Sub(p.fetchedAt) > staleAfter {
		p.endSince = time.Time{} // brokers that do not answer do not make a stream silent
	}
	if o.Limits.Idle > 0 && !p.endSince.IsZero() && p.caughtUp() {
		if before := now.Add(-o.Limits.Idle); !p.endSince.After(before) {
			p.buffer.Silent(before, p.position)
		}
	}
	if p.stage.memory.paused.Load() && p.caughtUp() && !o.Bounded {
		p.buffer.Silent(now, p.position) // open episodes are memory too
	}
	if made := p.stage.statesMade.Load(); made != p.statesMade {
		p.statesMade = made
		for _, s := range p.streams {
			p.saver.changed(s, now)
		}
	}
	p.save(now)
	p.relieve(now)
	p.retire(now)
	p.report(now)
	p.resting = false
	if p.correct() {
		return time.Millisecond
	}
	_, _, open := p.buffer.Oldest()
	if open || p.jobs > 0 || p.commits.waiting() || !p.caughtUp() {
		return tickEvery
	}
	p.resting = true
	return min(restingTick, o.StallAfter/4)
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
	case p.commits.sending != nil:
		doing = "writing"
	case len(p.closings.waiting) > 0:
		doing = "answering"
	case p.replay.left > 0:
		doing = "learning again"
	case p.stage.memory.paused.Load():
		doing = "waiting for memory"
	}
	nothing := !p.endSince.IsZero() && p.jobs == 0 &&
		len(p.closings.waiting) == 0 && !p.commits.waiting()
	p.progress.Doing(doing)
	if nothing {
		p.progress.Moved(now)
	}
	if p.replay.left == 0 && p.caughtUp() {
		p.progress.Ready(now)
	}
}

// recovery is how long a new owner would take to replay what no snapshot covers.
func (p *partition) recovery() time.Duration {
	return p.saver.recovery(p.stage.options.Workers, int(p.stage.owned.Load()))
}

// save requests snapshots of streams that are due, within the allowance for state.
func (p *partition) save(now time.Time) {
	p.saver.refill(now)
	// Half of the target is for reading the snapshots themselves.
	hurry := func() bool { return p.recovery() > p.stage.options.RecoveryTarget/2 }
	const most = 64 // at a time, so that episodes do not wait
	for range most {
		if !p.caughtUp() {
			return
		}
		s := p.saver.next(now, hurry())
		if s == nil {
			return
		}
		s.saving = true
		p.submit(&job{stream: s})
	}
}

// fetchWait is how long a fetch waits at the end of a partition; staleAfter is well beyond it.
const (
	fetchWait  = 2 * time.Second
	staleAfter = 5 * time.Second
)
