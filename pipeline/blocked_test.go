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
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/producer"
)

// A journal of another version stops its partition only: no result is written twice, no record of the state
// is deleted, and the cause is reported. After the journal is discarded, the partition continues from the
// group's committed offset.
func TestJournalOfAnotherVersion(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(111)
	in := brokertest.Topic(t, client, "in", 1, nil)
	said := &lines{}
	o := basics(client, in, f)
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
	o.State, o.StallAfter = brokertest.Name("state"), time.Second
	stop := start(t, client, o)
	write(t, client, f.records(in, 1, 40))
	collect(t, client, o.Out, count(40))
	stop()
	var journals []record.Out
	last := map[string][]byte{}
	for _, r := range everything(t, client, o.State) {
		if strings.Contains(string(r.Key), "/journal/") {
			last[string(r.Key)] = bytes.Clone(r.Value)
		}
	}
	for key, value := range last {
		if value != nil {
			value[4]++ // the byte after the version mark
			journals = append(journals, record.Out{Topic: o.State, Key: []byte(key), Value: value})
		}
	}
	if len(journals) == 0 {
		t.Fatal("no journal was written")
	}
	write(t, client, journals)
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop = run(t, s)
	eventually(t, "told", func() bool {
		return strings.Contains(s.metrics.Ready(), "cannot be read") && said.count("state discard") > 0
	})
	write(t, client, f.records(in, 1, 10))
	for _, j := range journals {
		found := false
		for _, r := range everything(t, client, o.State) {
			if bytes.Equal(r.Key, j.Key) {
				found = bytes.Equal(r.Value, j.Value)
			}
		}
		if !found {
			t.Fatalf("%s was changed", j.Key)
		}
	}
	if n, err := admin.DiscardState(t.Context(), client, o.Group, o.State); err != nil || n != len(journals) {
		t.Fatalf("%d of %d discarded: %v", n, len(journals), err)
	}
	onceEach(t, collect(t, client, o.Out, count(50)))
	eventually(t, "ready again", func() bool { return s.metrics.Ready() == "" })
	stop()
}
