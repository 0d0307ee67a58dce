package pipeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/producer"
)

// away returns how many streams a stage has put away, and how many came back.
func away(s *Stage) (put, back int) {
	return int(s.metrics.away.Value("put-away")), int(s.metrics.away.Value("back"))
}

// memories returns how many streams of a stage have their memory.
func memories(s *Stage) (n int) {
	for of := range s.answers.Known.All() {
		of.Lock()
		if of.Memory != nil {
			n++
		}
		of.Unlock()
	}
	return n
}

// Streams that were put away whenever they were silent, by one owner or by several, answer as if they had stayed.
func TestStreamsThatWereAway(t *testing.T) {
	t.Parallel()
	for _, exactly := range []bool{false, true} {
		t.Run(fmt.Sprintf("exactly once %v", exactly), func(t *testing.T) {
			t.Parallel()
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(77)
			in := brokertest.Topic(t, client, "in", 2, nil)
			const streams, each, rounds = 4, 300, 4
			o := basics(client, in, f)
			o.StateInterval = 50 * time.Millisecond
			if exactly {
				o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			}
			stays := o
			stays.Group, stays.Out = brokertest.Name("group"), brokertest.Name("out")
			o.PutAway = time.Millisecond
			var stop func()
			var s *Stage
			for round := range rounds {
				if s == nil || round == 2 {
					if s != nil {
						stop()
					}
					var err error
					if s, err = New(client, o); err != nil {
						t.Fatal(err)
					}
					stop = run(t, s)
				}
				if round == 2 {
					eventually(
						t,
						"the next owner leaves them away",
						func() bool { put, _ := away(s); return put >= streams && memories(s) == 0 },
					)
				}
				_, before := away(s)
				write(t, client, f.records(in, streams, each))
				write(t, client, markers(in, streams))
				collect(t, client, o.Out, count(each*(round+1)))
				eventually(t, "all are away", func() bool { return memories(s) == 0 })
				if _, back := away(s); round > 0 && back < before+streams {
					t.Errorf("round %d: %d streams came back, of %d", round, back-before, streams)
				}
			}
			stop()
			start(t, client, stays)
			if repeats := compare(t, collect(t, client, o.Out, count(rounds*each)),
				collect(t, client, stays.Out, count(rounds*each)), rounds*each); repeats > 0 && exactly {
				t.Errorf("%d answers twice", repeats)
			}
		})
	}
}

// A stream that was put away can be asked, and is lost with the state topic: it goes on from its labels.
func TestStreamThatIsAwayAndLost(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(78)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.StateInterval, o.PutAway, o.State = 50*time.Millisecond, time.Millisecond, brokertest.Name("state")
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	next := func(all int) {
		t.Helper()
		write(t, client, f.records(in, 1, 100))
		write(t, client, markers(in, 1))
		collect(t, client, o.Out, count(all))
		eventually(t, "it is away", func() bool { return memories(s) == 0 })
	}
	next(100)
	var of *extension.Stream
	for live := range s.answers.Known.All() {
		of = &live.Stream
	}
	of.Lock()
	err = of.Return(t.Context())
	episodes := of.Memory.Episode()
	of.Unlock()
	if err != nil || episodes == 0 {
		t.Fatalf("it came back with %d episodes: %v", episodes, err)
	}
	eventually(t, "it is away again", func() bool { return memories(s) == 0 })
	if answers, err := s.Ask("cam-0", "", [][]float32{f.vector(1)}); err != nil || answers[0].Label != "class-1" {
		t.Fatal(answers, err)
	}
	eventually(t, "it is away after a question", func() bool { return memories(s) == 0 })
	remove(t, client, o.State)
	remake(t, client, o.State, topic.StateSettings())
	write(t, client, []record.Out{{Topic: o.State, Key: []byte("other"), Value: []byte("state")}})
	next(200)
	of.Lock()
	err = of.Return(t.Context())
	again := of.Memory.Episode()
	of.Unlock()
	if err != nil || again >= 2*episodes || again == 0 {
		t.Errorf("%d episodes after %d: %v", again, episodes, err)
	}
}

// However long brokers take to give a stream's memory back, other streams are answered meanwhile, and no job hangs: the
// watchdog would end a process that only waits.
func TestReadingBackBlocksNobody(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	f := newFeed(79)
	in := brokertest.Topic(t, client, "in", 2, nil)
	o := basics(client, in, f)
	o.StateInterval, o.State, o.Workers = 50*time.Millisecond, brokertest.Name("state"), 1
	unreachable := []byte(o.State + "\x00\x00\x00\x01\x00\x00\x00\x00") // one partition, number 0
	var holds atomic.Bool
	asked, comes := make(chan struct{}, 100), make(chan struct{})
	mend := sync.OnceFunc(func() {
		holds.Store(false)
		close(comes)
	})
	defer mend()
	held := through(t, brokers, func(conn net.Conn, b []byte) (int, error) {
		const fetch = 1
		if holds.Load() && len(b) > 6 && binary.BigEndian.Uint16(b[4:]) == fetch && bytes.Contains(b, unreachable) {
			asked <- struct{}{}
			<-comes
		}
		return conn.Write(b)
	})
	o.Delivery = &producer.AtLeastOnce{Client: held, Log: o.Log}
	o.PutAway = time.Millisecond
	s, err := New(held, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	feed := func(partition int32) {
		records := f.records(in, 1, 40)
		records = append(records, markers(in, 1)...)
		for i := range records {
			records[i].Partition, records[i].Key = partition, fmt.Appendf(nil, "cam-%d", partition)
		}
		write(t, client, records)
	}
	feed(0)
	feed(1)
	collect(t, client, o.Out, count(80))
	eventually(t, "all are away", func() bool { return memories(s) == 0 })
	holds.Store(true)
	feed(0)
	<-asked
	feed(1)
	collect(t, client, o.Out, count(120))
	if j, _ := s.answers.Pool.Hung(0); j != nil && j.Stream.Key.Name == "cam-0" {
		t.Error("a job hangs whose stream's memory is read back")
	}
	mend()
	collect(t, client, o.Out, count(160))
}
