package producer

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

var (
	process = rand.Text()            // names this process: brokers keep each transactional id for a week
	writing = make(chan struct{}, 1) // held by the call of WriteTogether that has the id
)

// WriteTogether writes records in one transaction, and returns when all of them are durable: a reader of committed
// records gets all or none, also if this process is killed. Then the brokers abort what it has written; until they
// do, within the minute for few records, such readers wait. A single record needs no transaction. name is part of
// the transactional id, slkstream/NAME/ and letters of this process: processes do not fence each other, and calls of
// one process wait for each other. While brokers are away it begins again until ctx ends.
func WriteTogether(ctx context.Context, client *topic.Client, name string, records []record.Out) error {
	if len(records) < 2 {
		return client.Write(ctx, records)
	}
	select {
	case writing <- struct{}{}:
		defer func() { <-writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	id, _, err := takeOver(ctx, client, "slkstream/"+name+"/"+process, timeoutFor(records), nil)
	if err != nil {
		return err
	}
	t := &transactions{}
	t.begin(client, id, 0, nil)
	outage := client.Outage(nil, "writing together to "+records[0].Topic)
	again := func(err error) bool {
		return topic.Temporary(err) && !(topic.IsMissing(err) && outage.Lasting() > 30*time.Second)
	}
	return outage.Retry(ctx, again, func() error {
		err := t.write(ctx, records)
		if err != nil && again(err) && ctx.Err() == nil {
			if _, aborted := t.takeOver(ctx); aborted != nil {
				return aborted
			}
		}
		return err
	})
}

// write makes one transaction of records. If they cannot be written it aborts the transaction, unless that may be
// tried again: then the identity must be taken over.
func (t *transactions) write(ctx context.Context, records []record.Out) error {
	queue, err := t.sender.Queue(ctx, records)
	if err != nil {
		return err
	}
	if err := t.sender.Send(ctx, queue); err != nil {
		if topic.Temporary(err) && ctx.Err() == nil {
			return err
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		if open := t.end(closing, false); open != nil {
			err = fmt.Errorf("%w; brokers abort what was written within %s: %w", err, t.identity.timeout, open)
		}
		return err
	}
	return t.end(ctx, true)
}

// timeoutFor returns how long a transaction of these records may take: as long as a slow link needs for them, up to
// the longest that brokers allow by default (transaction.max.timeout.ms).
func timeoutFor(records []record.Out) time.Duration {
	const longest, bytesPerSecond = 15 * time.Minute, 500_000
	bytes := 0
	for i := range records {
		bytes += records[i].Size()
	}
	return min(transactionTimeout+time.Duration(bytes/bytesPerSecond)*time.Second, longest)
}
