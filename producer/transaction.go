package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// transactions are those of one producer, one after the other.
type transactions struct {
	identity     identity
	client       *topic.Client
	kafka        *kafka.Client       // for the steps of a transaction
	coordinators *topic.Coordinators // its transport
	log          *slog.Logger
	sender       topic.Sender
	sequences    sequences
	unanswered   atomic.Bool // a request of this epoch has had no answer, and may arrive late
}

// begin prepares for the transactions of an identity. Records without a key go to the partition origin.
func (t *transactions) begin(client *topic.Client, id identity, origin int32, log *slog.Logger) {
	t.identity, t.client, t.log, t.sequences = id, client, log, sequences{}
	t.kafka, t.coordinators = client.Coordinators()
	t.sender = topic.Sender{
		Client: client, Log: log, Transaction: id.transaction, Origin: origin,
		Stamp: t.stamp, Sent: t.sequences.moved, Enlist: t.addPartitions, Patient: t.patient,
	}
}

// takeOver takes over the identity again: it aborts what is open of the transaction, and brokers refuse requests of
// the old epoch that arrive late. committed is that of the function takeOver.
func (t *transactions) takeOver(ctx context.Context) (committed bool, err error) {
	id, committed, err := takeOver(ctx, t.client, t.identity.transaction, t.identity.timeout, t.log)
	if err != nil {
		return false, err
	}
	t.identity = id
	t.unanswered.Store(false)
	t.sequences.restart()
	return committed, nil
}

// heldAtMost is how long a transaction without progress may hold back other readers.
const heldAtMost = 3 * time.Second

func (t *transactions) patient(err error, lasting time.Duration) bool {
	return topic.Temporary(err) && lasting < heldAtMost
}

func (t *transactions) stamp(tp topic.TopicPartition) topic.Stamp {
	return topic.Stamp{
		Producer: t.identity.producer, Epoch: t.identity.epoch, Sequence: t.sequences[tp].next,
		Transactional: true,
	}
}

// The steps of one transaction, in the required order: the coordinator must know a partition before a batch
// for it arrives, and the group's partition before the offset does. The transaction may end only when all of
// that is acknowledged. A step is repeated until it is answered, which tells its outcome. But the request that was
// given up may still be on its way: one that arrives after the end would belong to the next transaction, end it
// half written, or set its offset back. Therefore the next one has another epoch (see renew).

// addPartitions registers the partitions that the transaction writes to with the coordinator.
func (t *transactions) addPartitions(ctx context.Context, partitions []topic.TopicPartition) error {
	topics := map[string][]kafka.AddPartitionToTxn{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], kafka.AddPartitionToTxn{Partition: int(p.Partition)})
	}
	k := t.kafka
	return t.until(ctx, "adding partitions to", func(ctx context.Context) error {
		answer, err := k.AddPartitionsToTxn(ctx, &kafka.AddPartitionsToTxnRequest{
			Addr: k.Addr, TransactionalID: t.identity.transaction,
			ProducerID: int(t.identity.producer), ProducerEpoch: int(t.identity.epoch), Topics: topics,
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
func (t *transactions) end(ctx context.Context, commit bool) error {
	k := t.kafka
	return t.until(ctx, ending, func(ctx context.Context) error {
		answer, err := k.EndTxn(ctx, &kafka.EndTxnRequest{
			Addr: k.Addr, TransactionalID: t.identity.transaction,
			ProducerID: int(t.identity.producer), ProducerEpoch: int(t.identity.epoch), Committed: commit,
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
func (t *transactions) until(ctx context.Context, what string, step func(context.Context) error) error {
	outage := t.client.Outage(t.log, what+" the transaction of "+t.identity.transaction)
	again := func(err error) bool {
		return t.patient(err, outage.Lasting()) || what == ending && topic.Temporary(err)
	}
	err := outage.Retry(ctx, again, func() error {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		err := step(ctx)
		if err != nil {
			t.coordinators.Forget()
			if !hasAnswer(err) {
				t.unanswered.Store(true)
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
