package pipeline

import (
	"errors"
	"testing"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/solver/stream"
)

// What a process remembers of a stream answers vectors that are no items of it, with first answers and
// without.
func TestAsk(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	for _, now := range []string{"", brokertest.Name("now")} {
		f := newFeed(3)
		in := brokertest.Topic(t, client, "in", 1, nil)
		o := basics(client, in, f)
		o.Now = now
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
			{"cam-7", "", f.vector(0), ErrNoStream},
			{"cam-0", "another", f.vector(0), ErrNoStream},
			{"cam-0", "", f.vector(0)[:3], stream.ErrItem},
			{"cam-0", "", make([]float32, dimension), stream.ErrItem},
		} {
			if _, err := s.Ask(c.stream, c.model, [][]float32{c.vector}); !errors.Is(err, c.want) {
				t.Errorf("%s %s: %v", c.stream, c.model, err)
			}
		}
		stop()
		if _, err := s.Ask("cam-0", "", [][]float32{f.vector(0)}); !errors.Is(err, ErrNoStream) {
			t.Errorf("of a stream that was handed over: %v", err)
		}
	}
}
