package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// trickle writes records a few at a time, over approximately the given time.
func trickle(t *testing.T, client *topic.Client, records []record.Out, over time.Duration) (wait func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		const at = 100
		pause := over / time.Duration(len(records)/at+1)
		for from := 0; from < len(records); from += at {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
			err := client.Write(ctx, records[from:min(len(records), from+at)])
			cancel()
			if err != nil {
				t.Errorf("feeding: %v", err)
				return
			}
			time.Sleep(pause) // pace: of the feed
		}
	}()
	return func() { <-done }
}

// long says whether the tests run in their long form.
func long() bool { n, _ := scale(); return n > 10_000 }

// Members come and go: nothing is lost, every answer equals that of an undisturbed run, so state moves with
// its partition, and no commit moves an offset back.
func TestMembersComeAndGo(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	f := newFeed(21)
	in := brokertest.Topic(t, client, "in", 4, nil)
	n, rounds, streams := 3000, 8, 10
	if long() {
		n, rounds = 20_000, 60
	}
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: 5 * time.Second, Memory: 64 << 20}
	o.Session, o.Rebalance = session, 2*session
	records := append(f.records(in, streams, n), markers(in, streams)...)
	wait := trickle(t, client, records, time.Duration(rounds)*time.Second)
	watching, stopWatching := context.WithCancel(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		highest := map[int32]int64{}
		for ; watching.Err() == nil; time.Sleep(20 * time.Millisecond) {
			for p := range int32(4) {
				offset, err := client.Committed(watching, o.Group, in, p)
				if offset = max(offset, 0); err == nil && offset < highest[p] {
					t.Errorf("partition %d: the committed offset went back from %d to %d", p, highest[p], offset)
				}
				highest[p] = max(highest[p], offset)
			}
		}
	}()
	steady := start(t, client, o)
	var members []func()
	random := rand.New(rand.NewPCG(3, 3))
	for range rounds {
		if len(members) == 0 || len(members) < 3 && random.IntN(2) == 0 {
			members = append(members, start(t, client, o))
		} else {
			i := random.IntN(len(members))
			members[i]()
			members = append(members[:i], members[i+1:]...)
		}
		time.Sleep(time.Second) // fault: members come and go once a second of the feed
	}
	wait()
	got := collect(t, client, o.Out, count(n))
	for _, stop := range append(members, steady) {
		stop()
	}
	stopWatching()
	<-watched
	calm := o
	calm.Group, calm.Out, calm.State, calm.Dead = brokertest.Name("group"), brokertest.Name("out"), "", ""
	start(t, client, calm)
	compare(t, got, collect(t, client, calm.Out, count(n)), n)
}

// The broker goes away during work and comes back: the stage waits, continues without a restart,
// and answers everything.
func TestBrokerGoesAway(t *testing.T) {
	t.Parallel()
	if brokertest.Real() {
		t.Log("a broker that others share is not killed here: see the chaos tool")
	}
	away := time.Second
	if long() {
		away = 60 * time.Second
	}
	dir := t.TempDir()
	server, err := broker.Serve(dir, 0, quiet())
	if err != nil {
		t.Fatal(err)
	}
	address := server.Address
	var port int
	if _, err := fmt.Sscanf(address[len(address)-6:], ":%d", &port); err != nil {
		if _, err = fmt.Sscanf(address[len(address)-5:], ":%d", &port); err != nil {
			t.Fatal(err)
		}
	}
	defer func() { server.Close() }()
	client := brokertest.Connect(t, []string{address})
	f := newFeed(22)
	in := brokertest.Topic(t, client, "in", 2, nil)
	const n, streams = 3000, 6
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: 5 * time.Second, Memory: 64 << 20}
	stop := start(t, client, o)
	wait := trickle(t, client, append(f.records(in, streams, n), markers(in, streams)...), 3*time.Second)
	for i, pause := range []time.Duration{300 * time.Millisecond, away} {
		collect(t, client, o.Out, count((1+2*i)*n/6))
		server.Close()
		time.Sleep(pause) // fault: how long the broker is away
		if server, err = broker.Serve(dir, port, quiet()); err != nil {
			t.Fatal(err)
		}
	}
	wait()
	written := 0 // the feed repeats what it wrote when the broker went
	for p := range int32(2) {
		for r, err := range client.All(t.Context(), topic.TopicPartition{Topic: in, Partition: p}) {
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Value) > 0 {
				written++
			}
		}
	}
	got := collect(t, client, o.Out, count(written))
	stop()
	if written < n || len(got.answers) != written {
		t.Errorf("%d of %d answered, of a feed of %d", len(got.answers), written, n)
	}
}

// An output that refuses everything for a while stops the stage's progress, but memory does not grow and
// nothing is lost.
func TestOutputRefuses(t *testing.T) {
	server := brokertest.Embedded(t) // real brokers refuse on request only with authorisation set up
	client := brokertest.Connect(t, []string{server.Address})
	f := newFeed(23)
	in := brokertest.Topic(t, client, "in", 2, nil)
	const n, streams = 20_000, 6
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: 5 * time.Second, Memory: 64 << 20}
	o.InFlight = 1 << 20
	o.Out = brokertest.Topic(t, client, "out", 2, nil)
	o.Dead = o.Out + "-dead"
	var mutex sync.Mutex
	refused := 0
	refusing := true
	server.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		mutex.Lock()
		defer mutex.Unlock()
		if !refusing || len(request.Topics) == 0 || request.Topics[0].Topic != o.Out {
			return nil, nil, false
		}
		refused++
		answer := request.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range request.Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic = t.Topic
			for _, p := range t.Partitions {
				partition := kmsg.NewProduceResponseTopicPartition()
				partition.Partition, partition.ErrorCode = p.Partition, kerr.TopicAuthorizationFailed.Code
				topic.Partitions = append(topic.Partitions, partition)
			}
			answer.Topics = append(answer.Topics, topic)
		}
		return answer, nil, true
	})
	write(t, client, f.records(in, streams, n))
	write(t, client, markers(in, streams))
	staysFlat(t, "while the output refuses", func() { start(t, client, o) })
	mutex.Lock()
	refusing = false
	if refused == 0 {
		t.Error("nothing was refused")
	}
	mutex.Unlock()
	got := collect(t, client, o.Out, count(n))
	for id, answers := range got.answers {
		if len(answers) != 1 {
			t.Errorf("%s answered %d times: a batch that was refused as a whole is sent again, no other", id, len(answers))
			break
		}
	}
}

// staysFlat starts an operation and checks the heap three seconds later. 48 MB suffice for two partitions'
// fetches and records in flight, and are far less than would accumulate if input were not held back.
func staysFlat(t *testing.T, when string, begin func()) {
	t.Helper()
	t.Setenv("SLKSTREAM_TEST_ALONE", "1") // ends a test that runs beside others: their heap would count
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin()
	time.Sleep(3 * time.Second) // subject: what accumulates in a time in which nothing may
	runtime.GC()
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 48<<20 {
		t.Errorf("%d MB more on the heap %s", grown>>20, when)
	}
}

// Stops under load: what a stage answered is not answered again by the next one. A hand-over has time enough
// for whatever else the machine does.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(24)
	in := brokertest.Topic(t, client, "in", 3, nil)
	const n, streams = 30_000, 9
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: 5 * time.Second, Memory: 64 << 20}
	o.DrainTimeout = 50 * time.Second
	const rounds = 3
	records := f.records(in, streams, n)
	for round := range rounds {
		write(t, client, records[round*n/rounds:(round+1)*n/rounds])
		s, err := New(client, o)
		if err != nil {
			t.Fatal(err)
		}
		stop := run(t, s)
		eventually(t, "at work", func() bool { return s.metrics.records.Sum() > 0 })
		stop()
	}
	write(t, client, markers(in, streams))
	start(t, client, o)
	onceEach(t, collect(t, client, o.Out, count(n)))
}

// A stop while the first offset of an ownership is still on its way, when answers are written already: it
// waits for it, and they are not answered again.
func TestStopBeforeTheFirstOffset(t *testing.T) {
	t.Parallel()
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	f := newFeed(27)
	in := brokertest.Topic(t, client, "in", 1, nil)
	const n = 60
	o := basics(client, in, f)
	o.CommitInterval = time.Millisecond
	write(t, client, append(f.records(in, 1, n), markers(in, 1)...))
	release := make(chan struct{})
	var first sync.Once
	server.Cluster.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		first.Do(func() { server.Cluster.SleepControl(func() { <-release }) })
		return nil, nil, false
	})
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	collect(t, client, o.Out, count(1))
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	eventually(t, "handing over", func() bool {
		list := s.watch.Partitions.Stuck(time.Now(), 0)
		return len(list) > 0 && list[0].Doing == "handing over"
	})
	close(release)
	<-stopped
	start(t, client, o)
	onceEach(t, collect(t, client, o.Out, count(n)))
}

// New partitions of the input are found and read, and their streams are saved in partitions added to
// the state topic.
func TestPartitionsGrow(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := newFeed(25)
	in := brokertest.Topic(t, client, "in", 1, nil)
	const n, streams = 400, 8
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: time.Hour, Memory: 64 << 20}
	o.State = o.Group + "-state"
	o.Watch = 200 * time.Millisecond
	start(t, client, o)
	write(t, client, append(f.records(in, streams, n), markers(in, streams)...))
	collect(t, client, o.Out, count(n))
	const grown = 3
	if err := client.Grow(ctx, in, grown); err != nil {
		t.Fatal(err)
	}
	seen := func(name string) { // a client's metadata may be two seconds old
		for ; ; time.Sleep(50 * time.Millisecond) {
			if partitions, err := client.Partitions(ctx, name); err != nil {
				t.Fatalf("%s: %v", name, err)
			} else if partitions == grown {
				return
			}
		}
	}
	seen(in)
	write(t, client, append(f.records(in, streams, n), markers(in, streams)...))
	got := collect(t, client, o.Out, count(2*n))
	moved := map[int32]bool{}
	for _, answers := range got.answers {
		moved[answers[0].Source.Partition] = true
	}
	if len(moved) != grown {
		t.Errorf("answers from partitions %v", moved)
	}
	seen(o.State)
}

// An idle stream's one item is answered while other streams of its partition are busy, and the committed
// offset moves past it.
func TestQuietStreamAmongBusyOnes(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := newFeed(26)
	const n = 1000
	for name, limits := range map[string]consumer.Limits{
		"age":  {Size: 50, Age: 3 * time.Second, Memory: 64 << 20},
		"idle": {Size: 50, Idle: 300 * time.Millisecond, Memory: 64 << 20},
	} {
		in := brokertest.Topic(t, client, "in", 1, nil)
		o := basics(client, in, f)
		o.Limits = limits
		lone := f.records(in, 1, 1)
		lone[0].Key = []byte("quiet")
		write(t, client, append(lone, f.records(in, 1, n)...))
		start(t, client, o)
		all := n + 1
		if name == "age" {
			all -= 50 // no later record closes the last episodes
		}
		got := collect(t, client, o.Out, count(all))
		id := record.Source{Topic: in, Object: -1}.ID()
		if len(got.answers[id]) == 0 {
			t.Errorf("%s: the quiet stream's item is not answered", name)
		}
		for ; ; time.Sleep(20 * time.Millisecond) {
			committed, err := client.Committed(ctx, o.Group, in, 0)
			if err != nil {
				t.Fatal(err)
			}
			if committed > 0 {
				break
			}
		}
	}
}

// With many streams of less than an episode each and little memory, the oldest episodes close, and
// everything is answered.
func TestManyStreamsInLittleMemory(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(27)
	in := brokertest.Topic(t, client, "in", 2, nil)
	streams, items, room := 500, 19, int64(1<<20)
	if long() {
		streams, items, room = 10_000, 49, 8<<20
	}
	o := basics(client, in, f)
	o.Memory.Warm, o.Memory.Solver.Method = false, "nearest" // the test is about memory, not answers
	o.Limits = consumer.Limits{Size: items + 1, Age: time.Hour, Idle: 500 * time.Millisecond, Memory: room}
	watch := &watcher{}
	o.Observer = watch
	n := streams * items
	start(t, client, o)
	for range items {
		var batch []record.Out
		for s := range streams {
			batch = append(
				batch,
				record.Out{
					Topic:     in,
					Partition: -1,
					Key:       fmt.Appendf(nil, "cam-%d", s),
					Value:     encode(f.vector(s % classes)),
					Time:      time.Now(),
				},
			)
		}
		write(t, client, batch)
	}
	got := collect(t, client, o.Out, count(n))
	if len(got.answers) != n {
		t.Errorf("%d of %d answered", len(got.answers), n)
	}
	watch.mutex.Lock()
	defer watch.mutex.Unlock()
	if watch.closed[consumer.Memory] == 0 {
		t.Errorf("no episode closed for memory: %v", watch.closed)
	}
}
