package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/health"
)

// If the embedder of an input is replaced, the stage is not ready and answers unknown. It is ready again when
// the old embedder is back.
func TestReplacedEmbedder(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(171)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	stage, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, stage)
	sent := 0
	send := func(n int, embed func([]float32) []float32) *sink {
		list := make([]record.Out, n)
		for i := range list {
			list[i] = record.Out{
				Topic: in, Partition: -1, Key: fmt.Appendf(nil, "cam-%d", i%2),
				Value: encode(embed(f.vector(f.random.IntN(classes)))),
			}
		}
		write(t, client, list)
		sent += n
		return collect(t, client, o.Out, count(sent))
	}
	same := func(v []float32) []float32 { return v }
	send(400, same)
	eventually(t, "ready", func() bool { return stage.metrics.Ready() == "" })
	s := send(160, func(v []float32) []float32 {
		out := make([]float32, len(v))
		for i := range out {
			out[i] = v[(i+dimension/2)%dimension]
		}
		return out
	})
	for _, answers := range s.answers {
		a := answers[0]
		if a.Source.Offset >= 400 && (!a.Unknown || a.Confidence > 1./classes) {
			t.Errorf("offset %d: %q at %g, unknown %v", a.Source.Offset, a.Label, a.Confidence, a.Unknown)
		}
	}
	eventually(t, "told", func() bool {
		return strings.Contains(stage.metrics.Ready(), "embedding changed in 2 streams")
	})
	send(80, same)
	eventually(t, "ready again", func() bool { return stage.metrics.Ready() == "" })
}

// Releasing a partition drops its streams' embeddings.
func TestAPartitionTakesItsEmbeddings(t *testing.T) {
	stage, now := &Stage{watch: new(health.Watch)}, time.Now()
	for number := range int32(2) {
		of := topic.TopicPartition{Topic: "in", Partition: number}
		stage.watch.Streams.Answered(health.Stream{TopicPartition: of}, health.Answer{EmbeddingChanged: true}, now)
	}
	for number := range int32(2) {
		if list, _ := stage.watch.Streams.Troubles(now); len(list) != 1 {
			t.Errorf("before partition %d goes: %d troubles", number, len(list))
		}
		at := topic.TopicPartition{Topic: "in", Partition: number}
		(&partition{ownership: &ownership{stage: stage, Owner: &answering.Owner{TopicPartition: at}}}).withdraw()
	}
	if list, _ := stage.watch.Streams.Troubles(now); len(list) > 0 {
		t.Errorf("%v", list)
	}
}
