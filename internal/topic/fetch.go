package topic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// fetchRequest fetches batches of one partition. kafka-go routes it to the leader over a pooled connection,
// and the request exchanges the bytes itself. kafka-go's own decoder is not used, because it drops the end
// offset of batches, which makes positions wrong over gaps, and because it allocates for every record.
type fetchRequest struct {
	ctx       context.Context
	clientID  string
	topic     string
	partition int32
	position  int64
	maxBytes  int32
	wait      time.Duration // how long the broker may hold the request while there are no records
	committed bool
	version   int16
	buffer    []byte // reused for the answer if large enough
}

// fetchAnswer is the leader's answer; batches aliases body.
type fetchAnswer struct {
	code          kafka.Error
	highWatermark int64
	lastStable    int64
	logStart      int64
	gone          []aborted
	batches       []byte
	body          []byte
}

// The supported versions of fetch: transactions came with 4, another encoding comes with 12.
const (
	oldestFetch = 4
	newestFetch = 11
)

// fetchSlack is how much longer than wait a broker may take before its connection counts as dead.
const fetchSlack = 8 * time.Second

func (r *fetchRequest) ApiKey() protocol.ApiKey { return protocol.Fetch }
func (a *fetchAnswer) ApiKey() protocol.ApiKey  { return protocol.Fetch }

// Broker finds the leader, as kafka-go's own request does.
func (r *fetchRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	like := fetch.Request{Topics: []fetch.RequestTopic{{
		Topic:      r.topic,
		Partitions: []fetch.RequestPartition{{Partition: r.partition}},
	}}}
	return like.Broker(cluster)
}

// Required always returns true, so that RawExchange is used, and stores the version agreed with this broker.
func (r *fetchRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Fetch]
	return true
}

// RawExchange sends the request and reads the answer. If ctx ends first, the connection is closed at once.
func (r *fetchRequest) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if r.version < oldestFetch || r.version > newestFetch {
		return nil, fmt.Errorf("the broker speaks version %d of fetch, not %d to %d", r.version, oldestFetch,
			newestFetch)
	}
	body, err := exchange(r.ctx, rw, r.encode(), r.buffer, r.wait+fetchSlack)
	if err != nil {
		return nil, err
	}
	return r.decode(body)
}

func (r *fetchRequest) encode() []byte {
	w := requestHead(protocol.Fetch, r.version, r.clientID)
	w = appendInt32(w, -1) // no replica
	w = appendInt32(w, int32(r.wait.Milliseconds()))
	w = appendInt32(w, 1) // least bytes: answer as soon as there are records
	w = appendInt32(w, r.maxBytes)
	if r.committed {
		w = append(w, 1)
	} else {
		w = append(w, 0)
	}
	if r.version >= 7 {
		w = appendInt32(w, 0)  // no session
		w = appendInt32(w, -1) // and start none
	}
	w = appendInt32(w, 1)
	w = appendText(w, r.topic)
	w = appendInt32(w, 1)
	w = appendInt32(w, r.partition)
	if r.version >= 9 {
		w = appendInt32(w, -1) // any leader epoch
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
		c.int32() // preferred replica
	}
	if n := c.int32(); n > 0 {
		a.batches = c.take(int(n))
	}
	if c.bad {
		return nil, fmt.Errorf("%w: answer to a fetch ends early", ErrCorrupt)
	}
	if topic != r.topic || partition != r.partition {
		return nil, errors.Join(ErrCorrupt, fmt.Errorf("answer for %s/%d, asked for %s/%d", topic, partition,
			r.topic, r.partition))
	}
	return a, nil
}
