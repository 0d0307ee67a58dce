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

// identity is who writes the transactions of one input partition.
//
// The transactional id is the same for every owner that the partition ever has. Taking it over raises its
// epoch and ends, one way or the other, the transaction that the last owner left; from then on brokers refuse
// whatever that owner sends. That is why the identity comes before the committed offset is asked for, and the
// offset before the state is read: what one sees afterwards nobody can change any more.
type identity struct {
	transaction string
	producer    int64
	epoch       int16
}

// transactionTimeout is how long a transaction may stay open before the brokers give it up. While it is open
// nobody reads past it, so that a stage that vanished holds its readers up for as long, unless another takes
// its partitions first.
const transactionTimeout = 30 * time.Second

// takeOver makes the identity this process's.
func takeOver(ctx context.Context, client *topic.Client, transaction string,
	log *slog.Logger,
) (identity, error) {
	outage := client.Outage(log, "taking over the transactions of "+transaction)
	for {
		answer, err := limited(ctx, func(ctx context.Context) (*kafka.InitProducerIDResponse, error) {
			return client.Kafka().InitProducerID(ctx, &kafka.InitProducerIDRequest{
				Addr: client.Kafka().Addr, TransactionalID: transaction,
				TransactionTimeoutMs: int(transactionTimeout.Milliseconds()), ProducerID: -1, ProducerEpoch: -1,
			})
		})
		if err == nil {
			err = answer.Error
		}
		if err == nil {
			outage.Over()
			return identity{transaction, int64(answer.Producer.ProducerID), int16(answer.Producer.ProducerEpoch)}, nil
		}
		// A transaction of the last owner that is being ended answers with ConcurrentTransactions, which is
		// temporary.
		if !topic.Temporary(err) {
			return identity{}, fmt.Errorf("take over the transactions of %s: %w", transaction, err)
		}
		if err := outage.Wait(ctx, err); err != nil {
			return identity{}, err
		}
	}
}

// newIdentity is one for at least once: it fences nobody, and only tells this claim's batches from their
// repeats. Where the right to have one is missing, which older brokers ask for, it is topic.Anonymous, and
// the log says so.
func newIdentity(ctx context.Context, client *topic.Client, c Claim, log *slog.Logger) (topic.Stamp, error) {
	outage := client.Outage(log, "getting a producer's identity")
	for {
		stamp, err := client.Identity(ctx)
		switch {
		case err == nil:
			outage.Over()
			return stamp, nil
		case topic.CauseOf(err) == topic.Denied:
			log.Warn("without the right to write idempotently a repeat may be written twice, and out of order",
				"topic", c.Topic, "partition", c.Partition, "error", err)
			return topic.Anonymous, nil
		case !topic.Temporary(err):
			return topic.Anonymous, err
		}
		if err := outage.Wait(ctx, err); err != nil {
			return topic.Anonymous, err
		}
	}
}

// forgottenIdentity says whether the brokers no longer know the identity, or what it has written.
func forgottenIdentity(err error) bool {
	return errors.Is(err, kafka.OutOfOrderSequenceNumber) || errors.Is(err, kafka.UnknownProducerId) ||
		errors.Is(err, kafka.InvalidProducerIDMapping) ||
		errors.Is(err, kafka.InvalidProducerEpoch)
}

// member asks the group whether the claim still stands, so that one that does not fences nobody. It is no
// guarantee, and need not be one: a transaction carries the claim's generation, and the group refuses an old
// one.
func member(ctx context.Context, client *topic.Client, c Claim, log *slog.Logger) error {
	outage := client.Outage(log, "asking group "+c.Group+" for its members")
	for {
		err := client.Member(ctx, c.Group, c.Generation.ID, c.Generation.MemberID)
		switch {
		case err == nil:
			outage.Over()
			return nil
		case refusedByGroup(err):
			return fmt.Errorf("%s/%d: %w: %w", c.Topic, c.Partition, ErrFenced, err)
		case !topic.Temporary(err):
			return err
		}
		if err := outage.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// refusedByGroup says whether the group has given the partition to another generation, or is about to.
func refusedByGroup(err error) bool {
	return errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) ||
		errors.Is(err, kafka.RebalanceInProgress) ||
		errors.Is(err, kafka.FencedInstanceID)
}

// fencedByIdentity says whether another process has taken the identity over, or the brokers have given the
// transaction up because it took too long. Brokers differ in which of the three they say.
func fencedByIdentity(err error) bool {
	return errors.Is(err, kafka.InvalidProducerEpoch) || errors.Is(err, kafka.InvalidTransactionState) ||
		errors.Is(err, kafka.ProducerFenced)
}

// callTimeout bounds one request about a transaction.
const callTimeout = 10 * time.Second

func limited[T any](ctx context.Context, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return do(ctx)
}
