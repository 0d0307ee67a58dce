package topic_test

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// A client with a rack reads from the replica that the leader names for it, and from the leader again when that
// replica cannot answer.
func TestTheReplicaOfTheRackIsRead(t *testing.T) {
	server, err := broker.Serve("", 0, slog.New(slog.DiscardHandler), kfake.Ports(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client, err := topic.Connect(topic.Settings{Brokers: []string{server.Address}, Rack: "near"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	name := brokertest.Topic(t, client, "in", 1, nil)
	leader := server.Cluster.LeaderFor(name, 0)
	replica := 1 - leader
	var asked, answered atomic.Int64 // the leader and the replica
	server.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		request := r.(*kmsg.FetchRequest)
		answer := request.ResponseKind().(*kmsg.FetchResponse)
		one, partition := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
		one.Topic, partition.HighWatermark, partition.LastStableOffset = name, 4, 4
		switch at := request.Topics[0].Partitions[0].FetchOffset; {
		case server.Cluster.CurrentNode() == leader && request.Rack == "near":
			asked.Add(1)
			partition.PreferredReadReplica = replica
		case server.Cluster.CurrentNode() == replica && at < 2:
			answered.Add(1)
			// What the replica holds: the first two records.
			b := topic.Encode(
				topic.TopicPartition{Topic: name},
				[]record.Out{{Value: []byte("0")}, {Value: []byte("1")}},
				topic.Anonymous,
				"",
			)
			partition.RecordBatches = b.Data[4:]
		default: // the replica is none any more, and says so
			return nil, nil, false
		}
		one.Partitions = append(one.Partitions, partition)
		answer.Topics = append(answer.Topics, one)
		return answer, nil, true
	})
	var sent []record.Out
	for i := range 4 {
		sent = append(sent, record.Out{Topic: name, Value: fmt.Append(nil, i)})
	}
	if err := client.Write(within(t, time.Minute), sent); err != nil {
		t.Fatal(err)
	}
	for i, got := range readTo(t, client.NewReader(topic.ReaderSettings{Topic: name}), 4) {
		if string(got.Value) != fmt.Sprint(i) {
			t.Errorf("record %d is %q", i, got.Value)
		}
	}
	if asked.Load() != 1 || answered.Load() != 1 {
		t.Errorf("the leader named the replica %d times, which answered %d times", asked.Load(), answered.Load())
	}
}
