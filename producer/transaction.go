package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// The steps of one transaction, in the order in which they may be asked for: the coordinator must know a
// partition before a batch for it arrives, and the group's before the offset does; it may end only when all
// of that is acknowledged. Each step may be repeated until it is answered, which is what makes lost answers
// harmless.

// addPartitions tells the coordinator what the transaction writes to.
func (e *exactlyOnce) addPartitions(ctx context.Context, partitions []topic.TopicPartition) error {
	topics := map[string][]kafka.AddPartitionToTxn{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], kafka.AddPartitionToTxn{Partition: int(p.Partition)})
	}
	k := e.client.Kafka()
	return e.until(ctx, "adding partitions to", func(ctx context.Context) error {
		answer, err := k.AddPartitionsToTxn(ctx, &kafka.AddPartitionsToTxnRequest{
			Addr: k.Addr, TransactionalID: e.identity.transaction,
			ProducerID: int(e.identity.producer), ProducerEpoch: int(e.identity.epoch), Topics: topics,
		})
		if err != nil {
			return err
		}
		return partitionError(answer.Topics)
	})
}

// notAttempted is what brokers say of the partitions that they would have added, had they not refused others.
// kafka-go has another name for it.
const notAttempted = kafka.Error(55)

var errNotAttempted = errors.New("not attempted, as another partition of the transaction is refused")

// partitionError is what a broker says of the partitions to add: what it refuses comes before what it
// therefore left undone.
func partitionError(topics map[string][]kafka.AddPartitionToTxnPartition) (err error) {
	for name, partitions := range topics {
		for _, p := range partitions {
			switch {
			case p.Error == nil:
			case !errors.Is(p.Error, notAttempted):
				return fmt.Errorf("add %s/%d: %w", name, p.Partition, p.Error)
			default:
				err = fmt.Errorf("add %s/%d: %w", name, p.Partition, errNotAttempted)
			}
		}
	}
	return err
}

// addOffsets tells the coordinator that the transaction commits an offset of the group.
func (e *exactlyOnce) addOffsets(ctx context.Context) error {
	k := e.client.Kafka()
	return e.until(ctx, "adding the group to", func(ctx context.Context) error {
		answer, err := k.AddOffsetsToTxn(ctx, &kafka.AddOffsetsToTxnRequest{
			Addr: k.Addr, TransactionalID: e.identity.transaction,
			ProducerID: int(e.identity.producer), ProducerEpoch: int(e.identity.epoch), GroupID: e.claim.Group,
		})
		if err != nil {
			return err
		}
		return answer.Error
	})
}

// putOffset hands the offset to the group, which keeps it until the transaction ends. With it go the
// generation and the member's name: this is where the group refuses an owner that is one no longer.
func (e *exactlyOnce) putOffset(ctx context.Context, offset int64) error {
	k := e.client.Kafka()
	return e.until(ctx, "putting the offset into", func(ctx context.Context) error {
		answer, err := k.TxnOffsetCommit(ctx, &kafka.TxnOffsetCommitRequest{
			Addr: k.Addr, TransactionalID: e.identity.transaction,
			GroupID: e.claim.Group, ProducerID: int(e.identity.producer), ProducerEpoch: int(e.identity.epoch),
			GenerationID: int(e.claim.Generation.ID), MemberID: e.claim.Generation.MemberID,
			Topics: map[string][]kafka.TxnOffsetCommit{e.claim.Topic: {{
				Partition: int(e.claim.Partition),
				Offset:    offset,
			}}},
		})
		if err != nil {
			return err
		}
		for _, p := range answer.Topics[e.claim.Topic] {
			if p.Error != nil {
				return fmt.Errorf("offset %d of %s/%d: %w", offset, e.claim.Topic, p.Partition, p.Error)
			}
		}
		return nil
	})
}

const ending = "ending"

// end makes everything visible, or gives it up. Once asked to commit, the coordinator cannot be asked for the
// opposite.
func (e *exactlyOnce) end(ctx context.Context, commit bool) error {
	k := e.client.Kafka()
	return e.until(ctx, ending, func(ctx context.Context) error {
		answer, err := k.EndTxn(ctx, &kafka.EndTxnRequest{
			Addr: k.Addr, TransactionalID: e.identity.transaction,
			ProducerID: int(e.identity.producer), ProducerEpoch: int(e.identity.epoch), Committed: commit,
		})
		if err != nil {
			return err
		}
		return answer.Error
	})
}

// until repeats a step while its error is one that passes: coordinators that move or load, a connection that
// broke, and the transaction before this one, which is still being written out after its end was answered.
// Only an end is waited for without limit.
func (e *exactlyOnce) until(ctx context.Context, what string, step func(context.Context) error) error {
	outage := e.client.Outage(e.log, what+" the transaction of "+e.identity.transaction)
	for {
		_, err := limited(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, step(ctx) })
		if err == nil {
			outage.Over()
			return nil
		}
		if !e.patient(err, outage.Lasting()) && (what != ending || !topic.Temporary(err)) {
			return fmt.Errorf("%s the transaction: %w", what, err)
		}
		if err := outage.Wait(ctx, err); err != nil {
			return err
		}
	}
}
