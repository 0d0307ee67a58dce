package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream"
)

// read returns the records of a topic once there are enough.
func read(t *testing.T, client *topic.Client, name string, enough int) []record.Raw {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ; ; time.Sleep(50 * time.Millisecond) {
		var list []record.Raw
		spans, err := client.Spans(ctx, false, name)
		for r, failed := range client.Records(ctx, spans...) {
			if err = failed; err == nil {
				list = append(list, *r)
			}
		}
		if err != nil && !topic.Temporary(err) {
			t.Fatal(err)
		}
		if len(list) >= enough {
			return list
		}
	}
}

// Every malformed record among good ones is in the dead letters, with its bytes, key, headers and reason. The
// good ones are all answered.
func TestPoison(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(31)
	in := brokertest.Topic(t, client, "in", 2, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: time.Hour, Memory: 64 << 20}
	o.Decode = record.Options{}
	wrong := f.vector(0)
	nan := f.vector(0)
	nan[3] = float32(math.NaN())
	infinite := f.vector(0)
	infinite[5] = float32(math.Inf(1))
	poison := map[string][]byte{
		"truncated JSON":      []byte(`{"id":"x","vector":[1,2`),
		"no vector":           []byte(`{"id":"x","stream":"s"}`),
		"vector of texts":     []byte(`{"vector":["a","b"]}`),
		"dimension":           encode(wrong[:dimension-1]),
		"not whole":           encode(wrong)[:4*dimension-3],
		"NaN":                 encode(nan),
		"Inf":                 encode(infinite),
		"zero":                make([]byte, 4*dimension),
		"empty":               {},
		"too large":           []byte(`{"vector":[` + strings.Repeat("1,", 450_000) + `1]}`),
		"number out of reach": []byte(`{"vector":[` + strings.Repeat("1e39,", dimension-1) + `1]}`),
	}
	const n, streams = 600, 5
	good := f.records(in, streams, n)
	floats := record.Header{Key: "content-type", Value: []byte("application/x-f32")}
	for i := range good {
		good[i].Headers = append(good[i].Headers, floats)
	}
	records := []record.Out{good[0]}
	names := map[string]string{}
	i := 1
	for name, value := range poison {
		headers := []record.Header{{Key: "case", Value: []byte(name)}}
		if !strings.HasPrefix(string(value), "{") {
			headers = append(headers, floats)
		}
		records = append(records, record.Out{Topic: in, Partition: -1, Key: []byte(name), Value: value, Headers: headers})
		names[name] = string(value)
		records = append(records, good[i:i+20]...)
		i += 20
	}
	records = append(records, good[i:]...)
	o.Decode.Dimension, o.Decode.LongestValue = dimension, 800_000
	start(t, client, o)
	write(t, client, append(records, markers(in, streams)...))
	got := collect(t, client, o.Out, count(n))
	if len(got.answers) != n {
		t.Errorf("%d of %d good records answered", len(got.answers), n)
	}
	letters := read(t, client, o.Dead, len(poison))
	seen := map[string]bool{}
	for i := range letters {
		l := &letters[i]
		name, _ := l.Header("case")
		reason, ok := l.Header(record.ErrorHeader)
		if !ok || len(reason) == 0 {
			t.Errorf("%s: no reason", name)
		}
		for _, h := range []string{record.TopicHeader, record.PartitionHeader, record.OffsetHeader} {
			if _, ok := l.Header(h); !ok {
				t.Errorf("%s: no header %s", name, h)
			}
		}
		if _, cut := l.Header(record.TruncatedHeader); !cut && string(l.Value) != names[string(name)] || string(l.Key) != string(name) {
			t.Errorf("%s: the letter is not the record", name)
		}
		seen[string(name)] = true
	}
	if len(seen) != len(poison) || len(letters) != len(poison) {
		t.Errorf("%d letters of %d cases, not %d", len(letters), len(seen), len(poison))
	}
}

// Another Kafka client feeds the stage and reads its results.
func TestAnotherClient(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := newFeed(32)
	in := brokertest.Topic(t, client, "in", 2, nil)
	o := basics(client, in, f)
	o.Out = brokertest.Topic(t, client, "out", 2, nil)
	o.Dead = o.Out + "-dead"
	o.Limits = consumer.Limits{Size: 10, Idle: 200 * time.Millisecond, Memory: 64 << 20}
	o.Decode = record.Options{}
	start(t, client, o)
	other, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ConsumeTopics(o.Out),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.ProducerBatchCompression(kgo.Lz4Compression()),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const n = 95
	for i := range n {
		value, err := json.Marshal(
			map[string]any{"id": fmt.Sprint(i), "vector": f.vector(i % classes), "attributes": map[string]int{"i": i}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.ProduceSync(ctx, &kgo.Record{
			Topic: in, Key: []byte("cam"), Value: value,
			Headers: []kgo.RecordHeader{{Key: "traceparent", Value: []byte("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")}},
		}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]bool{}
	for len(seen) < n {
		fetches := other.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("%v: %d of %d", err, len(seen), n)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			var result record.Result
			if err := json.Unmarshal(r.Value, &result); err != nil {
				t.Fatal(err)
			}
			var i int
			fmt.Sscan(result.ItemID, &i)
			if string(r.Key) != "cam" || result.Label != fmt.Sprintf("class-%d", i%classes) ||
				string(result.Attributes) != fmt.Sprintf(`{"i":%d}`, i) {
				t.Errorf("key %s: %s", r.Key, r.Value)
			}
			headers := map[string]string{}
			for _, h := range r.Headers {
				headers[h.Key] = string(h.Value)
			}
			if len(headers) != 2 || headers["traceparent"] == "" || headers[record.TimeHeader] == "" {
				t.Errorf("headers %v", headers)
			}
			seen[result.ID] = true
		})
	}
}

// hang is an observer that blocks a worker without end.
type hang struct{ until chan struct{} }

func (h *hang) Answered(*answering.Observed) { <-h.until }

// A worker that hangs ends the stage, with the stream named, because the group would not notice.
// After the second time the episode is not solved again: its items go to the dead letters, and later
// records are answered.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(33)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Watchdog = time.Second
	o.DrainTimeout, o.Session, o.Rebalance = 300*time.Millisecond, session, session
	const n = 20
	write(t, client, append(f.records(in, 1, n), markers(in, 1)...))
	for range intake.MostHangs {
		h := &hang{make(chan struct{})}
		o.Observer = h
		s, err := New(client, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = s.Run(ctx)
		cancel()
		if !errors.Is(err, intake.ErrHung) || !strings.Contains(err.Error(), "cam-0") {
			t.Errorf("the stage ended with %v", err)
		}
		close(h.until)
		s.answers.Pool.Close()
	}
	o.Observer = nil
	start(t, client, o)
	write(t, client, append(f.records(in, 1, n), markers(in, 1)...))
	collect(t, client, o.Out, count(n))
	for _, l := range read(t, client, o.Dead, n) {
		if reason, _ := l.Header(record.ErrorHeader); !strings.Contains(string(reason), intake.ErrHung.Error()) {
			t.Errorf("reason %q", reason)
		}
	}
}

// A stream that is idle for long in event time is evicted. When it returns, it starts from its labels.
func TestStateTTL(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := newFeed(34)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Support = nil
	o.Memory = stream.Defaults()
	o.State = o.Group + "-state"
	o.StateInterval = 100 * time.Millisecond
	o.StateTTL = time.Second
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	start(t, client, o)
	at := time.Now()
	episode := func(key string, n int, when time.Time) {
		list := f.records(in, 1, n)
		for i := range list {
			list[i].Key, list[i].Time, list[i].Headers = []byte(key), when, nil
		}
		write(t, client, list)
	}
	episode("gone", 10, at)
	for i := 0; ; i++ {
		episode("stays", 10, at.Add(time.Duration(i+1)*time.Second))
		time.Sleep(200 * time.Millisecond) // pace: of the feed, which moves time on until the stream is gone
		list, _, err := admin.ReadState(ctx, client, o.State, o.Group)
		if err != nil && !topic.Temporary(err) { // the stage makes the topic
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, r := range list {
			names[r.Stream] = true
		}
		if names["stays"] && !names["gone"] && i > 2 {
			return
		}
	}
}

// A compressed record may be larger than the output accepts once decompressed. Its result is written without
// its attributes, and the feed continues, in both delivery modes.
func TestAResultLargerThanTheOutputTakes(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	f := newFeed(33)
	in := brokertest.Topic(t, client, "in", 1, nil)
	other, err := kgo.NewClient(
		kgo.SeedBrokers(brokers...),
		kgo.ProducerBatchCompression(kgo.ZstdCompression()),
		kgo.ProducerBatchMaxBytes(20<<20),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	const n = 30
	for i := range n {
		attributes := "small"
		if i%10 == 3 {
			attributes = strings.Repeat("a", 5<<20)
		}
		value, err := json.Marshal(
			map[string]any{"id": fmt.Sprint(i), "vector": f.vector(i % classes), "attributes": map[string]string{"a": attributes}},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := other.ProduceSync(t.Context(), &kgo.Record{Topic: in, Key: []byte("cam"), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for _, once := range []bool{false, true} {
		t.Run(fmt.Sprintf("once=%v", once), func(t *testing.T) {
			o := basics(client, in, f)
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			if o.Decode = (record.Options{}); once {
				o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			}
			start(t, client, o)
			for _, r := range read(t, client, o.Out, n) {
				var got record.Result
				if err := json.Unmarshal(r.Value, &got); err != nil {
					t.Fatal(err)
				}
				_, cut := r.Header(record.LeftOutHeader)
				if large := got.Source.Offset%10 == 3; cut != large || (len(got.Attributes) == 0) != large || got.Label == "" {
					t.Errorf("result %d: cut %v, %.100s", got.Source.Offset, cut, r.Value)
				}
			}
		})
	}
}
