package pipeline

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
)

// If all records of a feed are unusable, the stage is not ready although it makes progress, and reports cause
// and remedy. It is ready again when an item is answered.
func TestAFeedThatCannotBeUsedShows(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(72)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	o.StallAfter = time.Second
	said := &lines{}
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	eventually(t, "ready", func() bool { return s.metrics.Ready() == "" })
	var bad []record.Out
	for range 500 {
		bad = append(bad, record.Out{Topic: in, Partition: 0, Key: []byte("cam"), Value: bytes.Repeat([]byte("x"), 10)})
	}
	write(t, client, bad)
	eventually(
		t,
		"not ready",
		func() bool { return strings.Contains(s.metrics.Ready(), "all 500 records went to the dead letters") },
	)
	eventually(t, "said", func() bool { return said.count("nothing of the input could be used") == 1 })
	if list := s.watch.Troubles(); len(list) != 1 || list[0].Cause == "" || list[0].Do == "" {
		t.Errorf("%+v", list)
	}
	eventually(t, "a metric", func() bool {
		got := metric(s.metrics, "slkstream_rejecting_seconds")
		return got != "" && !strings.HasSuffix(got, " 0")
	})
	write(t, client, f.records(in, 1, 10))
	eventually(t, "ready again", func() bool { return s.metrics.Ready() == "" })
}
