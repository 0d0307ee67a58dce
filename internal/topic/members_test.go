package topic_test

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// An answer that says nothing of what was asked is an error: a group whose coordinator is away is not a group
// without members, and an offset that is not in the answer is not one that was never committed.
func TestAnswersThatSayNothing(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	ctx := within(t, 30*time.Second)
	if group, err := client.Group(ctx, "nobody"); err != nil || len(group.Members) > 0 {
		t.Errorf("a group that nobody knows: %v, %v", group, err)
	}
	if offset, err := client.Committed(ctx, "nobody", "in", 0); err != nil || offset != -1 {
		t.Errorf("a group that nobody knows: %d, %v", offset, err)
	}
	server.Cluster.ControlKey(int16(kmsg.DescribeGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
		group := kmsg.NewDescribeGroupsResponseGroup()
		group.Group, group.ErrorCode = "g", kerr.CoordinatorNotAvailable.Code
		answer.Groups = append(answer.Groups, group)
		return answer, nil, true
	})
	if _, err := client.Group(ctx, "g"); err == nil {
		t.Error("a group without a coordinator has no members, and no error")
	}
	server.Cluster.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		return r.ResponseKind(), nil, true
	})
	if offset, err := client.Committed(ctx, "g", "in", 0); err == nil {
		t.Errorf("no answer about the partition: offset %d, and no error", offset)
	}
	of := []topic.TopicPartition{{Topic: "in"}}
	if highest, err := client.Incarnation(ctx, "g", of); err == nil {
		t.Errorf("no answer about the partition: incarnation %d, and no error", highest)
	}
	refusing := brokertest.Embedded(t)
	client = brokertest.Connect(t, []string{refusing.Address})
	refusing.Cluster.ControlKey(int16(kmsg.OffsetFetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		refusing.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.OffsetFetchResponse)
		answer.Topics = []kmsg.OffsetFetchResponseTopic{{
			Topic: "in", Partitions: []kmsg.OffsetFetchResponseTopicPartition{{ErrorCode: kerr.UnstableOffsetCommit.Code}},
		}}
		return answer, nil, true
	})
	if highest, err := client.Incarnation(ctx, "g", of); err == nil {
		t.Errorf("a refused partition: incarnation %d, and no error", highest)
	}
}
