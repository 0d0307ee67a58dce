package labels_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// What is written together is in the topic as a whole or not at all: a partition that refuses its records, and a
// program that stops while some are written, leave none.
func TestLabelsAreWrittenTogether(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := brokertest.Topic(t, client, "labels", 3, nil)
	vector := make([]float32, 512)
	vector[0] = 1
	split := func(label string) (records []record.Out) {
		for i := range 1000 {
			e := record.Example{ID: fmt.Sprint("e", i), Label: label, Vector: vector}
			records = append(records, record.Teach(name, &e))
		}
		return records
	}
	inForce := func(label string) (n int) {
		t.Helper()
		entries, err := labels.ReadEntries(ctx, client, name, record.Options{}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Holds && e.Class() == label {
				n++
			}
		}
		return n
	}
	if err := labels.Write(ctx, client, split("anna")); err != nil {
		t.Fatal(err)
	}
	if n := inForce("anna"); n != 1000 {
		t.Fatalf("%d of 1000 taught", n)
	}
	refused := server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: name, Partitions: []int32{2}, Err: kerr.InvalidRecord, Count: -1,
	})
	if err := labels.Write(ctx, client, split("berta")); !errors.Is(err, kafka.Error(kerr.InvalidRecord.Code)) {
		t.Fatal(err)
	}
	if a, b := inForce("anna"), inForce("berta"); a != 1000 || b != 0 {
		t.Errorf("after a refusal %d are still called anna, %d berta", a, b)
	}
	refused.Remove()
	server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: name, Partitions: []int32{2}, Err: kerr.NotLeaderForPartition, Count: -1,
	})
	stopped, stop := context.WithCancel(ctx)
	defer stop()
	server.Cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		stop()
		return nil, nil, false
	})
	if err := labels.Write(stopped, client, split("carla")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if a, b := inForce("anna"), inForce("carla"); a != 1000 || b != 0 {
		t.Errorf("after a stop %d are still called anna, %d carla", a, b)
	}
}
