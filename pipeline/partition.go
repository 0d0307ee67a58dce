package pipeline

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream"
)

// partition is one ownership of one input partition, from claim to hand-over. One goroutine owns everything in it but
// what is marked otherwise; episodes are answered by the stage's workers and commits made by a goroutine each, one at a time.
type partition struct {
	stage     *Stage
	topic     string
	number    int32
	log       *slog.Logger
	ctx       context.Context // ends when the partition is given up, not when it is drained
	committer producer.Committer
	keeper    *state.Keeper
	buffer    *consumer.Buffer
	streams   map[consumer.Key]*liveStream

	position   record.Place   // what is read next
	rejected   int64          // bad records below are in the dead letters, or will be by the next commit
	dimensions map[string]int // of each model's vectors
	replay     replay

	closed      []*job // episodes in the order in which they closed; the first is not answered
	together    []*job // answered ones that the same item closed as the last that left closed
	outstanding int    // jobs given to the workers and not settled
	inflight    int64  // bytes of episodes closed and not acknowledged

	// What the next commit hands over.
	records   []record.Out
	answered  []state.Answered
	snapshots []*state.Snapshot
	sending   []*job // whose records those are
	letters   int64  // bytes of the dead letters among them
	due       time.Time
	committed record.Place // what the last commit said
	busy      bool         // a commit is on its way
	result    chan error
	carried   []*job // by the commit on its way
	posted    int64  // bytes of the dead letters that it carries
	journaled bool   // the commit on its way carries the journal

	unsaved   []unsaved // streams that have learned something, in the order in which they are to be saved
	allowance float64   // bytes of state that may be written now
	allowedAt time.Time

	retired   bool      // streams were given up since the last commit
	retiredAt time.Time // when that was looked at last

	heard time.Time // when the partition last answered
	quiet time.Time // since when it has been read to its end; zero: it is not

	mutex sync.Mutex // over what the workers leave
	done  []*job
	wake  chan struct{}
}

type unsaved struct {
	stream *liveStream
	due    time.Time
}

// replay is what a new owner does before it decides anything: it reads again what the last one had read, puts open
// episodes together again, and learns what was answered and not saved.
type replay struct {
	from    record.Place // before it, items are only learned again
	decided record.Place // before it, nothing is decided or committed
	relearn map[consumer.Key][]again
	left    int // episodes still to be learned again
}

type again struct {
	state.Answered
	view  *view
	items []record.Item
}

// run works until ctx ends, and then hands the partition over as its cause asks for.
func (p *partition) run(ctx context.Context, reader *topic.Reader, decoder *record.Decoder, end int64) error {
	fetching, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan *consumer.Batch, 1)
	fetched := make(chan error, 1)
	go func() {
		fetched <- consumer.Fetch(fetching, reader, decoder, consumer.Bounds{Committed: p.stage.options.Committed, End: end}, batches)
	}()
	fetchEnded := false
	defer func() {
		stop()
		if !fetchEnded {
			<-fetched
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		in := batches
		if p.inflight >= p.stage.options.InFlight {
			in = nil // back-pressure: what is closed has to leave first
			p.quiet = time.Time{}
		}
		select {
		case <-ctx.Done():
			stop()
			if !fetchEnded {
				<-fetched
				fetchEnded = true
			}
			return p.handOver(context.Cause(ctx))
		case err := <-fetched:
			fetchEnded = true
			if err != nil && ctx.Err() == nil {
				return err
			}
			fetched = nil // the end of the range: what is closed still has to be answered
		case b := <-in:
			p.take(b)
		case <-p.wake:
			p.settleAll()
		case err := <-p.result:
			if err := p.acknowledge(err); err != nil {
				return err
			}
		case <-timer.C:
			timer.Reset(p.tick())
		}
		p.hand(false)
	}
}

// take puts a batch into episodes.
func (p *partition) take(b *consumer.Batch) {
	now := time.Now()
	p.heard = now
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
		p.quiet = time.Time{}
	} else if p.quiet.IsZero() {
		p.quiet = now
	}
	p.stage.metrics.fetched(p, b)
}

func (p *partition) record(r *consumer.Record, now time.Time) {
	o := &p.stage.options
	if r.Rejected != nil && r.Offset >= p.rejected {
		letter := record.DeadLetter(o.Dead, r.Raw, r.Rejected.Error(), 0)
		p.records = append(p.records, letter)
		p.letters += int64(len(letter.Key) + len(letter.Value))
		p.inflight += int64(len(letter.Key) + len(letter.Value))
		p.stage.metrics.rejected(r.Rejected.Fault)
		p.log.Debug("record rejected", "offset", r.Offset, "reason", r.Rejected.Reason)
	}
	for i := range r.Items {
		it := &r.Items[i]
		p.dimensions[it.Model] = len(it.Vector)
		if p.replay.left > 0 {
			p.again(it)
		}
		if place := it.Source.Place(); !p.replay.from.After(place) {
			p.position = place
			p.buffer.Add(*it, now)
		}
	}
	if r.Marker && r.Offset >= p.replay.from.Offset {
		p.buffer.Mark(r.Stream, record.Place{Offset: r.Offset, Object: 1<<31 - 1})
	}
	p.position = record.Start(r.Offset + 1)
}

// again collects an item of an episode that is to be learned again, and learns it when it is whole.
func (p *partition) again(it *record.Item) {
	key := consumer.Key{Stream: it.Stream, Model: it.Model}
	list := p.replay.relearn[key]
	if len(list) == 0 {
		return
	}
	first, place := &list[0], it.Source.Place()
	if first.First.After(place) {
		return
	}
	if !place.After(first.Last) {
		first.items = append(first.items, *it)
		if place != first.Last {
			return
		}
	}
	if len(list) == 1 {
		delete(p.replay.relearn, key)
	} else {
		p.replay.relearn[key] = list[1:]
	}
	p.replay.left--
	if len(first.items) > 0 {
		p.submit(&job{stream: p.stream(key), relearn: first.view, episode: &consumer.Episode{Key: key, Items: first.items, Closed: consumer.Reason(first.Closed), At: first.At}})
	}
	if place.After(first.Last) {
		p.again(it)
	}
}

// close is told of each episode that the buffer closes.
func (p *partition) close(e *consumer.Episode) {
	j := &job{stream: p.stream(e.Key), episode: e, closed: time.Now()}
	p.closed = append(p.closed, j)
	p.inflight += e.Bytes
	p.submit(j)
}

func (p *partition) submit(j *job) {
	p.outstanding++
	j.stream.pending++
	p.stage.pool.submit(j)
}

func (p *partition) stream(key consumer.Key) *liveStream {
	s := p.streams[key]
	if s == nil {
		s = &liveStream{key: key, partition: p, memory: stream.New(key.Stream, p.stage.options.Memory), learned: record.Nowhere, saved: time.Now()}
		p.streams[key] = s
	}
	return s
}

// finish is called by a worker when a job is done.
func (p *partition) finish(j *job) {
	p.mutex.Lock()
	p.done = append(p.done, j)
	p.mutex.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func (p *partition) settleAll() {
	p.mutex.Lock()
	done := p.done
	p.done = nil
	p.mutex.Unlock()
	for _, j := range done {
		p.outstanding--
		j.stream.pending--
		if p.ctx.Err() == nil {
			p.settle(j)
		}
	}
}

func (p *partition) settle(j *job) {
	s := j.stream
	switch {
	case j.snapshot != nil:
		s.saving = false
		p.snapshots = append(p.snapshots, j.snapshot)
		p.allowance -= float64(j.snapshot.Bytes())
		p.stage.metrics.saved(j.snapshot.Bytes())
	case j.relearn != nil:
		p.changed(s, time.Now())
	default:
		j.answered = true
		e := j.episode
		s.alive = e.Items[len(e.Items)-1].Time
		p.records = append(p.records, j.records...)
		p.sending = append(p.sending, j)
		p.inflight += j.bytes
		p.answered = append(p.answered, state.Answered{
			Stream: state.Stream{Name: e.Key.Stream, Model: e.Key.Model},
			First:  e.First(), Last: e.Last(), At: e.At, Closed: string(e.Closed), Labels: j.labels,
		})
		for len(p.closed) > 0 && p.closed[0].answered {
			if len(p.together) > 0 && p.together[0].episode.At != p.closed[0].episode.At {
				p.together = p.together[:0]
			}
			p.together = append(p.together, p.closed[0])
			p.closed[0] = nil
			p.closed = p.closed[1:]
		}
		p.changed(s, s.saved.Add(p.stage.options.StateInterval))
		p.stage.metrics.answered(j)
		if j.lost != nil {
			p.log.Error("an episode could not be answered: its items are in the dead letters", "stream", e.Key.Stream, "items", len(e.Items), "error", j.lost)
		}
		for _, note := range j.report.Notes {
			p.log.Warn(note, "stream", e.Key.Stream, "episode", j.report.Episode)
		}
	}
}

// changed queues a stream for its next snapshot.
func (p *partition) changed(s *liveStream, due time.Time) {
	if !s.dirty {
		s.dirty = true
		p.unsaved = append(p.unsaved, unsaved{s, due})
	}
}

// tick does what the clock asks for and says when to look again.
func (p *partition) tick() time.Duration {
	now := time.Now()
	o := &p.stage.options
	if now.Sub(p.heard) > staleAfter {
		p.quiet = time.Time{} // brokers that do not answer are not silence
	}
	if o.Limits.Idle > 0 && !p.quiet.IsZero() && p.settled() {
		if before := now.Add(-o.Limits.Idle); !p.quiet.After(before) {
			p.buffer.Silent(before, p.position)
		}
	}
	p.save(now)
	p.retire(now)
	if len(p.records) > 0 || len(p.answered) > 0 || p.busy {
		return min(o.CommitInterval, 100*time.Millisecond)
	}
	return 100 * time.Millisecond
}

// staleAfter is well beyond the longest that a fetch waits at the end of a partition.
const staleAfter = 2 * time.Second
