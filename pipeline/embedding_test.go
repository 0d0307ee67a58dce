package pipeline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// If the embedder of an input is replaced, the stage is not ready and answers unknown. It is ready again when
// the old embedder is back.
func TestReplacedEmbedder(t *testing.T) {
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

// One changed stream among many does not make its input not ready. Releasing a partition drops its streams.
func TestEmbeddingsOfAnInput(t *testing.T) {
	var e embeddings
	now := time.Now()
	of := func(partition int32, name string) embedded {
		return embedded{topic.TopicPartition{Topic: "in", Partition: partition}, record.Stream{Name: name}}
	}
	told := func(when string, whole, single int) {
		t.Helper()
		if a, b := len(e.troubles(now, true)), len(e.troubles(now, false)); a != whole || b != single {
			t.Errorf("%s: %d whole, %d single", when, a, b)
		}
	}
	e.observe(of(0, "a"), false, now)
	told("nothing", 0, 0)
	e.observe(of(0, "a"), true, now)
	told("all", 1, 0)
	for i := range 5 {
		e.observe(of(1, fmt.Sprint("b", i)), false, now)
	}
	told("one of six", 0, 1)
	e.observe(of(1, "b1"), true, now)
	e.observe(of(1, "b2"), true, now)
	told("half", 1, 0)
	e.release(topic.TopicPartition{Topic: "in", Partition: 1})
	told("what is left", 1, 0)
	e.observe(of(0, "a"), false, now)
	told("as before", 0, 0)
	if len(e.streams) != 0 {
		t.Errorf("%d streams tracked", len(e.streams))
	}
	e.observe(of(0, "a"), true, now)
	now = now.Add(2 * embeddingLasts)
	told("long ago", 0, 0)
}

// Releasing a partition drops its streams' embeddings.
func TestAPartitionTakesItsEmbeddings(t *testing.T) {
	stage, now := &Stage{}, time.Now()
	for number := range int32(2) {
		of := embedded{topic.TopicPartition{Topic: "in", Partition: number}, record.Stream{Name: "cam"}}
		stage.embeddings.observe(of, true, now)
	}
	for number := range int32(2) {
		if list := stage.embeddings.troubles(now, true); len(list) != 1 {
			t.Errorf("before partition %d goes: %d troubles", number, len(list))
		}
		(&partition{stage: stage, TopicPartition: topic.TopicPartition{Topic: "in", Partition: number}}).withdraw()
	}
	if list := stage.embeddings.troubles(now, true); len(list) > 0 {
		t.Errorf("%v", list)
	}
}
