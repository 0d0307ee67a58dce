package topic_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// A reader beyond its quota is answered with nothing but a time to wait. It waits, says so, and goes on.
func TestAThrottledReaderWaits(t *testing.T) {
	server := brokertest.Embedded(t)
	client, log := logging(t, server.Address)
	name := brokertest.Topic(t, client, "in", 1, nil)
	if err := client.Write(within(t, 20*time.Second), []record.Out{{Topic: name, Value: []byte("v")}}); err != nil {
		t.Fatal(err)
	}
	at := topic.TopicPartition{Topic: name}
	var asked atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.FetchResponse)
		answer.ThrottleMillis = 20
		switch asked.Add(1) {
		case 1, 2:
			return answer, nil, true
		case 3:
			if why := client.Failing(at).Err; why == nil || !strings.Contains(why.Error(), "quota") {
				t.Errorf("a throttled reader reports %v", why)
			}
		}
		return nil, nil, false
	})
	if got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: name}), 1); len(got) != 1 {
		t.Errorf("%d records", len(got))
	}
	if why := client.Failing(at).Err; why != nil {
		t.Errorf("it still reports %v", why)
	}
	if n := strings.Count(log.String(), "quota"); n != 1 {
		t.Errorf("throttling is logged %d times", n)
	}
}

// A writer beyond its quota waits for as long as the brokers ask before it sends more, says so, and goes on.
func TestAThrottledWriterWaits(t *testing.T) {
	server := brokertest.Embedded(t)
	client, log := logging(t, server.Address)
	name := brokertest.Topic(t, client, "out", 1, nil)
	const wait = 300 * time.Millisecond
	var throttled, between atomic.Int64 // when the broker asked for the wait, and how long it then was
	server.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if at := throttled.Load(); at != 0 {
			between.Store(time.Now().UnixNano() - at)
			if why := client.Failing(topic.TopicPartition{}, name).Err; why == nil || !strings.Contains(why.Error(), "quota") {
				t.Errorf("a throttled writer reports %v", why)
			}
			return nil, nil, false
		}
		server.Cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		answer := request.ResponseKind().(*kmsg.ProduceResponse)
		answer.ThrottleMillis = int32(wait.Milliseconds())
		for _, of := range request.Topics {
			one := kmsg.NewProduceResponseTopic()
			one.Topic, one.TopicID = of.Topic, of.TopicID
			refused := kmsg.NewProduceResponseTopicPartition()
			refused.Partition, refused.BaseOffset, refused.ErrorCode = of.Partitions[0].Partition, -1, kerr.NotEnoughReplicas.Code
			one.Partitions = append(one.Partitions, refused)
			answer.Topics = append(answer.Topics, one)
		}
		throttled.Store(time.Now().UnixNano())
		return answer, nil, true
	})
	err := client.Write(within(t, 20*time.Second), []record.Out{{Topic: name, Value: []byte("v")}})
	if waited := time.Duration(between.Load()); err != nil || waited < wait {
		t.Errorf("it sends again after %v: %v", waited, err)
	}
	if why := client.Failing(topic.TopicPartition{}, name).Err; why != nil {
		t.Errorf("it still reports %v", why)
	}
	if n := strings.Count(log.String(), "quota"); n != 1 {
		t.Errorf("throttling is logged %d times", n)
	}
}
