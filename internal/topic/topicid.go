package topic

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// ID is Kafka's topic id: it distinguishes a topic from one of the same name that was created after its
// deletion. The zero ID means unknown: brokers before 2.8 have no ids.
type ID [16]byte

// ID returns a topic's id, or the zero ID and no error if the brokers have no ids. A topic that does not
// exist is an error; the request never creates it. kafka-go's own metadata request supports no version
// with ids.
func (c *Client) ID(ctx context.Context, name string) (ID, error) {
	if c.withoutIDs.Load() {
		return ID{}, nil
	}
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, &idRequest{ctx, c.clientID, name})
	})
	if err != nil {
		if c.oldMetadata(ctx) { // an old broker closes the connection, but so does one that stops
			c.withoutIDs.Store(true)
			return ID{}, nil
		}
		return ID{}, fmt.Errorf("id of topic %s: %w", name, err)
	}
	a := answer.(*idAnswer)
	if a.code != 0 {
		return ID{}, fmt.Errorf("id of topic %s: %w", name, a.code)
	}
	return a.id, nil
}

// oldMetadata says whether the brokers report that they support no metadata version with ids.
func (c *Client) oldMetadata(ctx context.Context) bool {
	answer, err := call(ctx, func(ctx context.Context) (*kafka.ApiVersionsResponse, error) {
		return c.kafka.ApiVersions(ctx, &kafka.ApiVersionsRequest{Addr: c.kafka.Addr})
	})
	if err != nil || answer.Error != nil {
		return false
	}
	for _, k := range answer.ApiKeys {
		if protocol.ApiKey(k.ApiKey) == protocol.Metadata {
			return k.MaxVersion < idVersion
		}
	}
	return false
}

// idVersion is the first version of the metadata request with topic ids in its answers.
const idVersion = 10

type idRequest struct {
	ctx            context.Context
	clientID, name string
}

type idAnswer struct {
	code kafka.Error
	id   ID
}

func (r *idRequest) ApiKey() protocol.ApiKey                 { return protocol.Metadata }
func (a *idAnswer) ApiKey() protocol.ApiKey                  { return protocol.Metadata }
func (r *idRequest) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request and reads the answer.
func (r *idRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	w := requestHead(protocol.Metadata, idVersion, r.clientID)
	w = append(w, 0)                   // no tagged fields in the head
	w = binary.AppendUvarint(w, 2)     // one topic
	w = append(w, make([]byte, 16)...) // by name
	w = binary.AppendUvarint(w, uint64(len(r.name)+1))
	w = append(w, r.name...)
	w = append(w, 0, 0, 0, 0, 0) // no tags; do not create it; no rights of cluster or topic; no tags
	body, err := exchange(r.ctx, rw, w, nil, requestTimeout)
	if err != nil {
		return nil, err
	}
	f := fields{b: body}
	f.tags()
	f.int32() // throttled
	for range f.length() {
		f.int32()
		f.compact()
		f.int32()
		f.compact()
		f.tags()
	}
	f.compact() // cluster
	f.int32()   // controller
	if n := f.length(); n != 1 {
		return nil, fmt.Errorf("%w: answer for %d topics, asked for one", ErrCorrupt, n)
	}
	a := &idAnswer{code: kafka.Error(f.int16())}
	f.compact()
	copy(a.id[:], f.take(16))
	if f.bad {
		return nil, fmt.Errorf("%w: answer of %d bytes about a topic's id", ErrCorrupt, len(body))
	}
	return a, nil
}

// uvarint reads an unsigned varint, as flexible versions use them for lengths.
func (c *fields) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

// length reads the length of a list or text, and fails if it exceeds the bytes left.
func (c *fields) length() int {
	n := c.uvarint()
	if n == 0 || n-1 > uint64(len(c.b)) {
		c.bad = c.bad || n != 0
		return 0
	}
	return int(n - 1)
}

// compact skips a compact string.
func (c *fields) compact() { c.take(c.length()) }

// tags skips tagged fields.
func (c *fields) tags() {
	for n := c.uvarint(); n > 0 && !c.bad; n-- {
		c.uvarint()
		c.take(int(min(c.uvarint(), uint64(len(c.b)+1))))
	}
}
