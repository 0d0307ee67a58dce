package topic_test

import (
	"encoding/binary"
	"fmt"
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

// A machine whose clock is two hours ahead of the brokers' writes with their time, once they have refused its own,
// and says so. A record is never to blame for that: it becomes no dead letter, though it has a fallback.
func TestAClockAheadOfTheBrokers(t *testing.T) {
	const ahead = 2 * time.Hour
	server := brokertest.Embedded(t)
	client, log := logging(t, server.Address)
	out, dead := brokertest.Topic(t, client, "out", 1, nil), brokertest.Topic(t, client, "dead", 1, nil)
	var refused atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		theirs := time.Now().Add(-ahead).UnixMilli()
		batch := request.Topics[0].Partitions[0].Records
		if last := int64(binary.BigEndian.Uint64(batch[35:])); last <= theirs+time.Hour.Milliseconds() {
			return nil, nil, false
		}
		refused.Add(1)
		answer := request.ResponseKind().(*kmsg.ProduceResponse)
		one, partition := kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
		partition.ErrorCode, partition.BaseOffset = kerr.InvalidTimestamp.Code, -1
		why := kmsg.NewProduceResponseTopicPartitionErrorRecord()
		words := fmt.Sprintf("Timestamp of message with offset 0 is out of range. The timestamp should be within [%d, %d]",
			theirs-9223372036854775807, theirs+3600000)
		why.ErrorMessage = &words
		partition.ErrorRecords = append(partition.ErrorRecords, why)
		one.Topic, one.Partitions = request.Topics[0].Topic, append(one.Partitions, partition)
		answer.Topics = append(answer.Topics, one)
		return answer, nil, true
	})
	var sent []record.Out
	for i := range 20 {
		item := &record.Item{Source: record.Source{Topic: "in", Offset: int64(i), Object: -1}, Stream: "s", Vector: []float32{1}}
		r := result(out, dead, item, func(*record.Result) {})
		r.Time = time.Now()
		sent = append(sent, r)
	}
	for range 3 {
		if err := client.Write(within(t, time.Minute), sent); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range readTo(t, client.NewReader(topic.ReaderSettings{Topic: out}), 60) {
		if off := time.Until(r.Time) + ahead; off.Abs() > time.Minute {
			t.Fatalf("a record has the time %v", r.Time)
		}
	}
	if _, end, err := client.Bounds(within(t, time.Minute), dead, 0, false); err != nil || end != 0 {
		t.Errorf("%d dead letters: %v", end, err)
	}
	if skew, known := client.Skew(); !known || (skew-ahead).Abs() > time.Minute {
		t.Errorf("the clock is %v ahead: %v", skew, known)
	}
	if n := strings.Count(log.String(), "clock differs"); n != 1 {
		t.Errorf("the difference is logged %d times:\n%s", n, log.String())
	}
}

// The brokers' time is read from the reason for which a real broker refuses a record.
func TestTheBrokersTellTheirTime(t *testing.T) {
	if !brokertest.Real() {
		t.Log("the embedded broker takes any time")
		return
	}
	client := brokertest.Connect(t, brokertest.Brokers(t))
	for _, settings := range []map[string]string{
		nil, {"message.timestamp.before.max.ms": "60000"}, {"message.timestamp.after.max.ms": "5000"},
	} {
		out := brokertest.Topic(t, client, "out", 1, settings)
		if err := client.Write(within(t, time.Minute), []record.Out{{Topic: out, Time: time.Now().Add(100 * time.Hour)}}); err != nil {
			t.Fatal(err)
		}
		if skew, known := client.Skew(); !known || skew.Abs() > 10*time.Second {
			t.Errorf("with %v: the clock is %v ahead: %v", settings, skew, known)
		}
	}
}
