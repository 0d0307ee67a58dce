package topic

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// Rights are a client's rights to a topic.
type Rights struct {
	Known       bool // false: the broker does not report rights
	Read, Write bool
}

// Rights asks the brokers for this client's rights to a topic, so that a missing right is found before the
// first write.
func (c *Client) Rights(ctx context.Context, name string) (Rights, error) {
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, &rightsRequest{ctx: ctx, clientID: c.clientID, topic: name})
	})
	if err != nil {
		return Rights{}, fmt.Errorf("rights to topic %s: %w", name, err)
	}
	a := answer.(*rightsAnswer)
	if a.code != 0 {
		return Rights{}, fmt.Errorf("rights to topic %s: %w", name, a.code)
	}
	return a.rights, nil
}

// rightsRequest is a metadata request that asks for rights too. kafka-go's own metadata request cannot be
// used: it is answered from a cache, without rights.
type rightsRequest struct {
	ctx      context.Context
	clientID string
	topic    string
	version  int16
}

type rightsAnswer struct {
	code   kafka.Error
	rights Rights
}

// rightsVersion is the only supported version: earlier ones have no rights, later ones another encoding.
const rightsVersion = 8

func (r *rightsRequest) ApiKey() protocol.ApiKey { return protocol.Metadata }
func (a *rightsAnswer) ApiKey() protocol.ApiKey  { return protocol.Metadata }

// Required always returns true, so that RawExchange is used, and stores the newest version that this broker
// and kafka-go have in common.
func (r *rightsRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Metadata]
	return true
}

// RawExchange sends the request and reads the answer.
func (r *rightsRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < rightsVersion {
		return &rightsAnswer{}, nil
	}
	w := requestHead(protocol.Metadata, rightsVersion, r.clientID)
	w = appendInt32(w, 1)
	w = appendText(w, r.topic)
	w = append(w, 0, 0, 1) // do not create it; no rights of the cluster, those of the topic
	body, err := exchange(r.ctx, rw, w, nil, requestTimeout)
	if err != nil {
		return nil, err
	}
	return decodeRights(body)
}

func decodeRights(body []byte) (*rightsAnswer, error) {
	f := fields{b: body}
	text := func() { f.take(max(int(f.int16()), 0)) } // -1: none
	numbers := func() { f.take(4 * int(f.int32())) }
	f.int32() // throttle
	for n := f.int32(); n > 0 && !f.bad; n-- {
		f.int32() // a broker's id, address, port and rack
		text()
		f.int32()
		text()
	}
	text()    // cluster
	f.int32() // controller
	a := &rightsAnswer{}
	topics := f.int32()
	a.code = kafka.Error(f.int16())
	text()    // the topic
	f.take(1) // whether it is internal
	for n := f.int32(); n > 0 && !f.bad; n-- {
		f.int16() // a partition's error, id, leader and its epoch
		f.take(12)
		numbers() // replicas, those in sync, those offline
		numbers()
		numbers()
	}
	bits := f.int32()
	if f.bad || topics != 1 {
		return nil, fmt.Errorf("%w: rights to %d topics in %d bytes", ErrCorrupt, topics, len(body))
	}
	if bits != math.MinInt32 { // MinInt32: not reported
		a.rights = Rights{Known: true, Read: bits&(1<<3) != 0, Write: bits&(1<<4) != 0}
	}
	return a, nil
}
