package pipeline

import (
	"context"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
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
	p.session.Wrote(end)
	p.stage.revoked.Store(p.TopicPartition, p)
}

// input describes the input of a partition.
type input struct {
	id         topic.ID
	first, end int64
}

// outdated returns why a kept partition must not continue from memory; "" if its input and the committed offset are as
// they were. It is asked after the claim has fenced any owner in between.
func (p *partition) outdated(in input, committed int64) string {
	switch {
	case in.id != p.input:
		return "the input was made again"
	case committed != p.ledger.commits.last.Offset:
		return "another offset was committed"
	case p.intake.position.Offset < in.first || p.intake.position.Offset > in.end:
		return "the input does not hold the next record"
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
	in, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	why := p.outdated(in, committed)
	if why == "" {
		if why, err = p.session.Changed(ctx); err != nil {
			return nil, err
		}
	}
	if why != "" {
		p.log.Info("the partition changed while it was revoked: it is restored", "reason", why)
		return nil, nil
	}
	p.session.Succeed(a.Generation.ID)
	beside := p.wings
	p.own(s.ownership(a, p.session), committer)
	p.wings = beside
	p.intake.fetchedAt, p.intake.endSince = time.Now(), time.Time{}
	s.metrics.takeovers.Add(1, fromMemory)
	p.log.Info("partition goes on with what it has in memory", "from", p.intake.position.Offset, "committed", committed,
		"streams", len(p.answering.streams))
	return p, nil
}

// find reads which topic the input is now, and its bounds.
func (p *partition) find(ctx context.Context) (in input, err error) {
	if in.id, err = p.stage.client.ID(ctx, p.Topic); err != nil {
		return in, err
	}
	in.first, in.end, err = p.stage.client.Bounds(ctx, p.Topic, p.Partition, false)
	return in, err
}
