package topic_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
