package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// How a partition was restored, for the metric.
const (
	fromMemory = "kept"
	fromState  = "restored"
)

// keepRevoked drops the revoked partitions that were not assigned again.
func (s *Stage) keepRevoked(assigned []topic.TopicPartition) {
	for tp := range s.revoked.Range {
		if !slices.Contains(assigned, tp.(topic.TopicPartition)) {
			s.revoked.Delete(tp)
		}
	}
}

// settled says whether state, committed offset and input together hold all that the partition has in memory,
// so that a new owner would restore the same. It is valid after the last commit has ended.
func (p *partition) settled() bool {
	return p.intake.caughtUp() && p.intake.replay.left == 0 && p.answering.jobs == 0 && len(p.ledger.closings.waiting) == 0 &&
		p.ledger.commits.sending == nil && p.ledger.commits.next.empty() && p.ledger.inFlight == 0
}

// handedOver keeps the partition in memory if it equals its last commit.
func (p *partition) handedOver() {
	end, known := p.ledger.commits.committer.StateEnd()
	if !known || !p.settled() {
		return
	}
	p.topics.stateEnd = max(p.topics.stateEnd, end)
	p.stage.revoked.Store(p.TopicPartition, p)
}

// found describes a kept partition's topics, read after the claim has fenced any owner in between.
type found struct {
	input, state topic.ID
	committed    int64 // offset
	first, end   int64 // of the input

	stateFirst, stateEnd int64 // of the state topic's partition
	written              bool  // the partition's state was written since it was kept
}

// outdated returns why the partition must not continue from memory; "" if nobody can have owned it in
// between. An owner writes state before it commits an offset. If it wrote neither, restoring would give what
// is in memory.
func (p *partition) outdated(f found) string {
	switch {
	case f.input != p.topics.input:
		return "the input was made again"
	case f.state != p.topics.state || f.stateEnd < p.topics.stateEnd || f.stateFirst > p.topics.stateEnd:
		return "the state topic is not what it was"
	case f.committed != p.ledger.commits.last.Offset:
		return "another offset was committed"
	case p.intake.position.Offset < f.first || p.intake.position.Offset > f.end:
		return "the input does not hold the next record"
	case f.written:
		return "state was written"
	}
	return ""
}

// proceed continues a kept partition that nobody has owned in between: its memory and open episodes stay, and
// nothing is read again. nil: the partition must be restored. Like restoring, it runs after the claim has
// fenced earlier owners: see claim.
func (s *Stage) proceed(
	ctx context.Context,
	a consumer.Assignment,
	committer producer.Committer,
	committed int64,
) (*partition, error) {
	kept, known := s.revoked.LoadAndDelete(a.TopicPartition)
	if !known {
		return nil, nil
	}
	p := kept.(*partition)
	f, err := p.inspect(ctx, committed)
	if err != nil {
		return nil, err
	}
	if why := p.outdated(f); why != "" {
		p.log.Info("the partition changed while it was revoked: it is restored", "reason", why)
		return nil, nil
	}
	p.topics.stateEnd = f.stateEnd
	p.keeper.Succeed(a.Generation.ID)
	beside := p.wings
	p.own(s.ownership(a, p.keeper), committer)
	p.wings = beside
	p.intake.fetchedAt, p.intake.endSince = time.Now(), time.Time{}
	s.metrics.takeovers.Add(1, fromMemory)
	p.log.Info(
		"partition goes on with what it has in memory",
		"from",
		p.intake.position.Offset,
		"committed",
		committed,
		"streams",
		len(p.answering.streams),
	)
	return p, nil
}

// find reads which topics there are now, and the bounds of the input.
func (p *partition) find(ctx context.Context) (f found, err error) {
	client := p.stage.client
	if f.input, err = client.ID(ctx, p.Topic); err != nil {
		return f, err
	}
	if f.state, err = client.ID(ctx, p.stage.options.State); err != nil {
		return f, err
	}
	f.first, f.end, err = client.Bounds(ctx, p.Topic, p.Partition, false)
	return f, err
}

// inspect reads what has changed since the partition was kept.
func (p *partition) inspect(ctx context.Context, committed int64) (f found, err error) {
	client, o := p.stage.client, &p.stage.options
	if f, err = p.find(ctx); err != nil {
		return f, err
	}
	f.committed = committed
	if f.stateFirst, f.stateEnd, err = client.Bounds(ctx, o.State, p.Partition, false); err != nil {
		return f, err
	}
	from := max(p.topics.stateEnd, f.stateFirst)
	at := topic.TopicPartition{Topic: o.State, Partition: p.Partition}
	for r, err := range client.Records(ctx, topic.Span{TopicPartition: at, From: from, To: f.stateEnd}) {
		if err != nil {
			return f, err
		}
		f.written = f.written || state.Concerns(r.Key, o.Group, p.Topic)
	}
	return f, nil
}
