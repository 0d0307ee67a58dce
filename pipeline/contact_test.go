package pipeline

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// wire is a network that a test interrupts: connections are refused, or stay open and carry nothing.
type wire struct {
	mutex   sync.Mutex
	refused bool
	held    chan struct{} // closed when connections carry data again; nil: they do
	open    []net.Conn
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mutex.Lock()
	refused := w.refused
	w.mutex.Unlock()
	if refused {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused by the test")}
	}
	far, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	near, middle := net.Pipe()
	w.mutex.Lock()
	w.open = append(w.open, far, middle)
	w.mutex.Unlock()
	pump := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		_, _ = io.Copy(to, gated{from, w})
	}
	go pump(far, middle)
	go pump(middle, far)
	return near, nil
}

// gated passes on what it reads only while the wire carries data.
type gated struct {
	io.Reader
	wire *wire
}

func (g gated) Read(b []byte) (int, error) {
	n, err := g.Reader.Read(b)
	g.wire.mutex.Lock()
	held := g.wire.held
	g.wire.mutex.Unlock()
	if held != nil {
		<-held
	}
	return n, err
}

func (w *wire) refuse() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.refused = true
	for _, c := range w.open {
		c.Close()
	}
	w.open = nil
}

func (w *wire) hold() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.held = make(chan struct{})
}

func (w *wire) mend() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.refused = false
	if w.held != nil {
		close(w.held)
		w.held = nil
	}
}

// A process that cannot reach its brokers reports that after one missed session, shows no outdated figures,
// and is ready again when they are back.
func TestCutOffIsTold(t *testing.T) {
	t.Parallel()
	cuts := map[string]func(*wire){"refused": (*wire).refuse, "held": (*wire).hold}
	for name, cut := range cuts {
		t.Run(name, func(t *testing.T) {
			brokers := brokertest.Brokers(t)
			client := brokertest.Connect(t, brokers)
			f := newFeed(101)
			in := brokertest.Topic(t, client, "in", 1, nil)
			network := &wire{}
			t.Cleanup(network.mend)
			o := basics(client, in, f)
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			if !brokertest.Real() {
				o.Session = session
			}
			said := &lines{}
			o.Log = slog.New(slog.NewTextHandler(said, nil))
			mine, err := topic.Connect(topic.Settings{
				Brokers: brokers, ClientID: "cut", Log: quiet(), Dial: network.dial,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(mine.Close)
			o.Delivery = &producer.AtLeastOnce{Client: mine, Log: o.Log}
			s, err := New(mine, o)
			if err != nil {
				t.Fatal(err)
			}
			run(t, s)
			m := s.Metrics()
			write(t, client, f.records(in, 1, 10))
			collect(t, client, o.Out, count(10))
			owned := func() string { return metric(m, "slkstream_partitions ") }
			eventually(t, "at work", func() bool {
				return m.Ready() == "" && m.Summary().Lag == 0 && owned() == "slkstream_partitions 1"
			})
			cut(network)
			eventually(t, "not ready", func() bool { return strings.Contains(m.Ready(), "cut off") })
			eventually(t, "said", func() bool { return said.count("cut off") > 0 })
			eventually(t, "no lag that is not known", func() bool {
				lag := metric(m, "slkstream_lag_records")
				return m.Summary().Lag == -1 && (lag == "" || strings.HasSuffix(lag, " NaN"))
			})
			eventually(t, "no partitions", func() bool { return owned() == "slkstream_partitions 0" })
			if got := metric(m, "slkstream_cut_off_seconds"); strings.HasSuffix(got, " 0") {
				t.Errorf("%q", got)
			}
			network.mend()
			eventually(t, "ready again", func() bool { return m.Ready() == "" })
			write(t, client, f.records(in, 1, 10))
			collect(t, client, o.Out, count(20))
			eventually(t, "known again", func() bool { return m.Summary().Lag == 0 })
		})
	}
}

// Records behind an open transaction wait. The wait is reported, with the transaction's first offset
// and its producer.
func TestInputBehindATransaction(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(102)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	o.StallAfter = time.Second
	said := &lines{}
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	m := s.Metrics()
	write(t, client, f.records(in, 1, 10))
	collect(t, client, o.Out, count(10))
	end := leaveOpen(t, client, record.Out{Topic: in, Key: []byte("cam-0"), Value: encode(f.vector(0))})
	write(t, client, f.records(in, 1, 9))
	eventually(t, "not ready", func() bool {
		why := m.Ready()
		return strings.Contains(why, "begins at offset 10, producer id") &&
			strings.Contains(why, "10 records of "+in)
	})
	eventually(t, "said", func() bool { return said.count("transaction that has not ended") > 0 })
	eventually(t, "counted", func() bool {
		return strings.HasSuffix(metric(m, "slkstream_undecided_records"), " 10") && m.Summary().Lag == 10
	})
	if err := end(context.Background()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready again", func() bool { return m.Ready() == "" })
	eventually(t, "decided", func() bool {
		return strings.HasSuffix(metric(m, "slkstream_undecided_records"), " 0")
	})
}
