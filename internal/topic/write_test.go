package topic_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

func TestATooLargeRecordIsRefused(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "large", 1, nil)
	err := client.Write(within(t, 20*time.Second),
		[]record.Out{{Topic: name, Value: bytes.Repeat([]byte("x"), 2_000_000)}})
	var refused *topic.Refused
	if !errors.Is(err, kafka.MessageSizeTooLarge) || !errors.As(err, &refused) || refused.Topic != name {
		t.Fatal(err)
	}
}

// The error of one partition is found in an otherwise successful answer, and only that partition is
// sent again.
func TestAFaultInOnePartitionIsSeen(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, client, "partly", 3, nil)
	faults := server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: name, Partitions: []int32{1},
		Err: kerr.NotLeaderForPartition, Count: 3,
	})
	var sent []record.Out
	for i := range 9 {
		sent = append(sent, record.Out{Topic: name, Partition: int32(i % 3), Value: fmt.Append(nil, i)})
	}
	if err := client.Write(within(t, 20*time.Second), sent); err != nil {
		t.Fatal(err)
	}
	if faults.Hits() != 3 {
		t.Errorf("%d faults hit, want 3", faults.Hits())
	}
	for p := range int32(3) {
		end, err := client.Offset(within(t, 10*time.Second), name, p, topic.Latest, false)
		if err != nil || end != 3 {
			t.Errorf("partition %d: end %d, %v", p, end, err)
		}
	}
	server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: name, Partitions: []int32{2},
		Err: kerr.TopicAuthorizationFailed,
	})
	if err := client.Write(within(t, 20*time.Second), sent); !errors.Is(err, kafka.TopicAuthorizationFailed) {
		t.Errorf("missing rights: %v", err)
	}
}

// A reader and a writer wait for a broker that restarts, and log one warning each.
func TestABrokerThatComesBackIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	server, err := broker.Serve(dir, 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(server.Address, ":")
	port, _ := strconv.Atoi(text)
	var said lockedBuffer
	client, err := topic.Connect(topic.Settings{
		Brokers: []string{server.Address},
		Log:     slog.New(slog.NewTextHandler(&said, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	name := brokertest.Topic(t, client, "back", 1, nil)
	ctx := within(t, 60*time.Second)
	if err := client.Write(ctx, []record.Out{{Topic: name, Value: []byte("before")}}); err != nil {
		t.Fatal(err)
	}
	server.Close()
	wrote := make(chan error, 1)
	go func() { wrote <- client.Write(ctx, []record.Out{{Topic: name, Value: []byte("after")}}) }()
	r := client.NewReader(topic.ReaderSettings{Topic: name})
	read := make(chan []record.Raw, 1)
	go func() { read <- readTo(t, r, 2) }()
	for deadline := time.Now().Add(20 * time.Second); strings.Count(said.String(),
		"level=WARN") < 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("said: %s", said.String())
		}
	}
	again, err := broker.Serve(dir, port, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(again.Close)
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	if got := <-read; len(got) != 2 || string(got[0].Value) != "before" || string(got[1].Value) != "after" {
		t.Errorf("read %d records", len(got))
	}
	if n := strings.Count(said.String(), "level=WARN"); n != 2 {
		t.Errorf("%d warnings, want one for the reader and one for the writer:\n%s", n, said.String())
	}
}

func TestOffsetsByTimeAndGroup(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name := brokertest.Topic(t, client, "times", 1, nil)
	ctx := within(t, 30*time.Second)
	base := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for i := range 5 {
		if err := client.Write(ctx, []record.Out{{
			Topic: name, Value: []byte("x"),
			Time: base.Add(time.Duration(i) * time.Minute),
		}}); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range map[time.Duration]int64{
		-time.Minute: 0, 0: 0, 90 * time.Second: 2, 4 * time.Minute: 4,
		5 * time.Minute: 5,
	} {
		if got, err := client.Offset(ctx, name, 0, base.Add(at).UnixMilli(), true); err != nil || got != want {
			t.Errorf("%v: offset %d, want %d (%v)", at, got, want, err)
		}
	}
	if got, err := client.Offset(ctx, name, 0, topic.Earliest, true); err != nil || got != 0 {
		t.Errorf("earliest: %d, %v", got, err)
	}
	if _, err := client.Offset(ctx, name, 7, topic.Latest, true); err == nil {
		t.Error("a partition that does not exist has an end")
	}
	var committed int64
	var err error
	for range 100 { // a new coordinator needs a moment
		if committed, err = client.Committed(ctx, brokertest.Name("group"), name, 0); err == nil ||
			!topic.Temporary(err) {
			break
		}
		time.Sleep(100 * time.Millisecond) // pace: of a poll
	}
	if err != nil || committed != -1 {
		t.Errorf("a group that never committed: %d, %v", committed, err)
	}
}

func TestTopicsAreMadeAndDescribed(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx := within(t, 30*time.Second)
	name := brokertest.Topic(t, client, "state", 3, topic.StateSettings())
	d, err := client.Describe(ctx, name)
	if err != nil {
		t.Fatal(err)
	}
	if d.Partitions != 3 || d.Replicas < 1 || d.Settings["cleanup.policy"] != "compact" ||
		d.Settings["segment.bytes"] != topic.StateSettings()["segment.bytes"] {
		t.Errorf("%+v", d)
	}
	if err := client.Create(ctx, topic.Description{Name: name, Partitions: 3}); !errors.Is(err,
		topic.ErrExists) {
		t.Errorf("made twice: %v", err)
	}
	if err := client.Ensure(ctx, topic.Description{Name: name, Partitions: 9}); err != nil {
		t.Error(err)
	}
	if err := client.Grow(ctx, name, 5); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		if n, err := client.Partitions(ctx, name); err == nil && n == 5 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d partitions, %v", n, err)
		}
	}
	if _, err := client.Partitions(ctx, brokertest.Name("nothing")); err == nil {
		t.Error("a topic that does not exist has partitions")
	}
}

func TestConnectSaysWhatIsWrong(t *testing.T) {
	for _, s := range []topic.Settings{
		{},
		{Brokers: []string{"localhost"}},
		{Brokers: []string{"localhost:9092"}, CA: "/does/not/exist"},
		{Brokers: []string{"localhost:9092"}, Cert: "only-one"},
		{Brokers: []string{"localhost:9092"}, SASL: "kerberos"},
	} {
		if _, err := topic.Connect(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}

// A topic that cannot be described for a while keeps the limit that is known.
func TestALimitIsKeptWhileItCannotBeAsked(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	name := brokertest.Topic(t, client, "limited", 1, map[string]string{"max.message.bytes": "20000"})
	before := client.RecordLimit(within(t, 20*time.Second), name)
	faults := server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.DescribeConfigs}, Err: kerr.TopicAuthorizationFailed, Count: -1,
	})
	after := client.RecordLimit(within(t, 20*time.Second), name)
	if before == 0 || before > 20_000 || after != before || faults.Hits() == 0 {
		t.Errorf("%d bytes, and %d once it could not be asked, %d times", before, after, faults.Hits())
	}
}

// slowLink carries 70 kB a second to the broker.
type slowLink struct{ net.Conn }

func (l slowLink) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		time.Sleep(100 * time.Millisecond) // subject: a slow link
		var some int
		some, err = l.Conn.Write(b[n:min(n+7_000, len(b))])
		n += some
	}
	return n, err
}

// TestABatchOnASlowLink: a batch that takes longer than a request without one may is not given up, or it
// would be sent again and again.
func TestABatchOnASlowLink(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	name := brokertest.Topic(t, brokertest.Connect(t, brokers), "slow", 1, nil)
	client, err := topic.Connect(topic.Settings{
		Brokers: brokers,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return slowLink{conn}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	batch := topic.Encode(topic.TopicPartition{Topic: name},
		[]record.Out{{Topic: name, Value: bytes.Repeat([]byte("x"), 800_000)}}, topic.Anonymous, "")
	client.Send(within(t, time.Minute), "", []*topic.EncodedBatch{batch})
	if batch.Err != nil {
		t.Error(batch.Err)
	}
}
