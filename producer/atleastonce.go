package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// AtLeastOnce promises that every answer is in the output, and that repeats have the same id. A commit is
// written in the order records, state, offset, each acknowledged by all in-sync replicas before the next
// begins, so that whatever a failure leaves unwritten is answered again. State and offset are written while
// the records of the next commits are, which do not wait for them; at most one such write is in flight.
type AtLeastOnce struct {
	Client *topic.Client
	Log    *slog.Logger
	// Compression returns a topic's compression; nil: none.
	Compression func(topic string) topic.Compression

	mutex      sync.Mutex
	generation *topic.Generation // of the last claim
	offsets    *offsets          // shared by the claims of that generation
}

// Claim implements Delivery. Only the group fences: it refuses the offsets of an earlier owner by their
// generation. An earlier owner's state has its own keys.
func (d *AtLeastOnce) Claim(ctx context.Context, c Claim) (Committer, int64, error) {
	stamp, err := newIdentity(ctx, d.Client, c, d.Log)
	if err != nil {
		return nil, 0, err
	}
	offset, err := d.Client.Committed(ctx, c.Group, c.Topic, c.Partition)
	if err != nil {
		return nil, 0, err
	}
	a := &atLeastOnce{
		AtLeastOnce: d, claim: c, offsets: d.offsetsOf(c.Generation),
		written: sequences{}, failed: make(chan error, 1),
	}
	a.records, a.state = a.sender(stamp, sequences{}), a.sender(stamp, a.written)
	a.state.Patient = func(err error, _ time.Duration) bool {
		if topic.CauseOf(err) == topic.Rejected { // the next claim writes smaller records, unless none fit
			const least = 8 << 10
			return d.Client.RecordLimit(ctx, a.tp.Topic) < least
		}
		return !forgottenIdentity(err)
	}
	return a, offset, nil
}

// offsetsOf returns the offsets that all claims of a generation share.
func (d *AtLeastOnce) offsetsOf(generation *topic.Generation) *offsets {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.offsets == nil || d.generation != generation {
		_, coordinators := d.Client.Coordinators()
		d.generation, d.offsets = generation, &offsets{commit: func(offsets map[string]map[int]int64) error {
			return coordinators.CommitOffsets(context.Background(), generation, offsets)
		}}
	}
	return d.offsets
}

type atLeastOnce struct {
	*AtLeastOnce
	claim   Claim
	offsets *offsets
	// The records of a commit are written while the state of the previous one is, to other topics.
	records, state topic.Sender
	written        sequences            // of state
	tp             topic.TopicPartition // of state
	rest           chan error           // result of writing the last commit's state and offset; nil: none
	failed         chan error
}

// sender returns a sender with an identity, so that a batch that is sent twice is written once, and
// one that arrives late, after its repeat and that one's successors, is not written: it would put
// older state above newer.
func (a *atLeastOnce) sender(stamp topic.Stamp, s sequences) topic.Sender {
	return topic.Sender{
		Client: a.Client, Log: a.Log, Origin: a.claim.Partition, Compression: a.Compression,
		Stamp: func(tp topic.TopicPartition) topic.Stamp {
			if stamp != topic.Anonymous {
				stamp.Sequence = s[tp].next
			}
			return stamp
		},
		Sent: s.advance,
		// A topic that refuses records now may accept them later, and unwritten records must not be skipped. But an
		// identity that the brokers have forgotten stays unknown: the next claim gets another.
		Patient: func(err error, _ time.Duration) bool { return !forgottenIdentity(err) },
	}
}

func (a *atLeastOnce) Commit(ctx context.Context, c *Commit) error {
	if err := a.records.Write(ctx, c.Records); err != nil {
		return err
	}
	if len(c.State) == 0 && c.Offset < 0 {
		return nil
	}
	if err := a.finish(ctx); err != nil {
		return err
	}
	if len(c.State) > 0 {
		a.tp = topic.TopicPartition{Topic: c.State[0].Topic, Partition: c.State[0].Partition}
	}
	rest := make(chan error, 1)
	a.rest = rest
	go func() {
		err := a.state.Write(ctx, c.State)
		if err == nil && c.Stated != nil {
			c.Stated(a.written.end(a.tp))
		}
		if err == nil && c.Offset >= 0 {
			err = a.offset(ctx, c.Offset)
		}
		rest <- err
		if err != nil {
			select {
			case a.failed <- err:
			default: // one failure is enough
			}
		}
	}()
	return nil
}

// Failed implements Committer.
func (a *atLeastOnce) Failed() <-chan error { return a.failed }

// Close waits for the last state and offset. It is not an error if their context has ended.
func (a *atLeastOnce) Close(ctx context.Context) error {
	if err := a.finish(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// StateEnd implements Committer.
func (a *atLeastOnce) StateEnd() (int64, bool) {
	end, known := a.written.end(a.tp)
	return end, known && a.rest == nil
}

// finish waits until the last commit's state and offset are written.
func (a *atLeastOnce) finish(ctx context.Context) error {
	if a.rest == nil {
		return nil
	}
	select {
	case err := <-a.rest:
		a.rest = nil
		return err
	case <-ctx.Done():
		return fmt.Errorf("state and offset of %s/%d: %w", a.claim.Topic, a.claim.Partition, ctx.Err())
	}
}

// offset commits within the generation, so that the group refuses it once another member owns the partition.
func (a *atLeastOnce) offset(ctx context.Context, offset int64) error {
	outage := a.Client.Outage(a.Log, fmt.Sprintf("committing the offset of %s/%d", a.claim.Topic,
		a.claim.Partition))
	again := func(err error) bool { return ctx.Err() == nil && !refusedByGroup(err) }
	err := outage.Retry(ctx, again, func() error {
		return a.offsets.put(ctx, topic.TopicPartition{Topic: a.claim.Topic, Partition: a.claim.Partition}, offset)
	})
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return a.claim.fenced(err)
}
