package pipeline

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// A stage that starts while something that it needs fails waits for it, says what it waits for, and begins by
// itself once that is over.
func TestFailuresAtTheStart(t *testing.T) {
	t.Parallel()
	denied := func(name string, key kmsg.Key) func(*testing.T, *kfake.Cluster, *wire) func() {
		return func(_ *testing.T, c *kfake.Cluster, _ *wire) func() {
			f := c.Fault(kfake.Fault{
				Keys: []kmsg.Key{key}, Topic: name, Err: kerr.TopicAuthorizationFailed, Count: -1,
			})
			return f.Remove
		}
	}
	cases := map[string]struct {
		breaks func(*testing.T, *kfake.Cluster, *wire) (mend func())
		told   []string
		of     string
	}{
		"no connection": {
			func(_ *testing.T, _ *kfake.Cluster, w *wire) func() { w.refuse(); return w.mend },
			[]string{"not at work for", "looking for topics", "connection refused by the test"},
			"brokers",
		},
		"no answers": {
			func(_ *testing.T, _ *kfake.Cluster, w *wire) func() { w.hold(); return w.mend },
			[]string{"not at work for", "looking for topics"},
			"brokers",
		},
		"the output cannot be made": {
			denied("out", kmsg.CreateTopics), []string{"not at work for", "making topic out", "rights"}, "brokers",
		},
		"the labels cannot be read": {
			denied("labels", kmsg.Fetch), []string{"the labels topic labels cannot be read", "READ"}, "labels",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			server, err := broker.Serve("", 0, quiet())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			brokers := []string{server.Address}
			client := brokertest.Connect(t, brokers)
			network := &wire{}
			t.Cleanup(network.mend)
			f := newFeed(103)
			o := basics(client, "in", f)
			remake(t, client, "in", nil)
			remake(t, client, "labels", topic.StateSettings())
			o.Out, o.Dead, o.Labels, o.StallAfter = "out", "out-dead", "labels", 200*time.Millisecond
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			said := &lines{}
			o.Log = slog.New(slog.NewTextHandler(said, nil))
			mine, err := topic.Connect(topic.Settings{
				Brokers: brokers, ClientID: "late", Log: quiet(), Dial: network.dial,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(mine.Close)
			o.Delivery = &producer.AtLeastOnce{Client: mine, Log: o.Log}
			mend := c.breaks(t, server.Cluster, network)
			s, err := New(mine, o)
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			m := s.Metrics()
			write(t, client, f.records("in", 1, 10))
			for _, text := range c.told {
				eventually(t, "told: "+text, func() bool { return strings.Contains(m.Ready(), text) })
			}
			eventually(t, "counted", func() bool {
				return strings.HasSuffix(metric(m, `slkstream_trouble{of="`+c.of+`"}`), " 1")
			})
			eventually(t, "said", func() bool { return said.count(c.told[0]) > 0 })
			mend()
			collect(t, client, "out", count(10))
			eventually(t, "ready", func() bool { return m.Ready() == "" })
		})
	}
}

// A transaction that is left open in the labels topic holds back what is taught after it, which is told.
func TestLabelsBehindATransaction(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(104)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	o.StallAfter = time.Second
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	m := s.Metrics()
	eventually(t, "ready", func() bool { return m.Ready() == "" })
	end := leaveOpen(t, client, record.Out{Topic: o.Labels, Key: []byte("a"), Value: []byte("{}")})
	eventually(t, "told", func() bool {
		why := m.Ready()
		return strings.Contains(why, o.Labels+"/0: a transaction that began at offset 0 has not ended") &&
			strings.Contains(why, "kafka-transactions.sh abort")
	})
	write(t, client, f.records(in, 1, 10))
	collect(t, client, o.Out, count(10))
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready again", func() bool { return m.Ready() == "" })
}
