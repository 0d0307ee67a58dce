package broker

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A record of a clock that is years behind is kept as long as others, and takes none of those before it with it, whoever
// reads them. It keeps its time. A batch that is damaged is still refused.
func TestAnOldRecordTakesNoOthersWithIt(t *testing.T) {
	server, err := Serve(t.TempDir(), 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(server.Address), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("t"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	old := time.UnixMilli(1)
	for _, at := range []time.Time{time.Now(), old, time.Now()} {
		r := kgo.StringRecord("one")
		r.Timestamp = at
		if err := client.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	server.Cluster.ApplyRetention()
	if start := server.Cluster.PartitionInfo("t", 0).LogStartOffset; start != 0 {
		t.Errorf("the records before offset %d are gone", start)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var times []time.Time
	for len(times) < 3 && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { times = append(times, r.Timestamp) })
	}
	if len(times) != 3 || !times[1].Equal(old) {
		t.Errorf("times %v", times)
	}
}
