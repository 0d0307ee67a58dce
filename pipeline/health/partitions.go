package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// Partitions are those assigned to this process, across restarts of their ownership.
type Partitions struct {
	mutex sync.Mutex
	list  map[topic.TopicPartition]*Partition
}

// Partition is the progress of one partition. It distinguishes a partition that waits from one that is stuck.
type Partition struct {
	topic.TopicPartition

	mutex     sync.Mutex
	assigned  time.Time
	ready     time.Duration // from the assignment until new records could be answered; 0: not yet
	since     time.Time     // when it last made progress, or had nothing to do
	doing     string
	cause     error      // of the last failure, while it lasts
	committed int64      // offset; -1: not known
	commit    time.Time  // when an offset was last committed, or the partition assigned
	last      time.Time  // time of the last record read, if more records follow; zero: none do
	reads     []reading  // records read and not committed, oldest first
	end       int64      // of the input; -1: not known
	endAt     time.Time  // when end was last updated
	waiting   int64      // records before end that are part of, or behind, an open transaction
	stableAt  time.Time  // since when the last stable offset has not moved
	producer  producerAt // of the transaction that they wait for
	input     topic.ID   // the topic's ID at the claim
	recreated func()     // called when the topic was created again; nil: nobody asks
}

// reading notes when records below next were read.
type reading struct {
	next int64
	at   time.Time
}

// producerAt is the producer of a transaction that begins at an offset.
type producerAt struct {
	offset, id int64
	known      bool
}

// Assign begins the progress of a partition.
func (p *Partitions) Assign(tp topic.TopicPartition, now time.Time) *Partition {
	a := &Partition{
		TopicPartition: tp, since: now, stableAt: now, commit: now, assigned: now, committed: -1, end: -1,
		doing: "taking over",
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.list == nil {
		p.list = map[topic.TopicPartition]*Partition{}
	}
	p.list[tp] = a
	return a
}

// Release ends the progress of a partition.
func (p *Partitions) Release(tp topic.TopicPartition) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.list, tp)
}

// All returns the partitions that are assigned now.
func (p *Partitions) All() []*Partition {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return slices.Collect(maps.Values(p.list))
}

// Stuck lists the partitions without progress for longer than limit, the longest first.
func (p *Partitions) Stuck(now time.Time, limit time.Duration) (list []Stuck) {
	for _, a := range p.All() {
		a.mutex.Lock()
		if lasting := now.Sub(a.since); lasting >= limit {
			list = append(list, Stuck{a.TopicPartition, lasting, a.doing, a.cause})
		}
		a.mutex.Unlock()
	}
	slices.SortFunc(list, func(a, b Stuck) int {
		return cmp.Or(cmp.Compare(b.Lasting, a.Lasting), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

// Stuck is a partition with work to do and no progress for some time.
type Stuck struct {
	topic.TopicPartition
	Lasting time.Duration
	Doing   string
	Cause   error
}

func (s Stuck) String() string {
	return fmt.Sprintf("%s/%d has not got on for %v while %s", s.Topic, s.Partition, s.Lasting.Round(time.Second), s.Doing)
}

// Doing sets the operation that the partition waits for.
func (a *Partition) Doing(what string) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.doing = what
}

// Failed sets the operation that the partition waits for, and the error that blocks it.
func (a *Partition) Failed(doing string, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.doing, a.cause = doing, err
}

// Moved records progress, or that there is nothing to do.
func (a *Partition) Moved(now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.since, a.cause = now, nil
}

// Ready records that new records can be answered. Only the first call after the assignment counts.
func (a *Partition) Ready(now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.ready == 0 {
		a.ready = now.Sub(a.assigned)
	}
}

// Claimed records a claim: the input's topic, and what to call when it was deleted and created again.
func (a *Partition) Claimed(input topic.ID, recreated func()) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.input, a.recreated = input, recreated
}

// Exists records which topic the input is now; the zero ID: not known.
func (a *Partition) Exists(input topic.ID) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if input != (topic.ID{}) && a.input != (topic.ID{}) && input != a.input && a.recreated != nil {
		a.recreated()
	}
}

// Read records that records below next were read. last is the time of the last one, zero at the end of the
// input. Reads within a second count as one.
func (a *Partition) Read(next int64, last, now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.last = last
	if n := len(a.reads); n > 0 && (next <= a.reads[n-1].next || now.Sub(a.reads[n-1].at) < time.Second) {
		a.reads[n-1].next = max(a.reads[n-1].next, next)
	} else if next > a.committed {
		a.reads = append(a.reads, reading{next, now})
	}
}

// Ends records up to which offset the input may be read, and how many records from there on wait for the end
// of a transaction.
func (a *Partition) Ends(decided, waiting int64, now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if waiting == 0 || a.waiting == 0 || decided != a.end-a.waiting {
		a.stableAt = now
	}
	a.end, a.waiting, a.endAt = decided+waiting, waiting, now
}

// Committed records a commit of the offset.
func (a *Partition) Committed(offset int64, now time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.committed, a.commit = offset, now
	for len(a.reads) > 0 && a.reads[0].next <= offset {
		a.reads = a.reads[1:]
	}
}

// Figures are a partition's progress in numbers.
type Figures struct {
	Oldest   time.Duration // since the oldest record was read whose offset is not committed
	Commit   time.Duration // since an offset was last committed, or the partition assigned
	Ready    bool          // new records can be answered
	TakeOver time.Duration // from the assignment until they could be, or until now
	// Known says whether the end of the input is up to date, and so the rest.
	Known     bool
	Undecided int64         // records that wait for the end of a transaction
	Behind    time.Duration // age of the last record read; 0 at the end
	Lag       int64         // records beyond the committed offset; -1: not known
}

// Figures returns the partition's progress in numbers.
func (a *Partition) Figures(now time.Time) Figures {
	const stale = 15 * time.Second
	a.mutex.Lock()
	defer a.mutex.Unlock()
	f := Figures{
		Commit: now.Sub(a.commit), TakeOver: cmp.Or(a.ready, now.Sub(a.assigned)), Ready: a.ready > 0, Undecided: a.waiting, Lag: -1,
		Known: a.end >= 0 && now.Sub(a.endAt) < stale,
	}
	if len(a.reads) > 0 {
		f.Oldest = now.Sub(a.reads[0].at)
	}
	if !a.last.IsZero() {
		f.Behind = max(now.Sub(a.last), 0)
	}
	if a.committed >= 0 {
		f.Lag = max(a.end-a.committed, 0)
	}
	return f
}

// OpenSince returns the first offset of the transaction that records have waited for longer than limit; false:
// none do. asked says whether its producer is known.
func (a *Partition) OpenSince(now time.Time, limit time.Duration) (offset int64, asked, open bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	offset = a.end - a.waiting
	return offset, a.producer.known && a.producer.offset == offset, a.waiting > 0 && now.Sub(a.stableAt) >= limit
}

// Producer records who has opened the transaction that begins at an offset.
func (a *Partition) Producer(offset, id int64) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.producer = producerAt{offset, id, true}
}

// Transactions reports partitions whose records have waited for the end of a transaction for longer than limit.
func (p *Partitions) Transactions(now time.Time, limit time.Duration) (list []Trouble) {
	for _, a := range p.All() {
		offset, asked, open := a.OpenSince(now, limit)
		if !open {
			continue
		}
		a.mutex.Lock()
		by := ""
		if asked {
			by = fmt.Sprintf(", producer id %d", a.producer.id)
		}
		list = append(list, Trouble{
			Of: OfTransaction,
			What: fmt.Sprintf("%d records of %s/%d have waited for %v behind a transaction that has not ended",
				a.waiting, a.Topic, a.Partition, now.Sub(a.stableAt).Round(time.Second)),
			Cause: fmt.Sprintf("the transaction begins at offset %d%s", offset, by),
			Do: fmt.Sprintf("end or restart its sender, or end it with kafka-transactions.sh abort "+
				"--topic %s --partition %d --start-offset %d; it goes on by itself", a.Topic, a.Partition, offset),
		})
		a.mutex.Unlock()
	}
	return list
}
