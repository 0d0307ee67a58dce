package topic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// fetchRequest asks for one partition's batches. kafka-go routes it to the leader over its pooled connections and then
// leaves the exchange of bytes to it: kafka-go's own decoding of the answer drops where a batch ends, which makes
// positions wrong over gaps, and allocates for every record.
type fetchRequest struct {
	ctx       context.Context
	clientID  string
	topic     string
	partition int32
	position  int64
	maxBytes  int32
	wait      time.Duration // how long the broker may hold the request while there is nothing
	committed bool
	version   int16
	buffer    []byte // reused for the answer where large enough
}

// fetchAnswer is what the partition's leader said; batches aliases body.
type fetchAnswer struct {
	code          kafka.Error
	highWatermark int64
	lastStable    int64
	logStart      int64
	gone          []aborted
	batches       []byte
	body          []byte
}

// The versions of fetch that are spoken: 4 brought transactions, 12 brings another encoding.
const (
	oldestFetch = 4
	newestFetch = 11
)

// fetchSlack is how much longer than asked a broker may take before its connection counts as dead.
const fetchSlack = 8 * time.Second

// maxAnswer bounds the size an answer may claim.
const maxAnswer = 1 << 30

func (r *fetchRequest) ApiKey() protocol.ApiKey { return protocol.Fetch }
func (a *fetchAnswer) ApiKey() protocol.ApiKey  { return protocol.Fetch }

// Broker finds the leader, as kafka-go's own request does.
func (r *fetchRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	like := fetch.Request{Topics: []fetch.RequestTopic{{Topic: r.topic, Partitions: []fetch.RequestPartition{{Partition: r.partition}}}}}
	return like.Broker(cluster)
}

// Required always claims the exchange, and learns the version agreed with this broker.
func (r *fetchRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Fetch]
	return true
}

// RawExchange sends the request and reads the answer. When ctx ends first, the connection is given up at once.
func (r *fetchRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < oldestFetch || r.version > newestFetch {
		return nil, fmt.Errorf("the broker speaks version %d of fetch, not %d to %d", r.version, oldestFetch, newestFetch)
	}
	conn, ok := rw.(net.Conn)
	if !ok {
		return nil, fmt.Errorf("fetch over %T, which is no connection", rw)
	}
	if err := conn.SetDeadline(time.Now().Add(r.wait + fetchSlack)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(r.ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	answer, err := r.exchange(conn)
	if !stop() {
		return nil, context.Cause(r.ctx) // its deadline may be on the connection: an error makes the pool drop it
	}
	if err != nil {
		return nil, err
	}
	return answer, conn.SetDeadline(time.Time{})
}

// correlation tells answers apart where requests are pipelined; here one connection has one request at a time.
const correlation = 1

func (r *fetchRequest) exchange(conn io.ReadWriter) (*fetchAnswer, error) {
	if _, err := conn.Write(r.encode()); err != nil {
		return nil, err
	}
	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return nil, err
	}
	size := int64(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if size < 0 || size > maxAnswer {
		return nil, fmt.Errorf("%w: answer to a fetch claims %d bytes", ErrCorrupt, size)
	}
	if id := binary.BigEndian.Uint32(head[4:]); id != correlation {
		return nil, fmt.Errorf("%w: answer to request %d, not %d", ErrCorrupt, id, correlation)
	}
	if int64(cap(r.buffer)) < size {
		r.buffer = make([]byte, size)
	}
	body := r.buffer[:size]
	if _, err := io.ReadFull(conn, body); err != nil {
		return nil, err
	}
	return r.decode(body)
}

func (r *fetchRequest) encode() []byte {
	w := make([]byte, 4, 96+len(r.clientID)+len(r.topic))
	w = binary.BigEndian.AppendUint16(w, uint16(protocol.Fetch))
	w = binary.BigEndian.AppendUint16(w, uint16(r.version))
	w = binary.BigEndian.AppendUint32(w, correlation)
	w = appendText(w, r.clientID)
	w = appendInt32(w, -1) // no replica
	w = appendInt32(w, int32(r.wait.Milliseconds()))
	w = appendInt32(w, 1) // answer as soon as there is anything
	w = appendInt32(w, r.maxBytes)
	if r.committed {
		w = append(w, 1)
	} else {
		w = append(w, 0)
	}
	if r.version >= 7 {
		w = appendInt32(w, 0)  // no session
		w = appendInt32(w, -1) // and none wanted
	}
	w = appendInt32(w, 1)
	w = appendText(w, r.topic)
	w = appendInt32(w, 1)
	w = appendInt32(w, r.partition)
	if r.version >= 9 {
		w = appendInt32(w, -1) // whatever the leader's epoch
	}
	w = binary.BigEndian.AppendUint64(w, uint64(r.position))
	if r.version >= 5 {
		w = binary.BigEndian.AppendUint64(w, ^uint64(0)) // log start: for followers only
	}
	w = appendInt32(w, r.maxBytes)
	if r.version >= 7 {
		w = appendInt32(w, 0) // no topics to forget
	}
	if r.version >= 11 {
		w = appendText(w, "") // no rack
	}
	binary.BigEndian.PutUint32(w, uint32(len(w)-4))
	return w
}

func (r *fetchRequest) decode(body []byte) (*fetchAnswer, error) {
	c := fields{b: body}
	a := &fetchAnswer{body: body}
	c.int32() // throttled
	if r.version >= 7 {
		if code := c.int16(); code != 0 {
			a.code = kafka.Error(code)
			return a, nil
		}
		c.int32() // session
	}
	if n := c.int32(); n != 1 && !c.bad {
		return nil, fmt.Errorf("%w: answer for %d topics, asked for one", ErrCorrupt, n)
	}
	topic := string(c.take(int(c.int16())))
	if n := c.int32(); n != 1 && !c.bad {
		return nil, fmt.Errorf("%w: answer for %d partitions, asked for one", ErrCorrupt, n)
	}
	partition := c.int32()
	a.code = kafka.Error(c.int16())
	a.highWatermark = c.int64()
	a.lastStable = c.int64()
	if r.version >= 5 {
		a.logStart = c.int64()
	}
	for range c.int32() { // -1: none
		a.gone = append(a.gone, aborted{c.int64(), c.int64()})
		if c.bad {
			break
		}
	}
	if r.version >= 11 {
		c.int32() // the replica to prefer
	}
	if n := c.int32(); n > 0 {
		a.batches = c.take(int(n))
	}
	if c.bad {
		return nil, fmt.Errorf("%w: answer to a fetch ends early", ErrCorrupt)
	}
	if topic != r.topic || partition != r.partition {
		return nil, errors.Join(ErrCorrupt, fmt.Errorf("answer for %s/%d, asked for %s/%d", topic, partition, r.topic, r.partition))
	}
	return a, nil
}

func appendInt32(w []byte, v int32) []byte { return binary.BigEndian.AppendUint32(w, uint32(v)) }

func appendText(w []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(w, uint16(len(s))), s...)
}

// fields reads the fixed-size parts of an answer; once it runs out it is bad and reads zeros.
type fields struct {
	b   []byte
	bad bool
}

func (c *fields) take(n int) []byte {
	if n < 0 || n > len(c.b) {
		c.bad, c.b = true, nil
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *fields) int16() int16 {
	if b := c.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (c *fields) int32() int32 {
	if b := c.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *fields) int64() int64 {
	if b := c.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
