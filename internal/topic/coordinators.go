package topic

import (
	"context"
	"io"
	"net"
	"sync"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/findcoordinator"
)

// Coordinators is a transport of kafka-go that remembers the coordinators of groups and transactions.
// kafka-go's own asks for the coordinator before each request to it, which doubles the round trips of a
// transaction.
type Coordinators struct {
	client *Client

	mutex sync.Mutex
	known map[findcoordinator.Request]int32 // the broker that coordinates
}

// Coordinators returns a client of kafka-go with such a transport. Forget must be called after every error,
// as a coordinator may have moved.
func (c *Client) Coordinators() (*kafka.Client, *Coordinators) {
	remembered := &Coordinators{client: c, known: map[findcoordinator.Request]int32{}}
	return &kafka.Client{Addr: c.kafka.Addr, Timeout: c.kafka.Timeout, Transport: remembered}, remembered
}

// Forget has the next request to each coordinator ask for it again.
func (c *Coordinators) Forget() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	clear(c.known)
}

// RoundTrip implements kafka.RoundTripper.
func (c *Coordinators) RoundTrip(
	ctx context.Context, addr net.Addr, m kafka.Request,
) (kafka.Response, error) {
	var whose findcoordinator.Request
	switch m := m.(type) {
	case protocol.GroupMessage:
		whose = findcoordinator.Request{Key: m.Group(), KeyType: int8(kafka.CoordinatorKeyTypeConsumer)}
	case protocol.TransactionalMessage:
		whose = findcoordinator.Request{
			Key: m.Transaction(), KeyType: int8(kafka.CoordinatorKeyTypeTransaction),
		}
	default:
		return c.client.transport.RoundTrip(ctx, addr, m)
	}
	c.mutex.Lock()
	broker, known := c.known[whose]
	c.mutex.Unlock()
	if !known {
		asked := whose
		answer, err := c.client.transport.RoundTrip(ctx, addr, &asked)
		if err != nil {
			return nil, err
		}
		found := answer.(*findcoordinator.Response)
		if err := Refusal(found.ErrorCode); err != nil {
			return nil, err
		}
		broker = found.NodeID
		c.mutex.Lock()
		c.known[whose] = broker
		c.mutex.Unlock()
	}
	to := &directed{Message: m, broker: broker, clientID: c.client.clientID}
	return c.client.transport.RoundTrip(ctx, addr, to)
}

// directed is a request of kafka-go for one broker.
type directed struct {
	protocol.Message
	broker   int32
	clientID string
	version  int16
}

// Broker implements protocol.BrokerMessage.
func (d *directed) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	b, ok := cluster.Brokers[d.broker]
	if !ok {
		return b, kafka.BrokerNotAvailable
	}
	return b, nil
}

// Required always returns true, so that RawExchange is used: kafka-go would encode the wrapper, not the
// request in it.
func (d *directed) Required(versions map[protocol.ApiKey]int16) bool {
	d.version = versions[d.ApiKey()]
	return true
}

// RawExchange implements protocol.RawExchanger.
func (d *directed) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if raw, is := d.Message.(protocol.RawExchanger); is {
		return raw.RawExchange(rw)
	}
	return protocol.RoundTrip(rw, d.version, correlation, d.clientID, d.Message)
}
