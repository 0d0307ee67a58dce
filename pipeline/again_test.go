package pipeline

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// While one partition of the labels topic cannot be read, the topic is read again and again from its start.
// Bad records of the others get one dead letter each.
func TestLabelsReadAgainHaveOneLetter(t *testing.T) {
	server, err := broker.Serve("", 0, quiet())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	client := brokertest.Connect(t, []string{server.Address})
	f := newFeed(1)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Labels = brokertest.Topic(t, client, "labels", 2, topic.StateSettings())
	for range 10 {
		write(t, client, []record.Out{{Topic: o.Labels, Key: []byte("bad"), Value: []byte("not a label")}})
	}
	const times = 3
	server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: o.Labels, Partitions: []int32{1}, Err: kerr.CorruptMessage,
		Count: times,
	})
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	eventually(t, "at work", func() bool { return s.Metrics().Ready() == "" })
	write(t, client, f.records(in, 1, 10))
	if letters := len(everything(t, client, o.Dead)); letters != 10 {
		t.Errorf("%d dead letters: not one for each of 10 bad records", letters)
	}
}
