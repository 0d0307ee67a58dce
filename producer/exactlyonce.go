package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// ExactlyOnce promises that a reader of committed records sees every answer once. A commit is one Kafka
// transaction: records, state and offset become visible together or not at all. A process that no longer owns
// the partition cannot commit:
//
//   - the brokers refuse an old epoch of the partition's transactional id (see identity),
//   - the group refuses an offset of an old generation, and every transaction with records carries an offset,
//   - a batch that is sent twice is written once (see sequences),
//   - a request that was sent again because its answer was lost, and arrives late, has an old epoch.
//
// An open transaction holds back the readers of every partition it has written to, including partitions that
// other inputs share. One that makes no progress, for example because the output is unavailable, is therefore
// aborted within seconds. It is retried under a new epoch once all partitions that it writes to answer.
//
// After any other error the outcome of the transaction is unknown. The next claim ends it, by commit or
// abort, before it reads the committed offset.
type ExactlyOnce struct {
	Client *topic.Client
	Prefix string // of transactional ids, default "slkstream"; group/topic/partition follows
	Log    *slog.Logger
	// Compression returns a topic's compression; nil: none.
	Compression func(topic string) topic.Compression
}

// Claim implements Delivery.
func (d *ExactlyOnce) Claim(ctx context.Context, c Claim) (Committer, int64, error) {
	if err := member(ctx, d.Client, c, d.Log); err != nil {
		return nil, 0, err
	}
	prefix := d.Prefix
	if prefix == "" {
		prefix = "slkstream"
	}
	transaction := fmt.Sprintf("%s/%s/%s/%d", prefix, c.Group, c.Topic, c.Partition)
	id, committed, err := takeOver(ctx, d.Client, transaction, transactionTimeout, d.Log)
	if err != nil {
		return nil, 0, err
	}
	e := &exactlyOnce{claim: c}
	e.begin(d.Client, id, c.Partition, d.Log)
	e.sender.Compression = d.Compression
	if err := e.endHanging(ctx, committed); err != nil {
		return nil, 0, err
	}
	offset, err := d.Client.Committed(ctx, c.Group, c.Topic, c.Partition)
	if err != nil {
		return nil, 0, err
	}
	return e, offset, nil
}

type exactlyOnce struct {
	transactions
	claim  Claim
	state  topic.TopicPartition // where state is written
	open   bool                 // a transaction may be open
	broken error                // the error that every further Commit returns; nil: none
}

var errNoOffset = errors.New("records without an offset: the group could not refuse them")

// Commit implements Committer.
func (e *exactlyOnce) Commit(ctx context.Context, c *Commit) error {
	if e.broken != nil {
		return e.broken
	}
	if len(c.Records)+len(c.State) == 0 && c.Offset < 0 {
		return nil
	}
	err := e.commit(ctx, c)
	for err != nil && topic.Temporary(err) && ctx.Err() == nil {
		if err = e.beginAgain(ctx, c, err); err == nil {
			err = e.commit(ctx, c)
		}
	}
	if err == nil {
		return nil
	}
	if fencedByIdentity(err) {
		// Either there is another owner or the transaction timed out: only the group knows.
		if asked := member(ctx, e.client, e.claim, e.log); errors.Is(asked, ErrFenced) {
			err = errors.Join(asked, err)
		}
	} else if refusedByGroup(err) {
		err = fmt.Errorf("%w: %w", ErrFenced, err)
	}
	e.broken = fmt.Errorf("transaction of %s: %w", e.identity.transaction, err)
	return e.broken
}

func (e *exactlyOnce) commit(ctx context.Context, c *Commit) error {
	if c.Offset < 0 {
		return errNoOffset
	}
	if e.unanswered.Load() {
		if err := e.renew(ctx); err != nil {
			return err
		}
	}
	e.open = true
	if len(c.State) > 0 {
		e.state = topic.TopicPartition{Topic: c.State[0].Topic, Partition: c.State[0].Partition}
	}
	queue, err := e.sender.Queue(ctx, append(c.Records[:len(c.Records):len(c.Records)], c.State...))
	if err != nil {
		return err
	}
	// The group need not wait for the records to be registered. Its offset does: whatever ends the transaction
	// before, no offset is committed for records that are not.
	registered := make(chan error, 1)
	registering, stop := context.WithCancel(ctx)
	defer stop()
	go func() { registered <- e.addOffsets(registering) }()
	if err := e.sender.Send(ctx, queue); err != nil {
		stop()
		if refused := <-registered; refused != nil && !errors.Is(refused, context.Canceled) {
			return fmt.Errorf("%w, and %w", refused, err)
		}
		return err
	}
	if err := <-registered; err != nil {
		return err
	}
	if err := e.putOffset(ctx, c.Offset); err != nil {
		return err
	}
	if err := e.end(ctx, true); err != nil {
		return err
	}
	e.open = false
	if c.Stated != nil {
		c.Stated(e.sequences.end(e.state))
	}
	return nil
}

// beginAgain aborts the transaction by taking over the identity again, and returns once every partition that
// the commit is known to write to answers.
func (e *exactlyOnce) beginAgain(ctx context.Context, c *Commit, why error) error {
	e.log.Debug("a transaction that does not get on is given up and begun again", "transaction",
		e.identity.transaction, "error", why)
	if err := e.renew(ctx); err != nil {
		return err
	}
	for _, records := range [][]record.Out{c.Records, c.State} {
		if err := e.answering(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// renew takes over the identity again, if the group says that the claim is still valid.
func (e *exactlyOnce) renew(ctx context.Context) error {
	if err := member(ctx, e.client, e.claim, e.log); err != nil {
		return err
	}
	committed, err := e.takeOver(ctx)
	if err != nil {
		return err
	}
	e.open = false
	return e.endHanging(ctx, committed)
}

// answering waits until the leaders of the records' partitions answer.
func (e *exactlyOnce) answering(ctx context.Context, records []record.Out) error {
	if len(records) == 0 {
		return nil
	}
	return e.client.Outage(e.log, "writing to "+records[0].Topic).Retry(ctx, nil, func() error {
		queue, err := e.client.Spread(ctx, records, e.claim.Partition)
		for tp := range queue {
			if err == nil {
				_, err = e.client.Offset(ctx, tp.Topic, tp.Partition, topic.Latest, false)
			}
		}
		return err
	})
}

// Close aborts the transaction that an error has left open, so that readers need not wait for its timeout. A
// failure is only logged, because the next owner does the same.
func (e *exactlyOnce) Close(ctx context.Context) error {
	if !e.open || errors.Is(e.broken, ErrFenced) {
		return nil
	}
	e.open = false
	if err := e.end(ctx, false); err != nil {
		e.log.Debug("an open transaction is left to its next owner", "transaction", e.identity.transaction, "error",
			err)
	}
	return nil
}

// Failed implements Committer. It is nil, because Commit leaves nothing to be written.
func (e *exactlyOnce) Failed() <-chan error { return nil }

// StateEnd implements Committer.
func (e *exactlyOnce) StateEnd() (int64, bool) {
	end, known := e.sequences.end(e.state)
	return end, known && e.broken == nil && !e.open
}
