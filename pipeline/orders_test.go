package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// commanded is a running stage with exactly-once delivery that follows orders.
type commanded struct {
	t      *testing.T
	client *topic.Client
	feed   *feed
	o      Options
	stage  *Stage
	stop   func()
}

func newCommanded(t *testing.T) *commanded {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(1)
	o := basics(client, brokertest.Topic(t, client, "in", 1, nil), f)
	o.Labels = brokertest.Topic(t, client, "labels", 1, nil)
	o.Eager, o.Delivery = false, &producer.ExactlyOnce{Client: client, Log: o.Log}
	o.Limits.Size = 5
	x := &commanded{t: t, client: client, feed: f, o: o}
	x.start()
	return x
}

func (x *commanded) start() {
	x.t.Helper()
	var err error
	if x.stage, err = New(x.client, x.o); err != nil {
		x.t.Fatal(err)
	}
	x.stop = run(x.t, x.stage)
}

// send writes n items to each of the streams, item by item.
func (x *commanded) send(n int, streams ...string) {
	x.t.Helper()
	var list []record.Out
	for i := range n {
		for _, name := range streams {
			list = append(list, record.Out{
				Topic: x.o.In[0], Partition: 0, Key: []byte(name), Time: time.Now(),
				Value: encode(x.feed.vector(i % classes)),
			})
		}
	}
	write(x.t, x.client, list)
}

// give writes an order, or cancels it, and waits until that many pauses are in force.
func (x *commanded) give(o record.Order, back bool, pauses int) {
	x.t.Helper()
	out := o.Record(x.o.Labels)
	if back {
		out = o.Resume(x.o.Labels)
	}
	write(x.t, x.client, []record.Out{out})
	x.await(fmt.Sprintf("%d pauses", pauses), func() bool { return len(x.stage.Metrics().Paused()) == pauses })
}

func (x *commanded) await(what string, holds func() bool) {
	x.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			x.t.Fatalf("never: %s", what)
		}
	}
}

// answered waits for the answers of a stream, and checks that no answer, of this or other
// streams, occurs twice.
func (x *commanded) answered(name string, n int) *sink {
	x.t.Helper()
	s := collect(x.t, x.client, x.o.Out, func(s *sink) bool { return len(s.order[name]) >= n })
	for id, list := range s.answers {
		if len(list) != 1 {
			x.t.Errorf("%s is answered %d times", id, len(list))
		}
	}
	return s
}

var partition0 = int32(0)

// After a pause of everything, records already read are answered, including open episodes, so that processes
// can be stopped with nothing open.
func TestPauseDrains(t *testing.T) {
	t.Parallel()
	x := newCommanded(t)
	x.send(7, "a", "b") // one episode of each, and part of another
	x.answered("a", 5)
	x.answered("b", 5)
	x.give(record.Order{}, false, 1)
	x.answered("a", 7)
	x.answered("b", 7)
	x.await("nothing open in the metrics", func() bool { return x.stage.metrics.buffered.Sum() == 0 })
	x.stop()
	x.start()
	x.send(3, "a", "b")
	x.give(record.Order{}, true, 0)
	x.send(2, "a", "b")
	x.answered("a", 12)
	x.answered("b", 12)
}

// Paused records are not answered, others are, and nothing is lost or answered twice after the pause, with
// the same owner and with another, and however the pause ends.
func TestPause(t *testing.T) {
	for name, c := range map[string]struct {
		order    record.Order
		others   bool // other streams continue
		restart  bool // while paused
		together bool // the pause ends while no process runs
	}{
		"a stream":                           {order: record.Order{Stream: "a"}, others: true},
		"a stream, another owner":            {order: record.Order{Stream: "a"}, others: true, restart: true},
		"a stream, ends with nobody there":   {order: record.Order{Stream: "a"}, others: true, together: true},
		"a partition of an input":            {order: record.Order{Partition: &partition0}},
		"a partition, another owner":         {order: record.Order{Partition: &partition0}, restart: true},
		"everything":                         {},
		"everything, ends with nobody there": {together: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newCommanded(t)
			if c.order.Partition != nil {
				c.order.Topic = x.o.In[0]
			}
			x.send(10, "a", "b")
			x.answered("a", 10)
			x.answered("b", 10)
			x.give(c.order, false, 1)
			if ready := x.stage.Metrics().Ready(); ready != "" {
				t.Errorf("a pause is no trouble: %s", ready)
			}
			x.send(10, "a", "b")
			if c.others {
				s := x.answered("b", 20)
				if n := len(s.order["a"]); n != 10 {
					t.Fatalf("%d answers of a paused stream, not 10", n)
				}
			}
			if c.restart || c.together {
				x.stop()
			}
			if c.restart {
				x.start()
				x.await("the pause is known again", func() bool { return len(x.stage.Metrics().Paused()) == 1 })
				x.send(5, "a", "b")
				if c.others {
					if s := x.answered("b", 25); len(s.order["a"]) != 10 {
						t.Fatalf("%d answers of a paused stream, not 10", len(s.order["a"]))
					}
				}
			} else {
				x.send(5, "a", "b")
			}
			if c.together {
				write(t, x.client, []record.Out{c.order.Resume(x.o.Labels)})
				x.start()
			} else {
				x.give(c.order, true, 0)
			}
			x.send(5, "a", "b")
			x.answered("a", 30)
			x.answered("b", 30)
		})
	}
}

// A stream that was paused until its items filled all room is resumed, whether it was paused while the
// partition had an owner or before.
func TestPausedForLong(t *testing.T) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprint(restart), func(t *testing.T) {
			t.Parallel()
			x := newCommanded(t)
			x.stop()
			x.o.InFlight = 10 * 4 * dimension
			x.start()
			x.give(record.Order{Stream: "a"}, false, 1)
			const n = 300
			x.send(n, "a", "b")
			x.answered("b", n)
			if restart {
				x.stop()
				write(t, x.client, []record.Out{(&record.Order{Stream: "a"}).Resume(x.o.Labels)})
				x.start()
			} else {
				x.give(record.Order{Stream: "a"}, true, 0)
			}
			x.answered("a", n)
		})
	}
}

// A pause stays with the partition when it moves to a process that joins, and ends for both processes.
func TestPauseOverARebalance(t *testing.T) {
	x := newCommanded(t)
	x.send(5, "a", "b")
	x.answered("a", 5)
	x.give(record.Order{Stream: "a"}, false, 1)
	x.send(10, "a", "b")
	x.answered("b", 15)
	first := x.stop
	x.start()
	x.send(5, "a", "b")
	x.answered("b", 20)
	first()
	x.send(5, "a", "b")
	if s := x.answered("b", 25); len(s.order["a"]) != 5 {
		t.Errorf("%d answers of a paused stream, not 5", len(s.order["a"]))
	}
	x.give(record.Order{Stream: "a"}, true, 0)
	x.answered("a", 25)
}

// A skipped record is not answered, but those around it are.
func TestSkip(t *testing.T) {
	x := newCommanded(t)
	o := record.Order{Skip: x.o.In[0] + "/0/3"}
	write(t, x.client, []record.Out{o.Record(x.o.Labels)})
	x.await("the order is known", func() bool { return x.stage.labels.Current().Orders != nil })
	x.send(11, "a")
	if s := x.answered("a", 10); s.answers[o.Skip] != nil {
		t.Error("it is answered")
	}
}
