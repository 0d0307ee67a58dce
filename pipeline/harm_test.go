package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// through connects a client whose connections write through harm, which is called with the connection and the
// bytes to write.
func through(t *testing.T, brokers []string, harm func(net.Conn, []byte) (int, error)) *topic.Client {
	t.Helper()
	client, err := topic.Connect(
		topic.Settings{
			Brokers:  brokers,
			ClientID: "harmed",
			Log:      quiet(),
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				return harmed{conn, harm}, nil
			},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

type harmed struct {
	net.Conn
	harm func(net.Conn, []byte) (int, error)
}

func (h harmed) Write(b []byte) (int, error) { return h.harm(h.Conn, b) }

// large distinguishes a batch of results from other requests to a broker.
const large = 2000

// Connections are cut while results are written, in turn before the last byte and right after it, so that
// only the acknowledgement is lost: the first batch, the next, then one in eight. Nothing is missing, every
// answer equals that of an undisturbed run, and with exactly-once delivery none is written twice.
func TestConnectionsCutWhileProducing(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	for _, once := range []bool{false, true} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			f := newFeed(41)
			in := brokertest.Topic(t, client, "in", 2, nil)
			const n, streams = 3000, 6
			o := basics(client, in, f)
			records := append(f.records(in, streams, n), markers(in, streams)...)
			var mutex sync.Mutex
			random := rand.New(rand.NewPCG(5, 5))
			cuts := 0
			cut := through(t, brokers, func(conn net.Conn, b []byte) (int, error) {
				mutex.Lock()
				strike := len(b) > large && (cuts < 2 || random.IntN(8) == 0)
				part := len(b)
				if strike {
					if cuts%2 == 0 {
						part = random.IntN(len(b))
					}
					cuts++
				}
				mutex.Unlock()
				if !strike {
					return conn.Write(b)
				}
				wrote, _ := conn.Write(b[:part])
				conn.Close()
				return wrote, errors.New("cut by the test")
			})
			harmedOptions := o
			harmedOptions.Delivery = &producer.AtLeastOnce{Client: cut, Log: o.Log}
			if once {
				harmedOptions.Delivery, harmedOptions.Eager = &producer.ExactlyOnce{Client: cut, Log: o.Log}, false
			}
			start(t, cut, harmedOptions)
			wait := trickle(t, client, records, 2*time.Second)
			got := collect(t, client, o.Out, count(n))
			wait()
			mutex.Lock()
			if cuts < 2 {
				t.Errorf("%d cuts, where an acknowledgement was to be lost too", cuts)
			}
			t.Logf("%d cuts", cuts)
			mutex.Unlock()
			calm := o
			calm.Group, calm.Out, calm.State, calm.Dead = brokertest.Name("group"), brokertest.Name("out"), "", ""
			start(t, client, calm)
			if repeats := compare(t, got, collect(t, client, calm.Out, count(n)), n); once && repeats > 0 {
				t.Errorf("%d answers are there twice", repeats)
			}
		})
	}
}

// A slow output slows down reading: pending bytes stay within their bound, and all records are answered.
func TestOutputIsSlow(t *testing.T) {
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	f := newFeed(42)
	in := brokertest.Topic(t, client, "in", 2, nil)
	const n, streams = 40_000, 6
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: time.Hour, Memory: 64 << 20}
	o.InFlight = 1 << 20
	var slow atomic.Bool
	slow.Store(true)
	harmed := through(t, brokers, func(conn net.Conn, b []byte) (int, error) {
		if slow.Load() && len(b) > large {
			time.Sleep(400 * time.Millisecond) // fault: a slow broker
		}
		return conn.Write(b)
	})
	o.Delivery = &producer.AtLeastOnce{Client: harmed, Log: o.Log}
	write(t, client, append(f.records(in, streams, n), markers(in, streams)...))
	staysFlat(t, "while the output is slow", func() { start(t, harmed, o) })
	slow.Store(false)
	if got := collect(t, client, o.Out, count(n)); len(got.answers) != n {
		t.Errorf("%d of %d answered", len(got.answers), n)
	}
}

// Unusable records of the labels topic go to the dead letters, with their bytes and the reason, and the other
// labels take effect.
func TestLabelsThatCannotBeUsed(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(44)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support, o.Decode = nil, record.Options{}
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	o.Labels = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	bad := map[string]string{
		"broken":     `{"label":"class-0","vector":[1,2`,
		"nameless":   `{"vector":[1,2,3]}`,
		"vectorless": `{"label":"class-1"}`,
	}
	var labels []record.Out
	for c := range classes {
		value, err := json.Marshal(map[string]any{"label": fmt.Sprintf("class-%d", c), "vector": f.vector(c)})
		if err != nil {
			t.Fatal(err)
		}
		labels = append(labels, record.Out{Topic: o.Labels, Partition: -1, Key: fmt.Appendf(nil, "example-%d", c), Value: value})
	}
	for key, value := range bad {
		labels = append(labels, record.Out{Topic: o.Labels, Partition: -1, Key: []byte(key), Value: []byte(value)})
	}
	write(t, client, labels)
	start(t, client, o)
	var records []record.Out
	const n = 40
	for i := range n {
		value, err := json.Marshal(map[string]any{"vector": f.vector(i % classes)})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record.Out{Topic: in, Partition: -1, Key: []byte("cam"), Value: value})
	}
	write(t, client, records)
	got := collect(t, client, o.Out, count(n))
	for i := range n {
		if a := got.answers[record.Source{Topic: in, Offset: int64(i), Object: -1}.ID()]; len(a) != 1 ||
			a[0].Label != fmt.Sprintf("class-%d", i%classes) {
			t.Errorf("item %d: %+v", i, a)
		}
	}
	seen := map[string]bool{}
	for _, l := range read(t, client, o.Dead, len(bad)) {
		if string(l.Value) != bad[string(l.Key)] {
			t.Errorf("a letter %q: %q", l.Key, l.Value)
		}
		reason, _ := l.Header(record.ErrorHeader)
		from, _ := l.Header(record.TopicHeader)
		if len(reason) == 0 || string(from) != o.Labels {
			t.Errorf("%s: reason %q, topic %q", l.Key, reason, from)
		}
		seen[string(l.Key)] = true
	}
	if len(seen) != len(bad) {
		t.Errorf("letters %v", seen)
	}
}

// Three processes of one group share a topic. One is killed now and then, and another takes its partitions:
// nothing is lost, and every answer equals that of an undisturbed run.
func TestProcessesShareATopic(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	f := newFeed(45)
	f.support() // the child draws its own first
	n, rounds, streams := 4000, 4, 12
	if long() {
		n, rounds = 50_000, 20
	}
	in := brokertest.Topic(t, client, "in", 6, nil)
	shared := child{
		Brokers: brokers, In: in, Out: brokertest.Topic(t, client, "out", 6, nil), Group: brokertest.Name("group"), Seed: 45,
		Limits: consumer.Limits{
			Size:   20,
			Age:    5 * time.Second,
			Memory: 64 << 20,
		}, Session: session, StateInterval: 500 * time.Millisecond,
	}
	var processes []*exec.Cmd
	for range 3 {
		processes = append(processes, shared.launch(t))
	}
	records := append(f.records(in, streams, n), markers(in, streams)...)
	wait := trickle(t, client, records, time.Duration(rounds)*2*time.Second)
	random := rand.New(rand.NewPCG(6, 6))
	for range rounds {
		time.Sleep(session + time.Duration(random.IntN(1000))*time.Millisecond) // fault: a kill at a random moment of the feed
		i := random.IntN(len(processes))
		kill(t, processes[i])
		processes[i] = shared.launch(t)
	}
	wait()
	got := collect(t, client, shared.Out, count(n))
	for _, p := range processes {
		kill(t, p)
	}
	calm := shared
	calm.Out, calm.Group = brokertest.Topic(t, client, "out", 6, nil), brokertest.Name("group")
	start(t, client, calm.options(client))
	compare(t, got, collect(t, client, calm.Out, count(n)), n)
}
