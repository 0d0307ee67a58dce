package topic_test

import (
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// A topic that was made again has another id, and asking for one that does not exist does not make it.
func TestID(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx := within(t, time.Minute)
	name := brokertest.Topic(t, client, "in", 1, nil)
	first, err := client.ID(ctx, name)
	if again, err2 := client.ID(ctx, name); err != nil || err2 != nil || first == (topic.ID{}) || first != again {
		t.Fatal(first, again, err, err2)
	}
	deleted, err := client.Kafka().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
	if err != nil || deleted.Errors[name] != nil {
		t.Fatal(err, deleted)
	}
	for {
		if _, err := client.ID(ctx, name); err != nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the topic is not deleted")
		}
	}
	if err := client.Create(ctx, topic.Description{Name: name, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if second, err := client.ID(ctx, name); err != nil || second == first || second == (topic.ID{}) {
		t.Error(second, err)
	}
}
