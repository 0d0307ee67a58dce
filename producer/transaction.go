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
		Stamp: t.stamp, Sent: t.sequences.advance, Enlist: t.addPartitions, Patient: t.patient,
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

// patientToBegin is the patience of a step by which a transaction begins. The end of the last one may be missing somewhere if
// a broker was killed meanwhile. If the coordinator does not answer or has moved, or takes long to end the last one, this
// one must not begin: if it were aborted, so would be what the last one has committed there. It is begun again, after a
// look for that (see endHanging).
func (t *transactions) patientToBegin(err error, lasting time.Duration) bool {
	const ended = time.Second // by then the last transaction has ended everywhere, unless a broker is away
	moved := errors.Is(err, kafka.NotCoordinatorForGroup) || errors.Is(err, kafka.GroupCoordinatorNotAvailable) ||
		errors.Is(err, kafka.GroupLoadInProgress)
	return t.patient(err, lasting) && hasAnswer(err) && !moved &&
		!(errors.Is(err, kafka.ConcurrentTransactions) && lasting > ended)
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
// half written, or set its offset back. Therefore the next one has another epoch (see end and renew).

// addPartitions registers the partitions that the transaction writes to with the coordinator.
func (t *transactions) addPartitions(ctx context.Context, partitions []topic.TopicPartition) error {
	topics := map[string][]kafka.AddPartitionToTxn{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], kafka.AddPartitionToTxn{Partition: int(p.Partition)})
	}
	k := t.kafka
	return t.repeat(ctx, "adding partitions to", t.patientToBegin, func(ctx context.Context) error {
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
	return e.repeat(ctx, "adding the group to", e.patientToBegin, func(ctx context.Context) error {
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
	return e.repeat(ctx, "putting the offset into", e.patient, func(ctx context.Context) error {
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

var errVersionLowered = errors.New("the brokers no longer end transactions so: their transaction.version was lowered")

// end commits or aborts the transaction. It must not be called to abort after it was called to commit. Brokers that speak
// transactions of version 2 raise the epoch with it, so that a request of this transaction that arrives late, or twice, is
// refused, whether or not it had an answer.
func (t *transactions) end(ctx context.Context, commit bool) error {
	id := &t.identity
	now := topic.Stamp{Producer: id.producer, Epoch: id.epoch}
	next, tries := now, 0
	always := func(err error, _ time.Duration) bool { return topic.Temporary(err) }
	err := t.repeat(ctx, "ending", always, func(ctx context.Context) (err error) {
		if tries++; tries > 1 && id.ending >= topic.EndRaisesEpoch {
			// Older brokers do not answer the request at all.
			if version, err := t.client.EndVersion(ctx); err == nil && version < id.ending {
				return errVersionLowered
			}
		}
		next, err = t.coordinators.End(ctx, id.transaction, now, commit, id.ending)
		return err
	})
	if err != nil || id.ending < topic.EndRaisesEpoch {
		return err
	}
	t.unanswered.Store(next == now || next.Producer < 0)
	if !t.unanswered.Load() {
		id.producer, id.epoch = next.Producer, next.Epoch
		t.sequences.nextEpoch()
	}
	return nil
}

// repeat repeats a step while its error is temporary and again says so, given how long that lasts: the coordinator moves
// or loads, a connection broke, or the previous transaction is still being written out after its end was acknowledged.
func (t *transactions) repeat(ctx context.Context, what string, again func(error, time.Duration) bool,
	step func(context.Context) error,
) error {
	outage := t.client.Outage(t.log, what+" the transaction of "+t.identity.transaction)
	patient := func(err error) bool { return again(err, outage.Lasting()) }
	err := outage.Retry(ctx, patient, func() error {
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
