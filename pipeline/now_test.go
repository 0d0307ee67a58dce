package pipeline

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/producer"
)

// claimed waits until the stage owns the partitions of a topic, which hold nothing yet: what comes from then on may get a first
// answer.
func claimed(t *testing.T, s *Stage, partitions int) {
	t.Helper()
	waitUntil(t, "the partitions are not claimed", func() bool {
		n := 0
		for _, p := range s.watch.Partitions.All() {
			if p.Figures(time.Now()).Ready {
				n++
			}
		}
		return n == partitions
	})
}

func waitUntil(t *testing.T, what string, over func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !over(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

// Every item is answered when it is read, once, before its settled result, which is what it would be without.
func TestFirstAnswers(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	const n, streams = 900, 6
	settled := map[string]record.Result{}
	for _, c := range []struct {
		name   string
		now    bool
		exact  bool
		broken bool // the topic of first answers cannot be written
	}{
		{name: "without"},
		{name: "with", now: true},
		{name: "exactly once", now: true, exact: true},
		{name: "refused", now: true, broken: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFeed(1)
			in := brokertest.Topic(t, client, "in", 2, nil)
			o := basics(client, in, f)
			o.NowWithin = time.Minute // a loaded machine is no reason to leave any out
			if c.now {
				o.Now = brokertest.Name("now")
			}
			if c.broken {
				o.Now = strings.Repeat("x", 300) // no topic has such a name
			}
			if c.exact {
				o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			}
			s, err := New(client, o)
			if err != nil {
				t.Fatal(err)
			}
			stop := run(t, s)
			claimed(t, s, 2)
			records := f.records(in, streams, n)
			for part := range 9 { // what comes in one fetch is answered together
				write(t, client, records[part*n/9:(part+1)*n/9])
				waitUntil(t, "not all is read", func() bool { return !c.now || s.metrics.now.Sum() >= float64((part+1)*n/9) })
			}
			write(t, client, markers(in, streams))
			results := collect(t, client, o.Out, count(n))
			stop()
			for id, list := range results.answers {
				if len(list) != 1 || list[0].Settled != nil {
					t.Errorf("%s: %d results, %+v", id, len(list), list[0])
				}
				key := strings.TrimPrefix(id, in)
				if r := list[0]; c.name == "without" {
					settled[key] = r
				} else if want := settled[key]; r.Label != want.Label || r.Confidence != want.Confidence || r.Episode != want.Episode {
					t.Errorf("%s: %+v with first answers, %+v without", id, r, want)
				}
			}
			if !c.now {
				return
			}
			answered := int(s.metrics.now.Value(first.CountAnswered))
			late := int(s.metrics.now.Value(first.CountLate)) // settled before its turn
			if c.broken {
				if refused := int(s.metrics.now.Value(first.CountRefused)); answered > 0 || refused+late != n {
					t.Errorf("%d refused, %d late, %d answered", refused, late, answered)
				}
				return
			}
			if answered+late != n || answered < n/2 {
				for _, outcome := range first.Counts {
					t.Logf("%s: %.0f", outcome, s.metrics.now.Value(outcome))
				}
				t.Fatalf("%d answered and %d late of %d", answered, late, n)
			}
			first := collect(t, client, o.Now, count(answered))
			same := 0
			for id, list := range first.answers {
				if len(list) != 1 || list[0].Settled == nil || *list[0].Settled || list[0].Label == "" {
					t.Errorf("%s: first answers %+v", id, list)
				}
				if list[0].Label == results.answers[id][0].Label {
					same++
				}
			}
			if same < answered*9/10 {
				t.Errorf("%d of %d first answers are those of the episodes", same, answered)
			}
		})
	}
}

// A slow broker is waited for while first answers are of use.
func TestFirstAnswersOfASlowBroker(t *testing.T) {
	t.Parallel()
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	f := newFeed(2)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Now, o.NowWithin = brokertest.Name("now"), time.Minute
	server.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		if topics := r.(*kmsg.ProduceRequest).Topics; len(topics) > 0 && topics[0].Topic == o.Now {
			server.Cluster.SleepControl(func() { time.Sleep(1500 * time.Millisecond) }) // fault: a slow broker
		}
		return nil, nil, false
	})
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	claimed(t, s, 1)
	write(t, client, f.records(in, 1, 10)) // they close no episode, which would settle them before their turn
	waitUntil(t, "not all is read", func() bool { return s.metrics.now.Sum() >= 10 })
	if answered := s.metrics.now.Value(first.CountAnswered); answered != 10 {
		t.Errorf("%.0f of 10 answered, %.0f refused", answered, s.metrics.now.Value(first.CountRefused))
	}
}

// What was there when the partition was claimed, an earlier owner may have settled: it gets no first answer. What comes after it
// does.
func TestNoFirstAnswerToWhatWasThere(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(2)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Now, o.NowWithin = brokertest.Name("now"), time.Minute
	write(t, client, f.records(in, 1, 45))
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	waitUntil(t, "what was there is not read", func() bool { return s.metrics.now.Value(first.CountEarlier) == 45 })
	write(t, client, f.records(in, 1, 10)) // they close no episode, which would settle them before their turn
	first := collect(t, client, o.Now, count(10))
	for id := range first.answers {
		if tp := first.answers[id][0].Source.Offset; tp < 45 {
			t.Errorf("offset %d has a first answer", tp)
		}
	}
}

// told is an observer of both answers of each item.
type told struct {
	mutex          sync.Mutex
	first, settled map[string]bool
	faults         []string
}

func (o *told) Answered(a *answering.Observed) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for i := range a.Results {
		o.settled[a.Results[i].ID] = true
	}
}

func (o *told) answeredFirst(list []first.Answer) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for i := range list {
		a := &list[i]
		r := a.Result()
		if r.ID != a.Item().ID() || r.Label == "" || r.Settled == nil || *r.Settled || a.Took <= 0 ||
			o.first[r.ID] {
			o.faults = append(o.faults, fmt.Sprintf("%+v", r))
		}
		if o.settled[r.ID] && !a.Late {
			o.faults = append(o.faults, r.ID+" is settled and not late")
		}
		o.first[r.ID] = true
	}
}

// An observer is told of first answers before their episodes, or that they are late; its panics are its own.
func TestFirstAnswersAreToldFirst(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	const n, streams = 600, 3
	f := newFeed(4)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Now, o.NowWithin = brokertest.Name("now"), time.Minute
	both := &told{first: map[string]bool{}, settled: map[string]bool{}}
	o.Observer = both
	o.AnsweredFirst = func(list []first.Answer) { both.answeredFirst(list); panic("no stage stops for this") }
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	claimed(t, s, 1)
	records := f.records(in, streams, n)
	for part := range 20 {
		write(t, client, records[part*n/20:(part+1)*n/20])
		waitUntil(t, "not all is read", func() bool { return s.metrics.now.Sum() >= float64((part+1)*n/20) })
	}
	write(t, client, markers(in, streams))
	collect(t, client, o.Out, count(n))
	stop()
	both.mutex.Lock()
	defer both.mutex.Unlock()
	for _, fault := range both.faults {
		t.Error(fault)
	}
	if answered := int(s.metrics.now.Value(first.CountAnswered)); len(both.first) != answered || answered == 0 {
		t.Errorf("%d told, %d answered", len(both.first), answered)
	}
}
