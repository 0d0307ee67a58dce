package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// The whole stage on the embedded broker, from record to acknowledged result.
func BenchmarkStage(b *testing.B) {
	client := brokertest.Connect(b, brokertest.Brokers(b))
	f := newFeed(1)
	in := brokertest.Topic(b, client, "in", 4, nil)
	o := basics(client, in, f)
	o.StateInterval = 10 * time.Second
	o.Limits = consumer.Limits{Size: 100, Age: time.Hour, Memory: 64 << 20}
	const streams = 32
	n := max(b.N, 1000)
	for from := 0; from < n; from += 5000 {
		write(b, client, f.records(in, streams, min(5000, n-from)))
	}
	write(b, client, markers(in, streams))
	b.ResetTimer()
	start(b, client, o)
	collect(b, client, o.Out, count(n))
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "records/s")
}

// What identities cost 16 streams without labelled classes, in the CPU time of the whole process, its broker included.
func BenchmarkIdentities(b *testing.B) {
	for _, name := range []string{"off", "on"} {
		b.Run(name, func(b *testing.B) {
			client := brokertest.Connect(b, brokertest.Brokers(b))
			f := newFeed(1)
			in := brokertest.Topic(b, client, "in", 4, nil)
			o := basics(client, in, f)
			o.Support, o.Labels = nil, brokertest.Name("labels")
			o.Limits = consumer.Limits{Size: 100, Age: time.Hour, Memory: 64 << 20}
			if name == "on" {
				o.Identities = brokertest.Name("identities")
			}
			const streams = 16
			n := max(b.N, 1000)
			for from := 0; from < n; from += 5000 {
				write(b, client, f.records(in, streams, min(5000, n-from)))
			}
			write(b, client, markers(in, streams))
			before := telemetry.Spent()
			b.ResetTimer()
			stop := start(b, client, o)
			collect(b, client, o.Out, count(n))
			b.ReportMetric(float64((telemetry.Spent()-before).Microseconds())/float64(n), "cpu-us/record")
			b.StopTimer()
			stop()
		})
	}
}

// Restores a thousand streams of ten classes and 512 dimensions with their metric. The topic holds ten
// versions of each, not yet compacted.
func BenchmarkRestore(b *testing.B) {
	client := brokertest.Connect(b, brokertest.Brokers(b))
	in := brokertest.Topic(b, client, "in", 1, nil)
	o := basics(client, in, newFeed(1))
	o.State = brokertest.Topic(b, client, "state", 1, topic.StateSettings())
	const streams, versions, d, classes = 1000, 10, 512, 10
	random := rand.New(rand.NewPCG(1, 1))
	draw := func(class int) []float32 {
		v := make([]float32, d)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		v[class] += 30
		return v
	}
	labels := &taught.Labels{}
	for c := range classes {
		labels.Everyone = append(labels.Everyone, taught.Example{ID: fmt.Sprint(c), Label: fmt.Sprint(c), Vector: draw(c)})
	}
	engine := new(stream.Engine)
	learned := stream.New("stream", o.Memory)
	for e := range 3 {
		items := make([]stream.Item, 100)
		for i := range items {
			items[i] = stream.Item{
				ID:       fmt.Sprint(e, i),
				Vector:   draw(i % classes),
				Position: stream.Position{Offset: int64(100*e + i), Object: -1},
			}
		}
		if _, _, err := learned.Answer(context.Background(), engine, items, labels); err != nil {
			b.Fatal(err)
		}
	}
	pieces := learned.State()
	writer := state.NewWriter(o.Group, in, o.State, 0, state.Owner{Generation: 1}, state.NewLoader(o.Group, in).Restore())
	size := 0
	for range versions {
		for from := 0; from < streams; from += 50 {
			var snapshots []*state.Snapshot
			for i := from; i < from+50; i++ {
				snapshots = append(
					snapshots,
					&state.Snapshot{Stream: record.StreamID{Name: fmt.Sprint("camera-", i)}, Learned: record.Start(299), Pieces: pieces},
				)
			}
			size = snapshots[0].Bytes()
			write(b, client, writer.Commit(&state.Journal{}, snapshots))
			writer.Committed()
		}
	}
	if held := held(b, client, o.State); held < streams*versions {
		b.Fatalf("the topic holds %d records: some were compacted", held)
	}
	s, err := New(client, o)
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		a := consumer.Assignment{TopicPartition: topic.TopicPartition{Topic: in}, Generation: new(topic.Generation)}
		restored, session, err := s.store.Open(context.Background(), a)
		if err != nil {
			b.Fatal(err)
		}
		p := &partition{}
		p.own(s.ownership(a, session), nil)
		p.answering.Restore(restored.Snapshots)
		if p.answering.Len() != streams {
			b.Fatalf("%d streams", p.answering.Len())
		}
	}
	b.ReportMetric(float64(size), "bytes/stream")
}

// held counts the records in a topic's first partition.
func held(b *testing.B, client *topic.Client, name string) int {
	end, err := client.Offset(b.Context(), name, 0, topic.Latest, false)
	if err != nil {
		b.Fatal(err)
	}
	count := 0
	for reader := client.NewReader(topic.ReaderSettings{Topic: name}); reader.Position() < end; {
		batch, err := reader.Read(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		count += len(batch.Records)
		reader.Recycle(batch)
	}
	return count
}
