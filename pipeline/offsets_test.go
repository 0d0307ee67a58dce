package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// Offsets that others change while no process is there are not obeyed: one beyond what is answered leaves nothing
// without an answer, and one before it, or a group that is deleted, nothing with a second one.
func TestOffsetsThatOthersChange(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	for name, change := range map[string]func(ctx context.Context, o *Options) error{
		"forward": func(ctx context.Context, o *Options) error { return commitOffset(ctx, client, o, 408) },
		"back":    func(ctx context.Context, o *Options) error { return commitOffset(ctx, client, o, 0) },
		"deleted": func(ctx context.Context, o *Options) error {
			request := kmsg.NewPtrDeleteGroupsRequest()
			request.Groups = []string{o.Group}
			answer, err := client.Ask(ctx, request, 0, o.Group)
			if err != nil {
				return err
			}
			return kerr.ErrorForCode(answer.(*kmsg.DeleteGroupsResponse).Groups[0].ErrorCode)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFeed(1)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			write(t, client, append(f.records(in, 4, 200), markers(in, 4)...))
			stop := start(t, client, o)
			collect(t, client, o.Out, count(200))
			stop()
			write(t, client, append(f.records(in, 4, 200), markers(in, 4)...))
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			eventually(t, "the group takes it", func() bool { return change(ctx, &o) == nil }) // a member may be leaving
			start(t, client, o)
			onceEach(t, collect(t, client, o.Out, count(400)))
		})
	}
}

// commitOffset commits an offset as a program that is no member of the group.
func commitOffset(ctx context.Context, client *topic.Client, o *Options, offset int64) error {
	request, theirs := kmsg.NewPtrOffsetCommitRequest(), kmsg.NewOffsetCommitRequestTopic()
	request.Group, request.Generation = o.Group, -1
	one := kmsg.NewOffsetCommitRequestTopicPartition()
	one.Offset = offset
	theirs.Topic, theirs.Partitions = o.In[0], append(theirs.Partitions, one)
	request.Topics = append(request.Topics, theirs)
	answer, err := client.Ask(ctx, request, 2, o.Group)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode)
}
