package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// identity is the producer that writes the transactions of one input partition.
//
// The transactional id is the same for every owner of the partition. Taking it over raises its epoch and
// ends, by commit or abort, the transaction that the previous owner left; from then on brokers refuse that
// owner's requests. Therefore the identity is taken over before the committed offset is read, and the offset
// is read before the state: the previous owner can change neither any more.
type identity struct {
	transaction string
	producer    int64
	epoch       int16
	timeout     time.Duration // after which brokers abort an open transaction
	ending      int16         // version of the request that ends a transaction: see topic.Client.EndVersion
}

// transactionTimeout is how long a transaction may stay open before the brokers abort it. While open
// it holds back readers, so a stage that vanishes delays them for as long, unless another one takes
// over its partitions first.
const transactionTimeout = 30 * time.Second

// takeOver makes this process the only holder of the transactional id. committed says that the last transaction of the
// id was committed, as its coordinator has decided; false: it was aborted, or that is not known.
func takeOver(
	ctx context.Context, client *topic.Client, transaction string, timeout time.Duration, log *slog.Logger,
) (id identity, committed bool, err error) {
	what := "taking over the transactions of " + transaction
	var answer *kafka.InitProducerIDResponse
	var ending int16
	// While the last owner's transaction is being ended, the answer is ConcurrentTransactions, which
	// is temporary.
	err = client.Outage(log, what).Retry(ctx, nil, func() (err error) {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		last, known, err := client.CommittedLast(ctx, transaction)
		if err != nil {
			return err
		}
		if known { // else it may be an earlier try, without an answer, that has taken over
			committed = last
		}
		if ending, err = client.EndVersion(ctx); err != nil {
			return err
		}
		answer, err = client.Kafka().InitProducerID(ctx, &kafka.InitProducerIDRequest{
			Addr: client.Kafka().Addr, TransactionalID: transaction,
			TransactionTimeoutMs: int(timeout.Milliseconds()), ProducerID: -1, ProducerEpoch: -1,
		})
		if err == nil {
			err = answer.Error
		}
		return err
	})
	if errors.Is(err, kafka.InvalidTransactionTimeout) {
		err = fmt.Errorf("the brokers allow no transaction of %v: raise their transaction.max.timeout.ms, "+
			"or write fewer records together; nothing was written: %w", timeout, err)
	}
	if err != nil {
		return identity{}, false, fmt.Errorf("%s: %w", what, err)
	}
	id = identity{transaction, int64(answer.Producer.ProducerID), int16(answer.Producer.ProducerEpoch), timeout, ending}
	return id, committed, nil
}

// newIdentity returns an identity for at-least-once delivery. It fences nothing; it lets brokers recognise
// this claim's repeated batches. If the permission that older brokers require for it is missing, it returns
// topic.Anonymous and logs a warning.
func newIdentity(ctx context.Context, client *topic.Client, c Claim, log *slog.Logger) (topic.Stamp, error) {
	stamp := topic.Anonymous
	denied := func(err error) bool { return topic.CauseOf(err) == topic.Denied }
	again := func(err error) bool { return topic.Temporary(err) && !denied(err) }
	err := client.Outage(log, "getting a producer's identity").Retry(ctx, again, func() (err error) {
		stamp, err = client.Identity(ctx)
		return err
	})
	if err != nil && denied(err) {
		log.Warn("without the right to write idempotently a repeat may be written twice, and out of order",
			"topic", c.Topic, "partition", c.Partition, "error", err)
		return topic.Anonymous, nil
	}
	return stamp, err
}

// forgottenIdentity says whether the brokers no longer know the identity, or its sequence numbers.
func forgottenIdentity(err error) bool {
	return errors.Is(err, kafka.OutOfOrderSequenceNumber) || errors.Is(err, kafka.UnknownProducerId) ||
		errors.Is(err, kafka.InvalidProducerIDMapping) ||
		errors.Is(err, kafka.InvalidProducerEpoch)
}

// member asks the group whether the claim is still valid, so that a stale claim fences no other owner. The
// answer may be outdated at once, which is safe: a transaction carries the claim's generation, and the group
// refuses an old one.
func member(ctx context.Context, client *topic.Client, c Claim, log *slog.Logger) error {
	again := func(err error) bool { return topic.Temporary(err) && !refusedByGroup(err) }
	outage := client.Outage(log, "asking group "+c.Group+" for its members")
	_, coordinators := client.Coordinators()
	return c.fenced(outage.Retry(ctx, again, func() error {
		return coordinators.Beat(ctx, c.Generation, nil, callTimeout)
	}))
}

// fenced wraps ErrFenced into an error by which the group refuses the claim.
func (c *Claim) fenced(err error) error {
	if refusedByGroup(err) {
		return fmt.Errorf("%s/%d: %w: %w", c.Topic, c.Partition, ErrFenced, err)
	}
	return err
}

// refusedByGroup says whether the group has started a new generation, or is about to.
func refusedByGroup(err error) bool {
	return errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) ||
		errors.Is(err, kafka.RebalanceInProgress) ||
		errors.Is(err, kafka.FencedInstanceID)
}

// fencedByIdentity says whether another process has taken over the identity, or the brokers have aborted the
// transaction because it timed out. Brokers differ in which of the three errors they return.
func fencedByIdentity(err error) bool {
	return errors.Is(err, kafka.InvalidProducerEpoch) || errors.Is(err, kafka.InvalidTransactionState) ||
		errors.Is(err, kafka.ProducerFenced)
}

// callTimeout bounds each request about a transaction.
const callTimeout = 10 * time.Second
