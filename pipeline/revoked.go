package pipeline

import (
	"context"
	"sync"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// How a partition is taken over, as the metric says it.
const (
	fromMemory = "kept"
	fromState  = "restored"
)

// revoked holds the partitions that the group has taken back, with all that they have in memory, until the group says who
// owns them next: at each change of its members it takes all partitions back, and most of them stay where they were. Nothing
// is held beside the partitions of the next generation, so that it never takes memory in addition to theirs.
type revoked struct {
	mutex      sync.Mutex
	partitions map[topic.TopicPartition]*partition
}

// keep holds a partition that was handed over in full.
func (r *revoked) keep(p *partition) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.partitions == nil {
		r.partitions = map[topic.TopicPartition]*partition{}
	}
	r.partitions[topic.TopicPartition{Topic: p.topic, Partition: p.number}] = p
}

// take hands out the partition, once; nil: it is not held.
func (r *revoked) take(tp topic.TopicPartition) *partition {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	p := r.partitions[tp]
	delete(r.partitions, tp)
	return p
}

// assigned lets go of the partitions that the group has not given back.
func (r *revoked) assigned(partitions []topic.TopicPartition) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	left := map[topic.TopicPartition]*partition{}
	for _, tp := range partitions {
		if p := r.partitions[tp]; p != nil {
			left[tp] = p
		}
	}
	r.partitions = left
}

// settled says whether all that the partition has in memory is also in its state, its committed offset and its input, so
// that a new owner would come to the same. It is asked when the last commit has ended.
func (p *partition) settled() bool {
	next := &p.commits.next
	return p.caughtUp() && p.replay.left == 0 && p.jobs == 0 && len(p.closings.waiting) == 0 && p.commits.sending == nil &&
		len(next.records) == 0 && len(next.answered) == 0 && len(next.snapshots) == 0 && !next.forgotten && p.inFlight == 0
}

// handedOver keeps the partition in memory if what it is now is what its last commit says.
func (p *partition) handedOver() {
	end, known := p.commits.committer.StateEnd()
	if !known || !p.settled() {
		return
	}
	p.stateEnd = max(p.stateEnd, end)
	p.stage.revoked.keep(p)
}

// found is what an owner finds of a partition that it has kept in memory, once it has fenced whoever had it in between.
type found struct {
	input, state topic.ID
	committed    int64 // offset
	first, end   int64 // of the input

	stateFirst, stateEnd int64 // of the state topic's partition
	written              bool  // the state of the partition, by anybody, since it was kept
}

// outdated says why the partition must not go on with what it has in memory; "" if nobody can have owned it in between.
// An owner that has answered anything has written state before it could commit an offset, and one that has written
// neither leaves a new owner nothing that it would restore: then what is in memory is what restoring would come to.
func (p *partition) outdated(f found) string {
	switch {
	case f.input != p.input:
		return "the input was made again"
	case f.state != p.stateID || f.stateEnd < p.stateEnd || f.stateFirst > p.stateEnd:
		return "the state topic is not what it was"
	case f.committed != p.commits.last.Offset:
		return "another offset was committed"
	case p.position.Offset < f.first || p.position.Offset > f.end:
		return "the input does not hold the next record"
	case f.written:
		return "state was written"
	}
	return ""
}

// proceed makes this process the owner again of a partition that it owned last and that nobody has owned since: all that
// is in memory stays, open episodes too, and nothing is read again. nil: there is none, and the partition has to be
// restored. It comes after the claim has fenced earlier owners, as restoring does: see claim.
func (s *Stage) proceed(ctx context.Context, a consumer.Assignment, committer producer.Committer, committed int64) (*partition, error) {
	p := s.revoked.take(topic.TopicPartition{Topic: a.Topic, Partition: a.Partition})
	if p == nil {
		return nil, nil
	}
	f, err := p.look(ctx, committed)
	if err != nil {
		return nil, err
	}
	if why := p.outdated(f); why != "" {
		p.log.Info("the partition changed while it was revoked: it is restored", "reason", why)
		return nil, nil
	}
	p.stateEnd = f.stateEnd
	keeper, last := p.commits.keeper, p.commits.last
	keeper.Succeed(a.Generation.ID)
	p.commits = newCommits(committer, keeper, s.options.CommitInterval, s.options.Eager)
	p.commits.last = last
	p.anew, p.handed = make(chan struct{}, 1), false
	p.fetchedAt, p.endSince = time.Now(), time.Time{}
	s.metrics.takeovers.Add(1, fromMemory)
	p.log.Info("partition goes on with what it has in memory", "from", p.position.Offset, "committed", committed, "streams", len(p.streams))
	return p, nil
}

// look finds out what has become of the partition since it was kept.
func (p *partition) look(ctx context.Context, committed int64) (f found, err error) {
	client, o := p.stage.client, &p.stage.options
	f.committed = committed
	if f.input, err = client.ID(ctx, p.topic); err != nil {
		return f, err
	}
	if f.state, err = client.ID(ctx, o.State); err != nil {
		return f, err
	}
	if f.first, f.end, err = client.Bounds(ctx, p.topic, p.number, false); err != nil {
		return f, err
	}
	if f.stateFirst, f.stateEnd, err = client.Bounds(ctx, o.State, p.number, false); err != nil {
		return f, err
	}
	from := max(p.stateEnd, f.stateFirst)
	err = readBetween(ctx, client, topic.TopicPartition{Topic: o.State, Partition: p.number}, from, f.stateEnd, each(func(r *record.Raw) {
		f.written = f.written || state.Concerns(r.Key, o.Group, p.topic)
	}))
	return f, err
}
