package producer

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// The steps of one transaction, in the required order: the coordinator must know a partition before a batch
// for it arrives, and the group's partition before the offset does. The transaction may end only when all of
// that is acknowledged. A step is repeated until it is answered, which tells its outcome. But the request that was
// given up may still be on its way: one that arrives after the end would belong to the next transaction, end it
// half written, or set its offset back. Therefore the next one has another epoch (see renew).

// addPartitions registers the partitions that the transaction writes to with the coordinator.
func (e *exactlyOnce) addPartitions(ctx context.Context, partitions []topic.TopicPartition) error {
	topics := map[string][]kafka.AddPartitionToTxn{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], kafka.AddPartitionToTxn{Partition: int(p.Partition)})
	}
	k := e.kafka
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

// notAttempted is the code for partitions that the broker would have added if it had not refused others.
// kafka-go has another name for it.
const notAttempted = kafka.Error(55)

var errNotAttempted = errors.New("not attempted, as another partition of the transaction is refused")

// partitionError returns an error of the partitions to add. A refusal is preferred to notAttempted, which
// only follows from one.
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

// addOffsets registers the group with the coordinator, as the transaction commits one of its offsets.
func (e *exactlyOnce) addOffsets(ctx context.Context) error {
	k := e.kafka
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

// putOffset sends the offset to the group, which keeps it until the transaction ends. The request carries the
// generation and the member's id, by which the group refuses an owner that is no longer a member.
func (e *exactlyOnce) putOffset(ctx context.Context, offset int64) error {
	k := e.kafka
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
		partitions := answer.Topics[e.claim.Topic]
		if len(partitions) != 1 {
			return fmt.Errorf("offset %d of %s/%d: the answer is about %d partitions", offset, e.claim.Topic,
				e.claim.Partition, len(partitions))
		}
		if err := partitions[0].Error; err != nil {
			return fmt.Errorf("offset %d of %s/%d: %w", offset, e.claim.Topic, e.claim.Partition, err)
		}
		return nil
	})
}

const ending = "ending"

// end commits or aborts the transaction. It must not be called to abort after it was called to commit.
func (e *exactlyOnce) end(ctx context.Context, commit bool) error {
	k := e.kafka
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

// until repeats a step while its error is temporary: the coordinator moves or loads, a connection broke, or
// the previous transaction is still being written out after its end was acknowledged. Only the end of a
// transaction is retried without limit.
func (e *exactlyOnce) until(ctx context.Context, what string, step func(context.Context) error) error {
	outage := e.client.Outage(e.log, what+" the transaction of "+e.identity.transaction)
	again := func(err error) bool {
		return e.patient(err, outage.Lasting()) || what == ending && topic.Temporary(err)
	}
	err := outage.Retry(ctx, again, func() error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := step(ctx)
		if err != nil {
			e.coordinators.Forget()
			if !hasAnswer(err) {
				e.unanswered.Store(true)
			}
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s the transaction: %w", what, err)
	}
	return err
}

// hasAnswer says whether an error is a broker's answer to a request, by which nothing of it is on its way any more.
func hasAnswer(err error) bool {
	var code kafka.Error
	return errors.As(err, &code) && code != kafka.Unknown
}
