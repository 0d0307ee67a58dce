package pipeline

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// waitFor retries until success or a permanent error. An outage of brokers is logged once.
func waitFor[T any](ctx context.Context, client *topic.Client, log *slog.Logger, what string, do func() (T, error)) (T, error) {
	var result T
	err := client.Outage(log, what).Retry(ctx, nil, func() (err error) {
		result, err = do()
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return result, err
}

// readTo reads a partition from its start to end, -1 for the present end, and returns that offset. It waits
// for open transactions before the end, because another owner's may lie before records that this one
// committed. Reaching the offset ends it, not a record: compaction leaves gaps.
func readTo(ctx context.Context, client *topic.Client, name string, partition int32, end int64, take func(b *topic.Batch, first, end int64) error) (int64, error) {
	first, last, err := client.Bounds(ctx, name, partition, false)
	if err != nil {
		return 0, err
	}
	if end < 0 || end > last {
		end = last
	}
	at := topic.TopicPartition{Topic: name, Partition: partition}
	return end, readBetween(ctx, client, at, first, end, take)
}

// readBetween reads a partition from the offset first to end, as readTo does.
func readBetween(ctx context.Context, client *topic.Client, at topic.TopicPartition, first, end int64,
	take func(b *topic.Batch, first, end int64) error,
) error {
	reader := client.NewReader(topic.ReaderSettings{Topic: at.Topic, Partition: at.Partition, Offset: first, MaxBytes: 8 << 20})
	for position := first; position < end; {
		b, err := reader.Read(ctx)
		if err != nil {
			return fmt.Errorf("read %s/%d: %w", at.Topic, at.Partition, err)
		}
		position = b.Next
		for n := len(b.Records); n > 0 && b.Records[n-1].Offset >= end; n = len(b.Records) {
			b.Records = b.Records[:n-1]
		}
		if err := take(b, first, end); err != nil {
			return err
		}
	}
	return nil
}

// each calls take with every record.
func each(take func(*record.Raw)) func(*topic.Batch, int64, int64) error {
	return func(b *topic.Batch, _, _ int64) error {
		for i := range b.Records {
			take(&b.Records[i])
		}
		return nil
	}
}
