package pipeline

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

const (
	dimension = 64
	classes   = 4
)

// feed makes the vectors of a test: a few well-separated classes, drawn from a seed.
type feed struct{ random *rand.Rand }

func newFeed(seed uint64) *feed { return &feed{rand.New(rand.NewPCG(seed, 1))} }

func (f *feed) vector(class int) []float32 {
	v := make([]float32, dimension)
	for i := range v {
		v[i] = .1 * float32(f.random.NormFloat64())
	}
	v[class] += 3
	return v
}

func (f *feed) support() []taught.Example {
	var list []taught.Example
	for c := range classes {
		for i := range 2 {
			list = append(list, taught.Example{ID: fmt.Sprintf("s%d-%d", c, i), Label: fmt.Sprintf("class-%d", c), Vector: f.vector(c)})
		}
	}
	return list
}

// records returns n items of the given streams, about a tenth of a second of event time apart.
func (f *feed) records(name string, streams, n int) []record.Out {
	start := time.Now() // recent, because retention goes by these times
	list := make([]record.Out, n)
	for i := range list {
		value := encode(f.vector(f.random.IntN(classes)))
		list[i] = record.Out{
			Topic: name, Partition: -1, Key: fmt.Appendf(nil, "cam-%d", f.random.IntN(streams)), Value: value,
			Time: start.Add(time.Duration(i) * 20 * time.Millisecond),
		}
		if f.random.IntN(50) == 0 {
			list[i].Headers = []record.Header{{Key: "label", Value: fmt.Appendf(nil, "class-%d", f.random.IntN(classes))}}
		}
	}
	return list
}

func encode(vector []float32) []byte {
	value := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
	}
	return value
}

// watcher counts episodes by why they closed.
type watcher struct {
	mutex  sync.Mutex
	closed map[consumer.Reason]int
}

func (w *watcher) Answered(a *answering.Observed) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.closed == nil {
		w.closed = map[consumer.Reason]int{}
	}
	w.closed[a.Episode.Closed]++
}

func quiet() *slog.Logger {
	if os.Getenv("SLKSTREAM_TEST_LOG") != "" {
		return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(slog.NewTextHandler(io.Discard, nil))
}

// options returns those of an at-least-once stage, with episodes that only the input closes.
func basics(client *topic.Client, in string, f *feed) Options {
	s, err := solver.DefaultPreset.Settings()
	if err != nil {
		panic(err)
	}
	o := Options{
		Topics: Topics{Group: brokertest.Name("group"), In: []string{in}, Out: brokertest.Name("out")},
		Records: Records{
			Limits: consumer.Limits{Size: 20, Age: 5 * time.Second, Memory: 64 << 20},
			Decode: record.Options{Format: "f32"}, Committed: true,
		},
		Answers: Answers{Memory: stream.Settings{Solver: s, Warm: true}, Support: f.support()},
		Commits: Commits{Eager: true, StateInterval: 300 * time.Millisecond},
		Process: Process{Log: quiet()},
	}
	o.Dead = o.Out + "-dead"
	o.Delivery = &producer.AtLeastOnce{Client: client, Log: o.Log}
	return o
}

// start runs a stage until stop is called, which waits for its end.
func start(t testing.TB, client *topic.Client, o Options) (stop func()) {
	t.Helper()
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, s)
}

// run runs a stage until stop is called, which waits for its end.
func run(t testing.TB, s *Stage) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("the stage ended: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the stage does not stop")
		}
	}
	t.Cleanup(stop)
	return stop
}

func write(t testing.TB, client *topic.Client, records []record.Out) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.Write(ctx, records); err != nil {
		t.Fatal(err)
	}
}

// sink collects the records of a topic while the test runs.
type sink struct {
	answers map[string][]record.Result // by ID, in order
	order   map[string][]int64         // offsets of each stream's answers, in order
}

// collect reads a topic until enough returns true.
func collect(t testing.TB, client *topic.Client, name string, enough func(*sink) bool) *sink {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	s := &sink{answers: map[string][]record.Result{}, order: map[string][]int64{}}
	for n, err := client.Partitions(ctx, name); n == 0; n, err = client.Partitions(ctx, name) {
		if err != nil && !topic.Temporary(err) {
			t.Fatal(err)
		}
		if ctx.Err() != nil {
			t.Fatalf("no topic %s", name)
		}
		time.Sleep(50 * time.Millisecond) // pace: of a poll
	}
	n, _ := client.Partitions(ctx, name)
	readers := make([]*topic.Reader, n)
	for p := range readers {
		readers[p] = client.NewReader(topic.ReaderSettings{Topic: name, Partition: int32(p), MaxWait: 50 * time.Millisecond})
	}
	for {
		for _, r := range readers {
			for {
				b, err := r.Read(ctx)
				if err != nil {
					t.Fatalf("%v: %d ids so far", err, len(s.answers))
				}
				for i := range b.Records {
					var result record.Result
					if err := json.Unmarshal(b.Records[i].Value, &result); err != nil {
						t.Fatal(err)
					}
					s.answers[result.ID] = append(s.answers[result.ID], result)
					s.order[result.Stream] = append(s.order[result.Stream], result.Source.Offset)
				}
				if b.Next >= b.LastStable {
					break
				}
			}
		}
		if enough(s) {
			return s
		}
	}
}

func count(n int) func(*sink) bool { return func(s *sink) bool { return len(s.answers) >= n } }

// whole feeds end every stream with a marker, so that the input alone closes all episodes.
func markers(name string, streams int) []record.Out {
	list := make([]record.Out, streams)
	for i := range list {
		list[i] = record.Out{
			Topic:     name,
			Partition: -1,
			Key:       fmt.Appendf(nil, "cam-%d", i),
			Value:     []byte{},
			Headers:   []record.Header{{Key: record.MarkerHeader}},
		}
	}
	return list
}

// onceEach says whether any item was answered more than once, the first that it finds.
func onceEach(t testing.TB, got *sink) {
	t.Helper()
	for id, answers := range got.answers {
		if len(answers) != 1 {
			t.Errorf("%s answered %d times", id, len(answers))
			return
		}
	}
}

func TestEveryItemIsAnswered(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(1)
	in := brokertest.Topic(t, client, "in", 3, nil)
	o := basics(client, in, f)
	const n = 2000
	write(t, client, f.records(in, 10, n))
	write(t, client, markers(in, 10))
	start(t, client, o)
	s := collect(t, client, o.Out, count(n))
	for id, answers := range s.answers {
		if len(answers) != 1 {
			t.Errorf("%s answered %d times", id, len(answers))
		}
		if answers[0].Label == "" {
			t.Errorf("%s has no label", id)
		}
	}
}
