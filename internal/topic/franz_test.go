package topic_test

import (
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
)

// franz returns a franz-go client, to test against another implementation.
func franz(t testing.TB, client *topic.Client, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(client.Brokers()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerLinger(0),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func deleteRecords(ctx context.Context, c *kgo.Client, name string, offset int64) error {
	part := kmsg.NewDeleteRecordsRequestTopicPartition()
	part.Offset = offset
	one := kmsg.NewDeleteRecordsRequestTopic()
	one.Topic, one.Partitions = name, append(one.Partitions, part)
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.TimeoutMillis, request.Topics = 5000, append(request.Topics, one)
	answer, err := request.RequestWith(ctx, c)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}
