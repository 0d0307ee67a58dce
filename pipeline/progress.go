package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
)

// progress tracks the partitions assigned to this process, across restarts of their ownership. It
// distinguishes a stage that waits from one that is stuck.
type progress struct {
	mutex      sync.Mutex
	partitions map[topic.TopicPartition]*advance
}

// advance is the progress of one partition.
type advance struct {
	since     time.Time // when it last made progress, or had nothing to do
	commit    time.Time // when an offset was last committed, or the partition assigned
	assigned  time.Time
	took      time.Duration // from the assignment until new records could be answered; 0: not yet
	committed int64         // offset; -1: not known
	end       int64         // of the input; -1: not known
	endAt     time.Time     // when end was last updated
	waiting   int64         // records before end that are part of, or behind, an open transaction
	stableAt  time.Time     // since when the last stable offset has not moved
	opener    opener        // of the transaction that they wait for
	input     topic.ID      // the topic's ID at the assignment
	anew      chan struct{} // receives when the topic was created again
	last      time.Time     // time of the last record read, if more records follow; zero: none do
	doing     string
	cause     error     // of the last failure, while it lasts
	reads     []reading // records read and not committed, oldest first
}

// reading says that records below next were read at a time.
type reading struct {
	next int64
	at   time.Time
}

func newProgress() *progress { return &progress{partitions: map[topic.TopicPartition]*advance{}} }

// of calls change with a partition's progress, if it is assigned.
func (p *progress) of(tp topic.TopicPartition, change func(*advance)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if a := p.partitions[tp]; a != nil {
		change(a)
	}
}

func (p *progress) assign(tp topic.TopicPartition, now time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.partitions[tp] = &advance{
		since: now, stableAt: now, commit: now, assigned: now, committed: -1, end: -1, doing: "taking over",
	}
}

// assigned returns the partitions of this process.
func (p *progress) assigned() []topic.TopicPartition {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Keys(p.partitions))
}

func (p *progress) release(tp topic.TopicPartition) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.partitions, tp)
}

// moved records progress, or that there is nothing to do.
func (a *advance) moved(now time.Time) { a.since, a.cause = now, nil }

// ends records up to which offset the input may be read, and how many records from there on wait for the end
// of a transaction.
func (a *advance) ends(decided, waiting int64, now time.Time) {
	if waiting == 0 || a.waiting == 0 || decided != a.end-a.waiting {
		a.stableAt = now
	}
	a.end, a.waiting, a.endAt = decided+waiting, waiting, now
}

// known says whether the end of the input is up to date.
func (a *advance) known(now time.Time) bool {
	const stale = 15 * time.Second
	return a.end >= 0 && now.Sub(a.endAt) < stale
}

// read records that records below next were read. Reads within a second count as one.
func (a *advance) read(next int64, now time.Time) {
	if n := len(a.reads); n > 0 && (next <= a.reads[n-1].next || now.Sub(a.reads[n-1].at) < time.Second) {
		a.reads[n-1].next = max(a.reads[n-1].next, next)
		return
	}
	if next > a.committed {
		a.reads = append(a.reads, reading{next, now})
	}
}

// acknowledged records a commit of the offset.
func (a *advance) acknowledged(offset int64, now time.Time) {
	a.committed, a.commit = offset, now
	for len(a.reads) > 0 && a.reads[0].next <= offset {
		a.reads = a.reads[1:]
	}
}

// unacknowledged returns how long ago the oldest record was read whose offset is not committed.
func (a *advance) unacknowledged(now time.Time) time.Duration {
	if len(a.reads) == 0 {
		return 0
	}
	return now.Sub(a.reads[0].at)
}

// stuck is a partition with work to do and no progress for some time.
type stuck struct {
	topic.TopicPartition
	lasting time.Duration
	doing   string
	cause   error
}

// stuck lists the partitions without progress for longer than limit, the longest first.
func (p *progress) stuck(now time.Time, limit time.Duration) []stuck {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var list []stuck
	for tp, a := range p.partitions {
		if lasting := now.Sub(a.since); lasting >= limit {
			list = append(list, stuck{tp, lasting, a.doing, a.cause})
		}
	}
	slices.SortFunc(list, func(a, b stuck) int {
		return cmp.Or(cmp.Compare(b.lasting, a.lasting), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

func (s stuck) String() string {
	return fmt.Sprintf("%s/%d has not got on for %v while %s", s.Topic, s.Partition, s.lasting.Round(time.Second), s.doing)
}

// survey reports the partitions' progress in metrics, and what stops the work in the log, each kind of trouble
// once a minute while it lasts.
func (s *Stage) survey(ctx context.Context, now time.Time) {
	const apart = 4500 * time.Millisecond // between queries of the brokers: every fifth tick
	if now.Sub(s.queried) >= apart {
		s.queried = now
		s.queryEnds(ctx)
		s.askProducers(ctx, now)
	}
	lasting, _ := s.contact.lasting(now)
	s.metrics.cutOff.Set(lasting.Seconds())
	s.metrics.progress(s.progress, now)
	s.notePauses()
	kinds := map[string]int{}
	list := s.troubles(now)
	for _, t := range list {
		kinds[t.Of]++
	}
	for _, t := range list { // of each kind the first
		s.warned.Once(t.Of, func(int) {
			s.log.Error(t.What, "cause", t.Cause, "do", t.Do, "of_its_kind", kinds[t.Of])
		})
	}
}

// notePauses reports the pauses in the metric, and once a minute in the log.
func (s *Stage) notePauses() {
	paused := s.labels.Current().Orders.Paused()
	s.metrics.paused.Set(float64(len(paused)))
	if len(paused) == 0 {
		return
	}
	s.warned.Once("paused", func(int) {
		for _, t := range s.pauses() {
			s.log.Warn(t.What, "cause", t.Cause, "do", t.Do)
		}
	})
}

// remedy returns what a person can do about an error that blocks a partition.
func remedy(err error) string {
	if err == nil {
		return "look at the CPU and at slow solves: slkstream_solve_seconds"
	}
	if errors.Is(err, state.ErrBlocked) {
		return "go back to the version that wrote it, or delete what cannot be read: slkstream state discard; " +
			"what was answered since the last journal that can be read may be answered again"
	}
	var schema *record.SchemaAway
	if errors.As(err, &schema) {
		return "see that the schema registry runs, can be reached and lets this client ask: --schema-registry and its " +
			"user or token; it goes on by itself"
	}
	var open *topic.Undecided
	if errors.As(err, &open) {
		return fmt.Sprintf("if it lasts longer than its timeout, end it with "+
			"kafka-transactions.sh abort --topic %s --partition %d --start-offset %d",
			open.Topic, open.Partition, open.Offset)
	}
	if errors.Is(err, kafka.KafkaStorageError) {
		return "make room on the brokers' disks, or replace them; it goes on by itself"
	}
	switch topic.CauseOf(err) {
	case topic.Away:
		return "see that the brokers run, can be reached and have the topic's leaders; it goes on by itself"
	case topic.Denied:
		return "give the rights that slkstream check names, or make the topic; it goes on by itself"
	case topic.Rejected:
		return "raise max.message.bytes or message.timestamp limits of the topic; it goes on by itself"
	}
	return "report it with this line"
}
