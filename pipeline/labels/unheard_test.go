package labels_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// A stage that was cut off for longer than the labels topic keeps deletions does not go on with what was deleted
// meanwhile: compaction has taken the deletion itself away.
func TestADeletionThatNobodyRead(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	var cut atomic.Bool
	server.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		if cut.Load() && r.(*kmsg.FetchRequest).Rack == "far" {
			return nil, errors.New("cut off"), true
		}
		return nil, nil, false
	})
	far, err := topic.Connect(topic.Settings{
		Brokers: []string{server.Address}, ClientID: "test", Rack: "far", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	name := brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	write := func(records ...record.Out) {
		t.Helper()
		if err := client.Write(ctx, records); err != nil {
			t.Fatal(err)
		}
	}
	example := func(id string) record.Out {
		return record.Teach(name, &record.Example{ID: id, Label: id, Vector: []float32{1, 0}})
	}
	anna := example("anna")
	write(anna, example("berta"))
	follower := labels.New(labels.Options{Client: far, Topic: name, Log: slog.New(slog.DiscardHandler)})
	var following sync.WaitGroup
	defer following.Wait()
	ended, stop := context.WithCancel(ctx)
	defer stop()
	following.Go(func() {
		if err := follower.Follow(ended, func() {}); err != nil {
			t.Error(err)
		}
	})
	examples := func(n int) {
		t.Helper()
		for ; follower.Current().Labels.Len() != n; time.Sleep(10 * time.Millisecond) {
			if ctx.Err() != nil {
				t.Fatalf("%d examples, not %d", follower.Current().Labels.Len(), n)
			}
		}
	}
	examples(2)
	k := client.Kafka() // the setting counts that is in force by then
	set, err := k.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
		Addr: k.Addr, Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{
				{Name: "delete.retention.ms", Value: "0", ConfigOperation: kafka.ConfigOperationSet},
			},
		}},
	})
	if err != nil || set.Resources[0].Error != nil {
		t.Fatal(err, set)
	}
	cut.Store(true)
	cutOff := func() bool { // for longer than any deletion is kept, and than a reader waits at the end of a topic
		f := far.Failing(topic.TopicPartition{}, name)
		return f.Err != nil && time.Since(f.Since) > 3*time.Second
	}
	for ; !cutOff(); time.Sleep(10 * time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("it is not cut off")
		}
	}
	write(record.Out{Topic: name, Key: anna.Key})
	write(example("carla"))
	for held := 0; held != 2; { // berta and carla, and no deletion
		server.Cluster.Compact()
		spans, err := client.SpansOf(ctx, true, name)
		if err != nil {
			t.Fatal(err)
		}
		held = 0
		for _, err := range client.Records(ctx, spans...) {
			if err != nil {
				t.Fatal(err)
			}
			held++
		}
	}
	cut.Store(false)
	for want := []string{"berta", "carla"}; ; time.Sleep(10 * time.Millisecond) {
		var inForce []string
		for _, e := range follower.Current().Labels.All() {
			inForce = append(inForce, e.Label)
		}
		slices.Sort(inForce)
		if slices.Equal(inForce, want) {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("in force are %v", inForce)
		}
	}
}
