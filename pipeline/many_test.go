package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/producer"
)

// A flood of keys that come once evicts neither a stream that was taught nor a long-lived one, though both
// are idle meanwhile. A new owner keeps them too.
func TestOneOffKeysPushOutOneAnother(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(131)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.State = o.Group + "-state"
	o.MaxStreams, o.StateInterval = 50, 100*time.Millisecond
	o.Limits = consumer.Limits{Size: 5, Age: time.Hour, Idle: 200 * time.Millisecond, Memory: 64 << 20}
	var first []record.Out
	for i, r := range f.records(in, 1, 400) {
		r.Key, r.Headers = fmt.Appendf(nil, "cam-%d", i%8), nil
		switch {
		case i%8 < 4 && i < 40: // taught, and gone again
			r.Headers = []record.Header{{Key: "label", Value: fmt.Appendf(nil, "class-%d", i%classes)}}
		case i%8 < 4:
			continue
		}
		first = append(first, r)
	}
	stop := start(t, client, o)
	write(t, client, first)
	collect(t, client, o.Out, count(len(first)))
	flood := func(name string, n int) {
		records := f.records(in, 1, n)
		for i := range records {
			records[i].Key, records[i].Headers = fmt.Appendf(nil, "%s-%d", name, i), nil
		}
		write(t, client, records)
	}
	flood("once", 600)
	collect(t, client, o.Out, count(len(first)+600))
	stop()
	start(t, client, o)
	flood("again", 300)
	collect(t, client, o.Out, count(len(first)+900))
	list, _, err := admin.ReadState(t.Context(), client, o.State, o.Group)
	if err != nil {
		t.Fatal(err)
	}
	kept := 0
	for _, r := range list {
		if strings.HasPrefix(r.Stream, "cam-") && r.Memory.Episode > 0 {
			kept++
		}
	}
	if kept != 8 {
		t.Errorf("%d of 8 cameras are remembered among %d streams", kept, len(list))
	}
}

// slow is a delivery each of whose commits lasts longer than the time from one tick to the next.
type slow struct{ producer.Delivery }

func (s slow) Claim(ctx context.Context, c producer.Claim) (producer.Committer, int64, error) {
	committer, offset, err := s.Delivery.Claim(ctx, c)
	return slowCommitter{committer}, offset, err
}

type slowCommitter struct{ producer.Committer }

func (s slowCommitter) Commit(ctx context.Context, c *producer.Commit) error {
	return errors.Join(topic.Pause(ctx, 2*tickEvery), s.Committer.Commit(ctx, c))
}

// Items with keys that never recur are all answered, and the memory kept of them is bounded, in the process
// and in the state, although each tick finds a commit in flight. A stream that continues is not evicted.
func TestStreamsAreBounded(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(61)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.State, o.Delivery = o.Group+"-state", slow{o.Delivery}
	o.MaxStreams, o.StateInterval = 40, 100*time.Millisecond
	o.Limits = consumer.Limits{Size: 5, Age: time.Hour, Idle: 200 * time.Millisecond, Memory: 64 << 20}
	const n = 1000
	records := f.records(in, 1, n+10)
	for i := range records {
		if i < n && i%2 == 0 {
			records[i].Key = fmt.Appendf(nil, "once-%d", i)
		}
	}
	start(t, client, o)
	for from := 0; from < n; from += 100 {
		write(t, client, records[from:from+100])
		collect(t, client, o.Out, count(from+90)) // the last episode of the lasting stream may be open
	}
	collect(t, client, o.Out, count(n))
	write(t, client, records[n:])
	collect(t, client, o.Out, count(n+10))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		list, faults, err := admin.ReadState(ctx, client, o.State, o.Group)
		if err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		remembered, lasting := 0, false
		for _, r := range list {
			remembered++
			lasting = lasting || r.Stream == "cam-0" && r.Memory.Episode > 50
		}
		if lasting && remembered <= 2*o.MaxStreams {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d streams in the state, the lasting one among them: %v", remembered, lasting)
		}
		// Episodes closed by silence at the end of the input stay in the journal until another record comes.
		write(t, client, f.records(in, 1, 1))
		time.Sleep(100 * time.Millisecond) // pace: of the feed
	}
}

// A stream that is evicted leaves the state once its last snapshot, which says what was answered, is there.
func TestEvictedStreamsLeaveTheState(t *testing.T) {
	t.Parallel()
	committer := &noted{commits: make(chan *producer.Commit, 1)}
	s := &Stage{
		metrics: newMetrics(new(health.Watch)), firstAnswers: first.New(first.Settings{}),
		options: Options{Answers: Answers{MaxStreams: 2}},
	}
	p := owned(s, committer)
	begin(t, p, 3, nil)
	for i := range 20 {
		p.answering.Stream(record.StreamID{Name: fmt.Sprint(i)})
	}
	loader := state.NewLoader("group", "in")
	saved := 0
	for range 4 {
		p.retired = time.Time{}
		p.free(time.Now())
		if !p.commit(true) {
			continue
		}
		for _, r := range (<-committer.commits).State {
			loader.Add(&record.Raw{Key: r.Key, Value: r.Value})
			saved++
		}
		if err := p.acknowledge(<-p.ledger.Done()); err != nil {
			t.Fatal(err)
		}
	}
	if left := len(loader.Restore().Snapshots); left > 0 || saved < 18 || p.answering.Len() > 2 {
		t.Errorf("%d streams, %d in the state, %d records", p.answering.Len(), left, saved)
	}
}

// A stream whose open episode holds back the offset does not let the others grow in number. The next owner
// reads their items again, and answers none of them again.
func TestStreamsAreBoundedWhileTheOffsetIsHeldBack(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(1)
	o := basics(client, brokertest.Topic(t, client, "in", 1, nil), f)
	o.Eager, o.Delivery = false, &producer.ExactlyOnce{Client: client, Log: o.Log}
	o.MaxStreams, o.StateInterval = 20, 100*time.Millisecond
	o.Limits = consumer.Limits{Size: 2, Age: time.Hour, Memory: 64 << 20}
	send := func(n int, name string) {
		records := f.records(o.In[0], 1, n)
		for i := range records {
			records[i].Key, records[i].Headers = []byte(name), nil
		}
		write(t, client, records)
	}
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	send(1, "held")
	const streams = 200
	for i := range streams {
		send(2+i%2, fmt.Sprintf("once-%d", i))
	}
	collect(t, client, o.Out, count(2*streams))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		n := len(s.Remembered())
		if n <= 2*o.MaxStreams {
			break
		}
		if topic.Pause(ctx, 5*time.Millisecond) != nil {
			t.Fatalf("%d streams are remembered", n)
		}
	}
	stop()
	start(t, client, o)
	send(1, "held")
	for i := 1; i < streams; i += 2 {
		send(1, fmt.Sprintf("once-%d", i)) // closes what is open
	}
	onceEach(t, collect(t, client, o.Out, count(3*streams+2)))
}
