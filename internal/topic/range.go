package topic

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
)

// Await retries do until success or a permanent error. An outage of brokers is logged once, as what.
func Await[T any](ctx context.Context, c *Client, log *slog.Logger, what string, do func() (T, error)) (T, error) {
	var result T
	err := c.Outage(log, what).Retry(ctx, nil, func() (err error) {
		result, err = do()
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
	}
	return result, err
}

// AwaitTopic waits until a topic exists and returns its number of partitions.
func (c *Client) AwaitTopic(ctx context.Context, log *slog.Logger, name string) (int, error) {
	return Await(ctx, c, log, "looking for topic "+name, func() (int, error) {
		n, err := c.Partitions(ctx, name)
		if err == nil && n == 0 {
			err = kafka.UnknownTopicOrPartition
		}
		return n, err
	})
}

// PartitionsOf lists the partitions of topics. It leaves out missing topics and empty names.
func (c *Client) PartitionsOf(ctx context.Context, names ...string) (list []TopicPartition, err error) {
	for _, name := range names {
		if name == "" {
			continue
		}
		n, err := c.Partitions(ctx, name)
		if err != nil && !IsMissing(err) {
			return nil, fmt.Errorf("topic %s: %w", name, err)
		}
		for p := range int32(n) {
			list = append(list, TopicPartition{Topic: name, Partition: p})
		}
	}
	return list, nil
}

// ReadAll reads a partition from its start to its present end, and returns that offset.
func (c *Client) ReadAll(ctx context.Context, at TopicPartition, take func(*record.Raw)) (end int64, err error) {
	first, end, err := c.Bounds(ctx, at.Topic, at.Partition, false)
	if err != nil {
		return 0, err
	}
	return end, c.ReadRange(ctx, at, first, end, func(b *Batch) error {
		for i := range b.Records {
			take(&b.Records[i])
		}
		return nil
	})
}

// ReadRange reads a partition from the offset first to end. It waits for open transactions before the end,
// because another owner's may lie before records that this one committed. Reaching the offset ends it, not a
// record: compaction leaves gaps.
func (c *Client) ReadRange(ctx context.Context, at TopicPartition, first, end int64, take func(*Batch) error) error {
	reader := c.NewReader(ReaderSettings{Topic: at.Topic, Partition: at.Partition, Offset: first, MaxBytes: 8 << 20})
	for position := first; position < end; {
		b, err := reader.Read(ctx)
		if err != nil {
			return fmt.Errorf("read %s/%d: %w", at.Topic, at.Partition, err)
		}
		position = b.Next
		for n := len(b.Records); n > 0 && b.Records[n-1].Offset >= end; n = len(b.Records) {
			b.Records = b.Records[:n-1]
		}
		if err := take(b); err != nil {
			return err
		}
	}
	return nil
}
