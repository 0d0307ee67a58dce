package topic

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
)

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

// Endless is the Span.To of a span that goes on with the log.
const Endless int64 = math.MaxInt64

// Span is the part of a partition from one offset up to another, which is left out.
type Span struct {
	TopicPartition
	From, To    int64
	Uncommitted bool // also records of open and aborted transactions; without, reading waits for open ones
}

// Spans returns what the partitions of topics hold now. It leaves out missing topics and empty names.
// committed: up to the last stable offsets, else up to the high watermarks.
func (c *Client) Spans(ctx context.Context, committed bool, names ...string) (list []Span, err error) {
	partitions, err := c.PartitionsOf(ctx, names...)
	for _, at := range partitions {
		span := Span{TopicPartition: at}
		if span.From, span.To, err = c.Bounds(ctx, at.Topic, at.Partition, committed); err != nil {
			return nil, err
		}
		list = append(list, span)
	}
	return list, err
}

// SpansOf is Spans for one topic, whose absence is an error.
func (c *Client) SpansOf(ctx context.Context, committed bool, name string) ([]Span, error) {
	spans, err := c.Spans(ctx, committed, name)
	if err == nil && len(spans) == 0 {
		err = fmt.Errorf("topic %s: %w", name, kafka.UnknownTopicOrPartition)
	}
	return spans, err
}

// Batches reads a span. Reaching its end ends it, not a record: compaction leaves gaps. A log that
// ends before, because brokers have lost its end, is an error. After an error it yields no more. Who keeps nothing of a batch
// calls its Spent.
func (c *Client) Batches(ctx context.Context, s Span) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		settings := ReaderSettings{
			Topic: s.Topic, Partition: s.Partition, Offset: s.From, Uncommitted: s.Uncommitted, MaxBytes: 8 << 20,
		}
		if s.To-s.From <= fewRecords {
			settings.MaxBytes = 1 << 20
		}
		if s.To != Endless {
			settings.End = s.To
		}
		reader := c.NewReader(settings)
		for reader.Position() < s.To {
			b, err := reader.Read(ctx)
			if err != nil {
				yield(nil, fmt.Errorf("read %s: %w", s.TopicPartition, err))
				return
			}
			b.Before(s.To)
			if !yield(b, nil) {
				return
			}
			if b.spent {
				reader.Recycle(b)
			}
		}
	}
}

// fewRecords are so few that a large fetch would mostly have what comes after them, as where one stream's state is read back.
const fewRecords = 8

// Records yields the records of spans, one span after the other; see Batches.
func (c *Client) Records(ctx context.Context, spans ...Span) iter.Seq2[*record.Raw, error] {
	return func(yield func(*record.Raw, error) bool) {
		for _, s := range spans {
			for b, err := range c.Batches(ctx, s) {
				if err != nil {
					yield(nil, err)
					return
				}
				for i := range b.Records {
					if !yield(&b.Records[i], nil) {
						return
					}
				}
			}
		}
	}
}

// All yields the records that a partition holds now; see Batches.
func (c *Client) All(ctx context.Context, at TopicPartition) iter.Seq2[*record.Raw, error] {
	return func(yield func(*record.Raw, error) bool) {
		first, end, err := c.Bounds(ctx, at.Topic, at.Partition, false)
		if err != nil {
			yield(nil, err)
			return
		}
		c.Records(ctx, Span{TopicPartition: at, From: first, To: end})(yield)
	}
}
