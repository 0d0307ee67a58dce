package topic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// readTo reads one partition until the position reaches end.
func readTo(t testing.TB, r *topic.Reader, end int64) []record.Raw {
	t.Helper()
	ctx := within(t, 30*time.Second)
	var all []record.Raw
	for r.Position() < end {
		b, err := r.Read(ctx)
		if err != nil {
			t.Fatalf("after %d records, at %d of %d: %v", len(all), r.Position(), end, err)
		}
		if b.Next != r.Position() {
			t.Fatalf("batch says next is %d, reader stands at %d", b.Next, r.Position())
		}
		all = append(all, b.Records...)
	}
	return all
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "plain", 2, nil)
	at := time.UnixMilli(1_700_000_000_123)
	sent := []record.Out{
		{
			Topic: name, Partition: 1, Key: []byte("k"), Value: []byte("v"), Time: at,
			Headers: []record.Header{{Key: "a", Value: []byte("1")}, {Key: "b"}},
		},
		{Topic: name, Partition: 1, Value: []byte{}, Time: at.Add(-time.Hour)},
		{Topic: name, Partition: 1, Key: []byte{}, Time: at.Add(time.Hour)},
		{Topic: name, Partition: 1, Key: []byte("big"), Value: bytes.Repeat([]byte("x"), 700_000), Time: at},
		{Topic: name, Partition: 1, Key: []byte("big too"), Value: bytes.Repeat([]byte("y"), 700_000), Time: at},
	}
	if err := client.Write(within(t, 20*time.Second), sent); err != nil {
		t.Fatal(err)
	}
	got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: name, Partition: 1}), int64(len(sent)))
	if len(got) != len(sent) {
		t.Fatalf("%d records, want %d", len(got), len(sent))
	}
	for i, g := range got {
		s := sent[i]
		if g.Offset != int64(i) || g.Topic != name || g.Partition != 1 || !g.Time.Equal(s.Time) ||
			!bytes.Equal(g.Key, s.Key) || !bytes.Equal(g.Value, s.Value) ||
			(g.Key == nil) != (s.Key == nil) || (g.Value == nil) != (s.Value == nil) ||
			len(g.Headers) != len(s.Headers) {
			t.Errorf("record %d: got %d bytes at %d, time %v, key %q", i, len(g.Value), g.Offset, g.Time, g.Key)
		}
		for j := range s.Headers {
			if g.Headers[j].Key != s.Headers[j].Key || !bytes.Equal(g.Headers[j].Value, s.Headers[j].Value) {
				t.Errorf("record %d: header %v, want %v", i, g.Headers[j], s.Headers[j])
			}
		}
	}
}

func TestKeysGoWhereJavaPutsThem(t *testing.T) {
	// Values of Kafka's own partitioner test: murmur2 of "21" is -973932308.
	if got, want := topic.Partition([]byte("21"), 0, 1000), int32((-973932308&0x7fffffff)%1000); got != want {
		t.Errorf("partition %d, want %d", got, want)
	}
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "keys", 5, nil)
	var sent []record.Out
	for i := range 100 {
		sent = append(sent, record.Out{
			Topic: name, Partition: -1, Key: fmt.Append(nil, "key-", i%17),
			Value: fmt.Append(nil, i),
		})
	}
	ctx := within(t, 20*time.Second)
	if err := client.Write(ctx, sent); err != nil {
		t.Fatal(err)
	}
	total := 0
	for p := range int32(5) {
		end, err := client.Offset(ctx, name, p, topic.Latest, true)
		if err != nil {
			t.Fatal(err)
		}
		last := map[string]int{}
		for _, r := range readTo(t, client.NewReader(topic.ReaderSettings{Topic: name, Partition: p}), end) {
			total++
			if want := topic.Partition(r.Key, 0, 5); want != p {
				t.Errorf("key %s is in partition %d, want %d", r.Key, p, want)
			}
			var n int
			fmt.Sscan(string(r.Value), &n)
			if before, ok := last[string(r.Key)]; ok && n <= before {
				t.Errorf("key %s: %d after %d", r.Key, n, before)
			}
			last[string(r.Key)] = n
		}
	}
	if total != len(sent) {
		t.Errorf("%d records, want %d", total, len(sent))
	}
}

func TestTheEndOfTheLogIsNoError(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "empty", 1, nil)
	r := client.NewReader(topic.ReaderSettings{Topic: name, MaxWait: 50 * time.Millisecond})
	for range 3 {
		b, err := r.Read(within(t, 10*time.Second))
		if err != nil || len(b.Records) != 0 || b.Next != 0 || b.HighWatermark != 0 {
			t.Fatalf("%+v, %v", b, err)
		}
	}
}

func TestAReadIsCancelledAtOnce(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "wait", 1, nil)
	r := client.NewReader(topic.ReaderSettings{Topic: name, MaxWait: time.Hour})
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(300*time.Millisecond, cancel)
	// Without the cancellation Read would wait for an hour.
	if _, err := r.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if err := client.Write(within(t, 10*time.Second),
		[]record.Out{{Topic: name, Value: []byte("later")}}); err != nil {
		t.Fatal(err)
	}
	if got := readTo(t, r, 1); len(got) != 1 {
		t.Fatalf("after a cancelled read: %d records", len(got))
	}
}

func TestOutsideTheLogIsSaid(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "cut", 1, nil)
	ctx := within(t, 30*time.Second)
	for range 10 {
		if err := client.Write(ctx, []record.Out{{Topic: name, Value: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	outside := func(offset int64) *topic.OutOfRange {
		t.Helper()
		_, err := client.NewReader(topic.ReaderSettings{Topic: name, Offset: offset}).Read(ctx)
		var out *topic.OutOfRange
		if !errors.As(err, &out) {
			t.Fatalf("reading at %d: %v", offset, err)
		}
		return out
	}
	if out := outside(11); out.First != 0 || out.End != 10 {
		t.Errorf("past the end: %v", out)
	}
	trim(t, client, name, 4)
	out := outside(2)
	if out.First != 4 || out.End != 10 {
		t.Errorf("below the start: %v", out)
	}
	r := client.NewReader(topic.ReaderSettings{Topic: name, Offset: out.First})
	if got := readTo(t, r, 10); len(got) != 6 || got[0].Offset != 4 {
		t.Errorf("after moving to the start: %d records", len(got))
	}
}

// trim deletes the records before offset, as retention would.
func trim(t *testing.T, client *topic.Client, name string, offset int64) {
	t.Helper()
	other := franz(t, client)
	ctx := within(t, 10*time.Second)
	if err := deleteRecords(ctx, other, name, offset); err != nil {
		t.Fatal(err)
	}
}

func TestEveryCompressionIsRead(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx := within(t, 60*time.Second)
	for _, c := range []kafka.Compression{kafka.Gzip, kafka.Snappy, kafka.Lz4, kafka.Zstd} {
		name := brokertest.Topic(t, client, "packed", 1, nil)
		var records []kafka.Record
		for i := range 50 {
			records = append(records, kafka.Record{
				Key:   kafka.NewBytes(fmt.Append(nil, i)),
				Value: kafka.NewBytes(bytes.Repeat([]byte{byte(i)}, 100)),
			})
		}
		answer, err := client.Kafka().Produce(ctx, &kafka.ProduceRequest{
			Topic:        name,
			RequiredAcks: kafka.RequireAll, Compression: c, Records: kafka.NewRecordReader(records...),
		})
		if err != nil || answer.Error != nil {
			t.Fatal(err, answer)
		}
		got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: name, Offset: 20}), 50)
		if len(got) != 30 || string(got[0].Key) != "20" ||
			!bytes.Equal(got[29].Value, bytes.Repeat([]byte{49}, 100)) {
			t.Errorf("%v: %d records", c, len(got))
		}
	}
}

func TestOnlyCommittedTransactionsAreRead(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "transactions", 1, nil)
	ctx := within(t, 60*time.Second)
	write := func(c *kgo.Client, text string) {
		t.Helper()
		if err := c.ProduceSync(ctx, &kgo.Record{Topic: name, Value: []byte(text)}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	a := franz(t, client, kgo.TransactionalID(brokertest.Name("a")))
	b := franz(t, client, kgo.TransactionalID(brokertest.Name("b")))
	plain := franz(t, client)
	var want []string
	for i := range 4 { // two concurrent transactions, ended in either order, committed or aborted in turn
		for _, c := range []*kgo.Client{a, b} {
			if err := c.BeginTransaction(); err != nil {
				t.Fatal(err)
			}
		}
		write(a, fmt.Sprint("a", i))
		write(b, fmt.Sprint("b", i))
		write(plain, fmt.Sprint("plain", i))
		write(a, fmt.Sprint("A", i))
		end := func(c *kgo.Client, keep bool) {
			t.Helper()
			if err := c.EndTransaction(ctx, kgo.TransactionEndTry(keep)); err != nil {
				t.Fatal(err)
			}
		}
		keepA, keepB := i%2 == 0, i/2%2 == 0
		if i%3 == 0 {
			end(a, keepA)
			end(b, keepB)
		} else {
			end(b, keepB)
			end(a, keepA)
		}
		if keepA {
			want = append(want, fmt.Sprint("a", i))
		}
		if keepB {
			want = append(want, fmt.Sprint("b", i))
		}
		want = append(want, fmt.Sprint("plain", i))
		if keepA {
			want = append(want, fmt.Sprint("A", i))
		}
	}
	// Kafka marks the end of a transaction in a partition after it has said that the transaction has ended.
	var stable int64
	var err error
	for stable < 4*(4+2) {
		if stable, err = client.Offset(ctx, name, 0, topic.Latest, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	write(a, "open")
	write(plain, "behind it")
	if stable, err = client.Offset(ctx, name, 0, topic.Latest, true); err != nil {
		t.Fatal(err)
	}
	end, err := client.Offset(ctx, name, 0, topic.Latest, false)
	if err != nil {
		t.Fatal(err)
	}
	if end != stable+2 {
		t.Errorf("last stable offset %d, end %d: the open transaction holds two records back", stable, end)
	}
	// Readers see the same records wherever they start, and however small their fetches.
	for start := int64(0); start < stable; start++ {
		for _, size := range []int{1, 300, 1 << 20} {
			got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: name, Offset: start, MaxBytes: size}),
				stable)
			expect := want[len(want)-min(len(got), len(want)):]
			if start == 0 && len(got) != len(want) {
				t.Errorf("%d records in fetches of %d bytes, want %d", len(got), size, len(want))
			}
			for i, r := range got {
				if string(r.Value) != expect[i] {
					t.Fatalf("from %d in fetches of %d bytes, record %d is %q, want %q", start, size, i, r.Value, expect[i])
				}
			}
		}
	}
	if all := readTo(t, client.NewReader(topic.ReaderSettings{Topic: name, Uncommitted: true}),
		end); len(all) != 18 {
		t.Errorf("uncommitted: %d records, want 18", len(all))
	}
	if err := a.EndTransaction(ctx, kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}

// A batch that inflates to far more than one Read returns is fetched once.
func TestALongBatchIsFetchedOnce(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, client, "long", 1, nil)
	const count = 60
	var fetches atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	out := make([]record.Out, count)
	for i := range out {
		out[i] = record.Out{Topic: name, Value: make([]byte, 1<<20)}
	}
	batch := topic.Encode(topic.TopicPartition{Topic: name}, out, topic.Anonymous, "zstd")
	for batch.Err = kafka.LeaderNotAvailable; topic.Temporary(batch.Err); {
		client.Send(within(t, time.Minute), "", []*topic.EncodedBatch{batch})
	}
	if batch.Err != nil {
		t.Fatal(batch.Err)
	}
	r := client.NewReader(topic.ReaderSettings{Topic: name})
	for i, got := range readTo(t, r, count) {
		if got.Offset != int64(i) || len(got.Value) != 1<<20 {
			t.Fatalf("record %d: offset %d, %d bytes", i, got.Offset, len(got.Value))
		}
	}
	if n := fetches.Load(); n != 1 {
		t.Errorf("the batch was fetched %d times", n)
	}
}

// A client with Settings.Topics does not fetch the metadata of other topics.
func TestOnlyTheTopicsThatAreUsedAreAskedFor(t *testing.T) {
	t.Parallel()
	server := brokertest.Embedded(t)
	other := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, other, "used", 1, nil)
	brokertest.Topic(t, other, "other", 1, nil)
	var asked, beyond atomic.Int64
	client, err := topic.Connect(topic.Settings{
		Brokers: []string{server.Address}, Topics: []string{name},
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &listened{conn, func(request []byte) {
				const key = 5 // after the length
				if len(request) > key && request[key] == byte(kmsg.Metadata) {
					asked.Add(1)
					if !bytes.Contains(request, []byte(name)) {
						beyond.Add(1)
					}
				}
			}}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for ; asked.Load() < 3; time.Sleep(10 * time.Millisecond) {
		if n, err := client.Partitions(within(t, time.Minute), name); err != nil || n != 1 {
			t.Fatal(n, err)
		}
	}
	if _, err := client.Partitions(within(t, time.Minute), "other"); !topic.IsMissing(err) {
		t.Errorf("a topic that is not used: %v", err)
	}
	if n := beyond.Load(); n > 0 {
		t.Errorf("all topics were asked for %d times", n)
	}
}

// listened is a connection that calls saw with each write.
type listened struct {
	net.Conn
	saw func([]byte)
}

func (l *listened) Write(b []byte) (int, error) {
	l.saw(b)
	return l.Conn.Write(b)
}

// A span whose end the log has lost, as when a leader without the last records takes over, is an error: it
// would be waited for for ever.
func TestASpanBeyondTheLog(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "short", 1, nil)
	written := []record.Out{{Topic: name, Value: []byte("v")}}
	if err := client.Write(within(t, 20*time.Second), written); err != nil {
		t.Fatal(err)
	}
	records, span := 0, topic.Span{TopicPartition: topic.TopicPartition{Topic: name}, To: 3}
	for _, err := range client.Records(within(t, time.Minute), span) {
		if err == nil {
			records++
			continue
		}
		var outside *topic.OutOfRange
		if !errors.As(err, &outside) || outside.Offset != 3 || outside.End != 1 || records != 1 {
			t.Errorf("%v, after %d records", err, records)
		}
		return
	}
	t.Errorf("no error, %d records", records)
}

// A reader of everything gets aborted records too, also from brokers that list aborted transactions for it, as
// Redpanda's do.
func TestAbortedRecordsOfAReaderOfEverything(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, client, "in", 1, nil)
	sender, err := kgo.NewClient(kgo.SeedBrokers(server.Address), kgo.TransactionalID(name), kgo.DefaultProduceTopic(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sender.Close)
	ctx := within(t, time.Minute)
	if err := sender.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	if err := sender.ProduceSync(ctx, &kgo.Record{Value: []byte("aborted")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := sender.EndTransaction(ctx, kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	_, end, err := client.Bounds(ctx, name, 0, false)
	if err != nil {
		t.Fatal(err)
	}
	server.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		r.(*kmsg.FetchRequest).IsolationLevel = 1 // so that the answer lists the aborted transaction
		return nil, nil, false
	})
	for uncommitted, want := range map[bool]int{false: 0, true: 1} {
		r := client.NewReader(topic.ReaderSettings{Topic: name, Uncommitted: uncommitted})
		if got := readTo(t, r, end); len(got) != want {
			t.Errorf("uncommitted %t: %d records, want %d", uncommitted, len(got), want)
		}
	}
}

// logging returns a client of a broker, and what it logs.
func logging(t *testing.T, address string) (*topic.Client, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	client, err := topic.Connect(topic.Settings{Brokers: []string{address}, Log: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, log
}
