package topic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// only returns the only record of a topic with one partition, and fails if there are more.
func only(t *testing.T, client *topic.Client, name string) *record.Raw {
	t.Helper()
	got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: name}), 1)
	end, err := client.Offset(within(t, 10*time.Second), name, 0, topic.Latest, false)
	if err != nil || end != 1 || len(got) != 1 {
		t.Fatalf("%s holds %d records, %d read: %v", name, end, len(got), err)
	}
	return &got[0]
}

func header(r *record.Raw, name string) string {
	v, _ := r.Header(name)
	return string(v)
}

// result returns the record of a result with its fallback, as the pipeline writes it.
func result(out, dead string, item *record.Item, change func(*record.Result)) record.Out {
	item.Source = record.Source{Topic: "in", Partition: 3, Offset: 14, Object: -1}
	item.Vector = []float32{1, 2}
	r := &record.Result{ID: item.Source.ID(), Stream: "s", Label: "milk", Attributes: item.Attributes}
	if change != nil {
		change(r)
	}
	o := record.Out{
		Topic: out, Partition: -1, Key: item.Key, Value: record.AppendResult(nil, r),
		Fallback: &record.ResultFallback{Item: item, Result: r, Dead: dead, Encode: record.AppendResult},
	}
	o.Headers = item.Trace.AppendHeaders(nil)
	return o
}

const beyond = 1_500_000 // bytes, above a topic's default limit

// A result above its topic's limit is written without its large parts, which a header lists.
func TestALargeResultIsWrittenWithoutWhatMakesItLarge(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	long := strings.Repeat("x", beyond)
	for name, row := range map[string]struct {
		item record.Item
		left string
	}{
		"attributes": {
			record.Item{Key: []byte("k"), Trace: record.TraceContext{Parent: "00-t"}, Attributes: []byte(`"` + long + `"`)},
			"attributes",
		},
		"key":   {record.Item{Key: []byte(long), Attributes: []byte(`{"a":1}`)}, "key"},
		"trace": {record.Item{Key: []byte("k"), Trace: record.TraceContext{Parent: long}}, "headers"},
		"all": {record.Item{
			Key: []byte(long), Trace: record.TraceContext{Parent: long + "x"},
			Attributes: []byte(`"` + long + `"`),
		}, "headers,attributes,key"},
	} {
		t.Run(name, func(t *testing.T) {
			out, dead := brokertest.Topic(t, client, "out", 1, nil), brokertest.Topic(t, client, "dead", 1, nil)
			if err := client.Write(within(t, 30*time.Second),
				[]record.Out{result(out, dead, &row.item, nil)}); err != nil {
				t.Fatal(err)
			}
			got := only(t, client, out)
			if !bytes.Contains(got.Value, []byte(`"label":"milk"`)) || header(got, record.TruncatedHeader) != "true" ||
				header(got, record.LeftOutHeader) != row.left {
				t.Errorf("left out %q: %.200s", header(got, record.LeftOutHeader), got.Value)
			}
			if keep := row.left == "attributes"; keep != (header(got, "traceparent") == "00-t") {
				t.Errorf("headers %.200v", got.Headers)
			}
		})
	}
}

// A result that is too large even then becomes a dead letter that can be sent again, and that fits the limit
// of the dead-letter topic.
func TestAResultThatCannotBeWrittenIsADeadLetter(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	out, dead := brokertest.Topic(t, client, "out", 1, nil), brokertest.Topic(t, client, "dead", 1,
		map[string]string{"max.message.bytes": "10000"})
	item := &record.Item{
		Key: bytes.Repeat([]byte("k"), 20_000), ItemID: "i",
		Attributes: []byte(`"` + strings.Repeat("a", 20_000) + `"`),
	}
	large := result(out, dead, item, func(r *record.Result) { r.Stream = strings.Repeat("s", beyond) })
	if err := client.Write(within(t, 30*time.Second), []record.Out{large}); err != nil {
		t.Fatal(err)
	}
	got := only(t, client, dead)
	if header(got, record.TruncatedHeader) != "true" || !strings.Contains(header(got, record.ErrorHeader),
		"Message Size Too Large") || header(got, record.OffsetHeader) != "14" {
		t.Errorf("headers %v", got.Headers)
	}
	if !bytes.HasPrefix(got.Value, []byte(`{"id":"item:in/3/14","itemId":"i"`)) {
		t.Errorf("%.200s", got.Value)
	}
}

// A dead letter is made to fit: the value is cut, then headers and key. No request exceeds the
// brokers' limit.
func TestADeadLetterAlwaysFits(t *testing.T) {
	brokers := brokertest.Brokers(t)
	var largest atomic.Int64
	client, err := topic.Connect(topic.Settings{Brokers: brokers, Dial: watched(func(n int64) error {
		for most := largest.Load(); n > most && !largest.CompareAndSwap(most, n); most = largest.Load() {
		}
		return nil
	})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	long := bytes.Repeat([]byte("x"), beyond)
	for name, raw := range map[string]*record.Raw{
		"value": {Key: []byte("k"), Value: bytes.Repeat([]byte("x"), 110<<20)},
		"key":   {Key: long, Value: []byte("v")},
		"header": {Key: []byte("k"), Value: []byte("v"), Headers: []record.Header{
			{Key: "h", Value: long},
			{Key: "short", Value: []byte("kept")},
		}},
		"headers": {Key: []byte("k"), Value: long, Headers: slices.Repeat([]record.Header{{
			Key:   "h",
			Value: []byte("0123456789"),
		}}, 100_000)},
		"all": {Key: long, Value: long, Headers: []record.Header{{Key: string(long), Value: long}}},
	} {
		t.Run(name, func(t *testing.T) {
			dead := brokertest.Topic(t, client, "dead", 1, nil)
			raw.Topic, raw.Offset = "in", 5
			if err := client.Write(within(t, time.Minute),
				[]record.Out{record.DeadLetter(dead, raw, strings.Repeat("why ", 200_000), 0)}); err != nil {
				t.Fatal(err)
			}
			got := only(t, client, dead)
			if header(got, record.TruncatedHeader) != "true" || header(got, record.OffsetHeader) != "5" ||
				!strings.HasPrefix(header(got, record.ErrorHeader), "why why") {
				t.Errorf("headers %.300v", got.Headers)
			}
			if !bytes.HasPrefix(raw.Value, got.Value) || name == "header" && (header(got, "short") != "kept" ||
				string(got.Value) != "v") || name == "value" && len(got.Value) < 1_000_000 {
				t.Errorf("%d bytes of the value: %.100s", len(got.Value), got.Value)
			}
		})
	}
	if n := largest.Load(); n > 40<<20 {
		t.Errorf("a write of %d bytes", n)
	}
}

// A dead letter above the known limit of its topic is cut before it is sent.
func TestADeadLetterIsCutBeforeItIsSent(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	dead := brokertest.Topic(t, client, "dead", 1, nil)
	var most atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		for _, one := range r.(*kmsg.ProduceRequest).Topics {
			for _, p := range one.Partitions {
				most.Store(max(most.Load(), int64(len(p.Records))))
			}
		}
		return nil, nil, false
	})
	bad := &record.Raw{Topic: "in", Value: bytes.Repeat([]byte("x"), 15<<20)}
	err := client.Write(within(t, 30*time.Second), []record.Out{record.DeadLetter(dead, bad, "bad", 0)})
	if err != nil {
		t.Fatal(err)
	}
	if got := only(t, client, dead); !bytes.HasPrefix(bad.Value, got.Value) || len(got.Value) < 1_000_000 {
		t.Errorf("a letter of %d bytes", len(got.Value))
	}
	if n := most.Load(); n > 1_100_000 {
		t.Errorf("%d bytes were sent at once", n)
	}
}

// A dead letter is also cut if the broker closes the connection at a large request, without an error.
func TestABrokerThatEndsTheConnectionAtALargeRequest(t *testing.T) {
	client, err := topic.Connect(topic.Settings{
		Brokers: brokertest.Brokers(t),
		Dial: watched(func(n int64) error {
			if n > 3<<20 {
				return net.ErrClosed
			}
			return nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	dead := brokertest.Topic(t, client, "dead", 1, map[string]string{"max.message.bytes": "100000000"})
	raw := &record.Raw{Topic: "in", Value: bytes.Repeat([]byte("x"), 8<<20)}
	if err := client.Write(within(t, time.Minute),
		[]record.Out{record.DeadLetter(dead, raw, "", 0)}); err != nil {
		t.Fatal(err)
	}
	if got := only(t, client, dead); header(got, record.TruncatedHeader) != "true" || len(got.Value) < 1<<20 {
		t.Errorf("%d bytes, headers %v", len(got.Value), got.Headers)
	}
}

// The sender waits for a topic whose limit is below an ordinary record: it cuts nothing and writes no dead
// letter, however large the record, and even if the topic accepted large records a moment ago.
func TestATopicThatRefusesEverythingIsWaitedFor(t *testing.T) {
	long := strings.Repeat("x", 30_000)
	for name, item := range map[string]record.Item{
		"ordinary":         {Key: []byte("k"), Attributes: []byte(`{"a":1}`)},
		"large attributes": {Key: []byte("k"), Attributes: []byte(`{"a":"` + long + `"}`)},
		"a long name":      {Key: []byte(long)},
	} {
		t.Run(name, func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			ctx := within(t, time.Minute)
			out, dead := brokertest.Topic(t, client, "out", 1, nil), brokertest.Topic(t, client, "dead", 1, nil)
			other := result(out, dead, &record.Item{
				Key:        []byte("other"),
				Attributes: []byte(`"` + strings.Repeat("y", beyond) + `"`),
			}, nil)
			if err := client.Write(ctx, []record.Out{other}); err != nil { // after it the client knows the limit
				t.Fatal(err)
			}
			limit(t, client, out, "150")
			probe := record.Out{Topic: out, Value: make([]byte, 200)}
			from := int64(1)
			for client.Write(ctx, []record.Out{probe}) == nil { // until the broker applies the limit
				from++
			}
			refused := make(chan error, 100)
			sender := topic.Sender{Client: client, Patient: func(err error, _ time.Duration) bool {
				select {
				case refused <- err:
				default:
				}
				return true
			}}
			done := make(chan error, 1)
			wanted := result(out, dead, &item, func(r *record.Result) { r.Stream = string(item.Key) })
			go func() { done <- sender.Write(ctx, []record.Out{wanted}) }()
			select {
			case err := <-refused:
				if topic.CauseOf(err) != topic.Rejected {
					t.Errorf("refused with %v", err)
				}
			case err := <-done:
				t.Fatalf("not waited for: %v", err)
			}
			limit(t, client, out, "1000000")
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: out, Offset: from}), from+1)
			if len(got) != 1 || !bytes.Equal(got[0].Value, wanted.Value) || !bytes.Equal(got[0].Key, wanted.Key) ||
				len(got[0].Headers) > 0 {
				t.Errorf("%.300v", got)
			}
		})
	}
}

// limit sets a topic's max.message.bytes.
func limit(t *testing.T, client *topic.Client, name, bytes string) {
	t.Helper()
	k := client.Kafka()
	answer, err := k.IncrementalAlterConfigs(within(t, time.Minute),
		&kafka.IncrementalAlterConfigsRequest{
			Addr: k.Addr,
			Resources: []kafka.IncrementalAlterConfigsRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: name,
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
					Name: "max.message.bytes", Value: bytes,
					ConfigOperation: kafka.ConfigOperationSet,
				}},
			}},
		})
	if err != nil || answer.Resources[0].Error != nil {
		t.Fatal(err, answer)
	}
}

// Only the rejected record of a batch is replaced: an invalid time becomes the time of writing, and a record
// that the topic does not allow becomes a dead letter.
func TestOnlyTheRecordAtFaultGivesWay(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	out, dead := brokertest.Topic(t, client, "out", 1, nil), brokertest.Topic(t, client, "dead", 1, nil)
	refuse := func(what string, err *kerr.Error) {
		server.Cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
			server.Cluster.KeepControl()
			r := request.(*kmsg.ProduceRequest)
			t, p := r.Topics[0], r.Topics[0].Partitions[0]
			if t.Topic != out || !bytes.Contains(p.Records, []byte(what)) {
				return nil, nil, false
			}
			answer := r.ResponseKind().(*kmsg.ProduceResponse)
			at, ap := kmsg.NewProduceResponseTopic(), kmsg.NewProduceResponseTopicPartition()
			at.Topic, ap.Partition, ap.ErrorCode = t.Topic, p.Partition, err.Code
			at.Partitions = append(at.Partitions, ap)
			answer.Topics = append(answer.Topics, at)
			return answer, nil, true
		})
	}
	refuse("forbidden", kerr.InvalidRecord)
	var sent []record.Out
	for i := range 20 {
		item := &record.Item{Key: []byte("k")}
		sent = append(sent, result(out, dead, item, func(r *record.Result) {
			r.Episode = int64(i + 1)
			if r.Label = "fine"; i == 13 {
				r.Label = "forbidden"
			}
		}))
	}
	ctx := within(t, time.Minute)
	if err := client.Write(ctx, sent); err != nil {
		t.Fatal(err)
	}
	got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: out}), 19)
	for i, r := range got {
		want := i + 1
		if i >= 13 {
			want++
		}
		if !bytes.Contains(r.Value, fmt.Appendf(nil, `"episode":%d,`, want)) {
			t.Errorf("record %d is not result %d: %s", i, want, r.Value)
		}
	}
	if letter := only(t, client, dead); !strings.Contains(header(letter, record.ErrorHeader),
		"the output rejects the result") {
		t.Errorf("%v", letter.Headers)
	}
	faults := server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: out,
		Err: kerr.InvalidTimestamp, Count: 1,
	})
	if err := client.Write(ctx, []record.Out{{
		Topic: out, Value: []byte("late"),
		Time: time.Now().Add(1000 * time.Hour),
	}}); err != nil || faults.Hits() != 1 {
		t.Fatal(err, faults.Hits())
	}
	if got := readTo(t, client.NewReader(topic.ReaderSettings{Topic: out, Offset: 19}),
		20); time.Until(got[0].Time) > time.Hour {
		t.Errorf("its time is %s", got[0].Time)
	}
}

func TestCauses(t *testing.T) {
	for err, want := range map[error]topic.Cause{
		kafka.MessageSizeTooLarge: topic.Rejected, kafka.RecordListTooLarge: topic.Rejected,
		kafka.InvalidTimestamp: topic.Denied, kafka.InvalidRecord: topic.Rejected,
		kafka.TopicAuthorizationFailed: topic.Denied, kafka.PolicyViolation: topic.Denied,
		kafka.NotLeaderForPartition: topic.Away, context.DeadlineExceeded: topic.Away, net.ErrClosed: topic.Away,
		kafka.OutOfOrderSequenceNumber: topic.Broken, errors.New("?"): topic.Broken,
	} {
		if got := topic.CauseOf(fmt.Errorf("writing: %w", &topic.Refused{Err: err})); got != want {
			t.Errorf("%v is %v, want %v", err, got, want)
		}
	}
}

// Records without a key go to the partition given by Origin, so that a stream's results stay in order and the
// load is still spread.
func TestRecordsWithoutAKeyAreSpreadByOrigin(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	out := brokertest.Topic(t, client, "out", 3, nil)
	ctx := within(t, 30*time.Second)
	for origin := range int32(5) {
		sender := topic.Sender{Client: client, Origin: origin}
		if err := sender.Write(ctx, []record.Out{
			{Topic: out, Partition: -1, Value: fmt.Append(nil, origin)},
			{Topic: out, Partition: -1, Key: []byte("k"), Value: []byte("keyed")},
		}); err != nil {
			t.Fatal(err)
		}
	}
	keyed := topic.Partition([]byte("k"), 0, 3)
	for p, want := range [][]string{{"0", "3"}, {"1", "4"}, {"2"}} {
		n := len(want)
		if int32(p) == keyed {
			n += 5
		}
		var got []string
		for _, r := range readTo(t, client.NewReader(topic.ReaderSettings{Topic: out, Partition: int32(p)}),
			int64(n)) {
			if r.Key == nil {
				got = append(got, string(r.Value))
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("partition %d holds %v, want %v", p, got, want)
		}
	}
}

// watched dials plain TCP. It calls see before each write with the bytes of the request so far; an error
// closes the connection.
func watched(see func(n int64) error) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &watchedConn{Conn: conn, see: see}, err
	}
}

type watchedConn struct {
	net.Conn
	see func(int64) error
	n   atomic.Int64 // bytes written since the last answer
}

func (c *watchedConn) Write(b []byte) (int, error) {
	if err := c.see(c.n.Add(int64(len(b)))); err != nil {
		c.Close()
		return 0, err
	}
	return c.Conn.Write(b)
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.n.Store(0)
	return n, err
}
