package topic_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// Who grows a topic after another process did learns that it was done.
func TestGrowTwice(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx := within(t, time.Minute)
	name := brokertest.Topic(t, client, "state", 2, nil)
	if err := client.Grow(ctx, name, 4); err != nil {
		t.Fatal(err)
	}
	if err := client.Grow(ctx, name, 4); err != nil && !errors.Is(err, topic.ErrExists) {
		t.Error(err) // the embedded broker reports none
	}
}

// A topic that was deleted and created again has another id. ID does not create a topic.
func TestID(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx := within(t, time.Minute)
	name := brokertest.Topic(t, client, "in", 1, nil)
	first, err := client.ID(ctx, name)
	if again, err2 := client.ID(ctx, name); err != nil || err2 != nil || first == (topic.ID{}) || first != again {
		t.Fatal(first, again, err, err2)
	}
	deleted, err := client.Kafka().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
	if err != nil || deleted.Errors[name] != nil {
		t.Fatal(err, deleted)
	}
	for {
		if _, err := client.ID(ctx, name); err != nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("the topic is not deleted")
		}
	}
	if err := client.Create(ctx, topic.Description{Name: name, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	if second, err := client.ID(ctx, name); err != nil || second == first || second == (topic.ID{}) {
		t.Error(second, err)
	}
}

// A broken connection during a request for an id does not mean that the brokers have no ids.
func TestIDOverABrokenConnection(t *testing.T) {
	brokers := brokertest.Brokers(t)
	name := brokertest.Topic(t, brokertest.Connect(t, brokers), "in", 1, nil)
	var cuts atomic.Int32
	client, err := topic.Connect(
		topic.Settings{Brokers: brokers, ClientID: "cut", Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return cutAtID{conn, &cuts}, err
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx := within(t, time.Minute)
	if _, err := client.Partitions(ctx, name); err != nil { // shows that the broker is reachable
		t.Fatal(err)
	}
	for {
		id, err := client.ID(ctx, name)
		if err == nil && id == (topic.ID{}) {
			t.Fatal("no ids, after ", cuts.Load(), " broken connections")
		}
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	if cuts.Load() == 0 {
		t.Error("nothing was cut: this test tests nothing")
	}
}

// cutAtID is a connection that breaks at requests for ids, the first few times.
type cutAtID struct {
	net.Conn
	cuts *atomic.Int32
}

func (c cutAtID) Write(b []byte) (int, error) {
	const metadata, withIDs, often = 3, 10, 20
	if len(b) >= 8 && binary.BigEndian.Uint16(b[4:]) == metadata && binary.BigEndian.Uint16(b[6:]) == withIDs &&
		c.cuts.Load() < often {
		c.cuts.Add(1)
		c.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}
