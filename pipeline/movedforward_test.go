package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// An offset that others have committed beyond what is answered, as a consumer with the stage's group does, leaves
// nothing without an answer.
func TestAnOffsetMovedForwardIsNotObeyed(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(1)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	write(t, client, append(f.records(in, 4, 200), markers(in, 4)...))
	stop := start(t, client, o)
	collect(t, client, o.Out, count(200))
	stop()
	write(t, client, append(f.records(in, 4, 200), markers(in, 4)...))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, theirs := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewOffsetCommitRequestTopic()
	request.Group, request.Generation = o.Group, -1
	offset := kmsg.NewOffsetCommitRequestTopicPartition()
	offset.Offset = 408
	theirs.Topic, theirs.Partitions = in, append(theirs.Partitions, offset)
	request.Topics = append(request.Topics, theirs)
	if _, err := client.Ask(ctx, request, 2, o.Group); err != nil {
		t.Fatal(err)
	}
	if committed, err := client.Committed(ctx, o.Group, in, 0); err != nil || committed != offset.Offset {
		t.Fatalf("offset %d is committed: %v", committed, err)
	}
	start(t, client, o)
	collect(t, client, o.Out, count(400))
}
