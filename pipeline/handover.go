package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/producer"
)

// handOverSpeed is the assumed speed of writing state in a hand-over, in bytes a second.
const handOverSpeed = 16 << 20

// gone says whether the error that ended reading means that the records are no longer in the input.
func gone(cause error) bool {
	var outOfRange *topic.OutOfRange
	return errors.Is(cause, errInputRemade) || errors.As(cause, &outOfRange) || topic.IsMissing(cause)
}

// handOver ends the ownership: it answers closed episodes and commits. Open episodes are left to the
// next owner, unless they must be answered now because DrainOpen is set or the input may no longer
// hold their items.
func (p *partition) handOver(cause error) error {
	o := &p.stage.options
	limit := o.DrainTimeout
	if errors.Is(cause, consumer.ErrRevoked) {
		limit = o.HandOver
	} else if (o.DrainOpen || gone(cause)) && p.intake.CaughtUp() {
		p.submit(p.intake.Drain())
	}
	p.progress.Doing("handing over")
	begin := time.Now()
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	half := time.NewTimer(limit / 2) // nothing else may happen meanwhile
	defer half.Stop()
	saved := false
	for {
		if p.answering.Jobs() == 0 && !p.ledger.Sending() {
			if !saved && p.intake.CaughtUp() {
				saved = true
				p.saveAll(begin, limit)
			}
			if !p.commit(true) {
				p.handed = true
				return nil
			}
		} else if time.Since(begin) < limit/2 {
			p.commit(false)
		} else {
			p.commit(true) // the next owner answers the rest
		}
		select {
		case <-deadline.C:
			return fmt.Errorf(
				"%s: handing over took longer than %v: what was not acknowledged will be answered again by the next owner",
				p.TopicPartition,
				limit,
			)
		case <-half.C:
		case jobs := <-p.answering.Done():
			p.collect(jobs)
		case err := <-p.ledger.Done():
			if err := p.acknowledge(err); err != nil {
				return err
			}
		}
	}
}

// saveAll takes snapshots of as many changed streams as there is time for. The journal covers the rest.
func (p *partition) saveAll(begin time.Time, limit time.Duration) {
	room := int(handOverSpeed * (limit - time.Since(begin)).Seconds() / 2)
	for room > 0 && time.Since(begin) < limit/2 {
		s := p.ledger.Saver.Take(time.Now())
		if s == nil {
			return
		}
		snapshot := p.answering.Snapshot(s)
		if snapshot == nil { // it is in the state topic
			continue
		}
		room -= snapshot.Bytes()
		p.ledger.Save(snapshot)
		p.stage.metrics.snapshots.Observe(float64(snapshot.Bytes()))
	}
}

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

// written says whether state, committed offset and input together hold all that the partition has in memory,
// so that a new owner would restore the same. It is valid after the last commit has ended.
func (p *partition) written() bool {
	return p.intake.CaughtUp() && p.intake.Relearning() == 0 && p.answering.Jobs() == 0 && p.ledger.Empty()
}

// handedOver keeps the partition in memory if it equals its last commit.
func (p *partition) handedOver() {
	end, known := p.ledger.StateEnd()
	if !known || !p.written() {
		return
	}
	p.State.Wrote(end)
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
	case committed != p.ledger.Last().Offset:
		return "another offset was committed"
	case p.intake.Position().Offset < in.first || p.intake.Position().Offset > in.end:
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
		if why, err = p.State.Changed(ctx); err != nil {
			return nil, err
		}
	}
	if why != "" {
		p.Log.Info("the partition changed while it was revoked: it is restored", "reason", why)
		return nil, nil
	}
	p.State.Succeed(store.OwnerOf(a))
	extensions := p.extensions
	p.own(s.ownership(a, p.State), committer)
	p.extend(extensions)
	s.metrics.takeovers.Add(1, fromMemory)
	p.Log.Info("partition goes on with what it has in memory", "from", p.intake.Position().Offset, "committed", committed,
		"streams", p.answering.Len())
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
