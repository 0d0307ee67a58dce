package producer

import (
	"context"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// endHanging ends transactions of this identity that hang: a broker that is killed while a transaction ends can, once it
// is back, report it complete to the coordinator although partitions lack the end. There the transaction holds back
// readers of committed records until a later one of the same producer ends, by the end of which it is committed or
// aborted. This makes such a later one, with nothing in it, in all partitions in which a transaction is open, and in the
// group. Where it is another's it changes nothing. It is called after the identity was taken over, which ends every
// transaction that the coordinator takes for open.
//
// committed is what the coordinator has decided about the last transaction: some partitions have that end, so the others
// must get it too, or results would be there without their state, or state without its results. If it is not known the
// transaction is aborted: what is answered again is there twice, while state ahead of the results would leave items
// without an answer.
func (e *exactlyOnce) endHanging(ctx context.Context, committed bool) error {
	outage := e.client.Outage(e.log, "looking for what the transactions of "+e.identity.transaction+" have left open")
	return outage.Retry(ctx, nil, func() error {
		open, err := e.stillOpen(ctx)
		if err != nil {
			return err
		}
		offset, err := e.client.OffsetIsOpen(
			ctx,
			e.claim.Group,
			topic.TopicPartition{Topic: e.claim.Topic, Partition: e.claim.Partition},
		)
		if err != nil || len(open) == 0 && !offset {
			return err
		}
		e.log.Debug("transactions are open where an earlier owner wrote: those that are its own are ended",
			"transaction", e.identity.transaction, "partitions", open, "offset", offset, "commit", committed)
		// What the coordinator has decided is not known to a later owner. So a claim that ends meanwhile finishes this.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if len(open) > 0 {
			if err := e.addPartitions(ctx, open); err != nil {
				return err
			}
		}
		if err := e.addOffsets(ctx); err != nil {
			return err
		}
		if err := e.end(ctx, committed); err != nil {
			return err
		}
		_, err = e.takeOver(ctx) // which waits until the partitions and the group have the end
		return err
	})
}

// stillOpen lists the partitions of the claim in which a transaction, of whoever, was open at some time during the call. A
// partition without a leader is an error: a transaction may hang there, most of all as its broker was killed.
func (e *exactlyOnce) stillOpen(ctx context.Context) (open []topic.TopicPartition, err error) {
	all, err := e.client.PartitionsOf(ctx, e.claim.Out...)
	if err != nil {
		return nil, err
	}
	if e.claim.State.Topic != "" {
		all = append(all, e.claim.State)
	}
	if len(all) == 0 {
		return nil, nil
	}
	ends, err := e.client.Ends(ctx, all, false)
	if err != nil {
		return nil, err
	}
	stable, err := e.client.Ends(ctx, all, true)
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		end, known := ends[at]
		last, stays := stable[at]
		if !known || !stays {
			return nil, &topic.Refused{What: "find an offset in", Topic: at.Topic, Partition: at.Partition, Err: kafka.LeaderNotAvailable}
		}
		if last < end {
			open = append(open, at)
		}
	}
	return open, nil
}
