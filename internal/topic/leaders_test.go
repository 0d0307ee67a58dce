package topic_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// A topic that is made has no leaders at first: that is waited for, and is no warning.
func TestMakingATopicWarnsOfNothing(t *testing.T) {
	server := brokertest.Embedded(t)
	client, log := logging(t, server.Address)
	var asked atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		if asked.Add(1) > 6 {
			return nil, nil, false
		}
		answer := r.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, of := range r.(*kmsg.ListOffsetsRequest).Topics {
			one := kmsg.ListOffsetsResponseTopic{Topic: of.Topic}
			for _, p := range of.Partitions {
				one.Partitions = append(one.Partitions, kmsg.ListOffsetsResponseTopicPartition{Partition: p.Partition, ErrorCode: 5})
			}
			answer.Topics = append(answer.Topics, one)
		}
		return answer, nil, true
	})
	if err := client.Create(within(t, 20*time.Second), topic.Description{Name: "made", Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	if asked.Load() < 8 || strings.Contains(log.String(), "WARN") {
		t.Errorf("after %d questions: %s", asked.Load(), log.String())
	}
}
