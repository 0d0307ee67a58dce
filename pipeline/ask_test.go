package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/solver/stream"
)

// What a process remembers of a stream answers vectors that are no items of it, with first answers and
// without.
func TestAsk(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	for _, topic := range []string{"", brokertest.Name("now")} {
		f := newFeed(3)
		in := brokertest.Topic(t, client, "in", 1, nil)
		o := basics(client, in, f)
		o.Now = topic
		const n = 200
		write(t, client, f.records(in, 2, n))
		write(t, client, markers(in, 2))
		s, err := New(client, o)
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, s)
		collect(t, client, o.Out, count(n))
		for class := range classes {
			answers, err := s.Ask("cam-1", "", [][]float32{f.vector(class)})
			if err != nil || len(answers) != 1 || answers[0].Label != "class-"+string(rune('0'+class)) {
				t.Errorf("class %d: %+v, %v", class, answers, err)
			}
		}
		answers, err := s.Ask("cam-0", "", [][]float32{f.vector(0), f.vector(1), f.vector(2)})
		if err != nil || len(answers) != 3 {
			t.Errorf("three of one moment: %+v, %v", answers, err)
		}
		for _, c := range []struct {
			stream, model string
			vector        []float32
			want          error
		}{
			{"cam-7", "", f.vector(0), first.ErrNoStream},
			{"cam-0", "another", f.vector(0), first.ErrNoStream},
			{"cam-0", "", f.vector(0)[:3], stream.ErrItem},
			{"cam-0", "", make([]float32, dimension), stream.ErrItem},
		} {
			if _, err := s.Ask(c.stream, c.model, [][]float32{c.vector}); !errors.Is(err, c.want) {
				t.Errorf("%s %s: %v", c.stream, c.model, err)
			}
		}
		// The stream goes on, and what is asked is answered by what it knows by then.
		vector := f.vector(0)
		before, err := s.Ask("cam-0", "", [][]float32{vector})
		if err != nil {
			t.Fatal(err)
		}
		write(t, client, f.records(in, 2, n))
		write(t, client, markers(in, 2))
		waitUntil(t, "answers do not follow the stream", func() bool {
			after, err := s.Ask("cam-0", "", [][]float32{vector})
			return err == nil && after[0].Confidence != before[0].Confidence
		})
		stop()
		if _, err := s.Ask("cam-0", "", [][]float32{f.vector(0)}); !errors.Is(err, first.ErrNoStream) {
			t.Errorf("of a stream that was handed over: %v", err)
		}
	}
}

// Who asks the wrong process for a stream is told which one owns it; there vectors may enter the stream, and
// are answered as its items.
func TestOwnersAreFound(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(4)
	in := brokertest.Topic(t, client, "in", 2, nil)
	o := basics(client, in, f)
	var stages []*Stage
	for i := range 2 {
		o.Advertise = fmt.Sprint("http://stage-", i)
		s, err := New(client, o)
		if err != nil {
			t.Fatal(err)
		}
		run(t, s)
		stages = append(stages, s)
	}
	owner := func(ctx context.Context, asked *Stage, stream string) string {
		address, err := asked.Owner(ctx, stream)
		if err != nil && ctx.Err() == nil {
			t.Fatal(err)
		}
		return address
	}
	partition := func(stream string) int32 { return topic.Partition([]byte(stream), 0, 2) }
	streams := []string{"a", "b"}
	for i := 0; partition(streams[0]) == partition(streams[1]); i++ {
		streams[1] = fmt.Sprint("b-", i)
	}
	waitUntil(t, "no stage names the other as an owner", func() bool {
		found := map[string]bool{}
		for _, stream := range streams {
			found[owner(ctx, stages[0], stream)+owner(ctx, stages[1], stream)] = true
		}
		return found["http://stage-0"] && found["http://stage-1"]
	})
	if others, err := consumer.OtherOuts(ctx, client, o.Group, o.Out); len(others) > 0 || err != nil {
		t.Errorf("other outputs of a group whose members all write to %s: %v, %v", o.Out, others, err)
	}
	if others, err := consumer.OtherOuts(ctx, client, o.Group, "mine"); !slices.Equal(others, []string{o.Out}) {
		t.Errorf("outputs of a group of two that write to %s: %v, %v", o.Out, others, err)
	}
	for i, s := range stages {
		if others, err := s.Elsewhere(ctx); !slices.Equal(others, []string{fmt.Sprint("http://stage-", 1-i)}) || err != nil {
			t.Errorf("stage %d: the other is at %v, %v", i, others, err)
		}
	}
	var out []record.Out
	for i := range 40 {
		stream := streams[i%2]
		out = append(out, record.Out{
			Topic: in, Partition: partition(stream), Key: []byte(stream),
			Value: record.AppendVector(nil, f.vector(i%classes)),
		})
	}
	write(t, client, out)
	for _, stream := range streams {
		asked := stages[1]
		if owner(ctx, stages[0], stream) == "" {
			asked = stages[0]
		}
		waitUntil(t, "the owner does not know its stream", func() bool {
			_, err := asked.Ask(stream, "", [][]float32{f.vector(0)})
			return err == nil
		})
		if known := asked.Remembered(); !slices.Equal(known, []string{stream}) {
			t.Errorf("the owner of %s remembers %v", stream, known)
		}
		if err := asked.Enter(ctx, stream, "", [][]float32{f.vector(0), f.vector(1)}); err != nil {
			t.Error(err)
		}
		if err := asked.Enter(ctx, "nobody's", "", [][]float32{f.vector(0)}); !errors.Is(err, first.ErrNoStream) {
			t.Errorf("a stream that nobody knows: %v", err)
		}
	}
	marker := func(stream string) record.Out {
		return record.Out{
			Topic: in, Partition: partition(stream), Key: []byte(stream),
			Headers: []record.Header{{Key: record.MarkerHeader}},
		}
	}
	write(t, client, []record.Out{marker(streams[0]), marker(streams[1])})
	of := map[string]int{}
	for _, list := range collect(t, client, o.Out, count(44)).answers {
		of[list[0].Stream]++
	}
	if of[streams[0]] != 22 || of[streams[1]] != 22 {
		t.Errorf("items of each stream: %v", of)
	}
}
