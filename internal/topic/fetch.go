package topic

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchSettings say what a fetch asks for.
type fetchSettings struct {
	at        TopicPartition
	position  int64
	maxBytes  int
	wait      time.Duration // how long the broker may hold the request while there are no records
	committed bool          // no records of open and aborted transactions
	buffer    []byte        // for the answer, if that fits
	rack      string        // of which the leader names a replica if it knows one
	replica   int32         // the broker to ask; -1: the leader
}

// fetchRequest fetches batches of one partition. kafka-go's own decoder is not used, because it drops the end
// offset of batches, which makes positions wrong over gaps, and because it allocates for every record.
type fetchRequest struct {
	rawRequest
	at      TopicPartition
	replica int32
}

// fetched is the leader's answer for the partition. Its RecordBatches alias body.
type fetched struct {
	*kmsg.FetchResponseTopicPartition
	body []byte
}

// fetchSlack is how much longer than wait a broker may take to answer, and for each part of the answer,
// before its connection counts as dead.
const fetchSlack = 8 * time.Second

// fetch fetches batches. A refusal of the partition is an error, and so is *Throttled.
func (c *Client) fetch(ctx context.Context, s fetchSettings) (*fetched, error) {
	at := s.at
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset = at.Partition, s.position
	partition.PartitionMaxBytes = int32(s.maxBytes)
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = at.Topic, append(topic.Partitions, partition)
	request := kmsg.NewPtrFetchRequest()
	request.Rack = s.rack
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = int32(s.wait.Milliseconds()), 1, int32(s.maxBytes)
	if s.committed {
		request.IsolationLevel = int8(kafka.ReadCommitted)
	}
	request.Topics = append(request.Topics, topic)
	asked := &fetchRequest{rawRequest{ctx, c.clientID, request, "", s.wait + fetchSlack, s.buffer}, at, s.replica}
	message, err := c.transport.RoundTrip(ctx, c.kafka.Addr, asked)
	if err != nil {
		return nil, fmt.Errorf("read %s at %d: %w", at, s.position, err)
	}
	a := message.(*rawResponse)
	answer := a.Response.(*kmsg.FetchResponse)
	if err := Refusal(answer.ErrorCode); err != nil {
		return nil, &Refused{"read", at.Topic, at.Partition, err}
	}
	if wait := time.Duration(answer.ThrottleMillis) * time.Millisecond; wait > 0 && len(answer.Topics) == 0 {
		return nil, &Throttled{"reading " + at.String(), wait}
	}
	if len(answer.Topics) != 1 || answer.Topics[0].Topic != at.Topic || len(answer.Topics[0].Partitions) != 1 ||
		answer.Topics[0].Partitions[0].Partition != at.Partition {
		return nil, fmt.Errorf("%w: the answer to a fetch of %s is not about it alone", ErrCorrupt, at)
	}
	p := &answer.Topics[0].Partitions[0]
	if err := Refusal(p.ErrorCode); err != nil {
		return nil, &Refused{"read", at.Topic, at.Partition, err}
	}
	return &fetched{p, a.body}, nil
}

// Broker finds the broker to ask. The leader is found as kafka-go's own request does.
func (r *fetchRequest) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	if r.replica >= 0 {
		b, known := cluster.Brokers[r.replica]
		if !known {
			return b, kafka.BrokerNotAvailable
		}
		return b, nil
	}
	like := fetch.Request{Topics: []fetch.RequestTopic{{
		Topic:      r.at.Topic,
		Partitions: []fetch.RequestPartition{{Partition: r.at.Partition}},
	}}}
	return like.Broker(cluster)
}

// Required always returns true, so that RawExchange is used, and sets the version that kafka-go would use
// with this broker: 4 or later, as brokers have transactions, and before 12, which is encoded differently.
func (r *fetchRequest) Required(versions map[protocol.ApiKey]int16) bool {
	r.SetVersion(versions[protocol.Fetch])
	return true
}

// ProducerAt returns the id of the producer that wrote the batch at an offset, whether its transaction has
// ended or not; -1 if the producer has no id.
func (c *Client) ProducerAt(ctx context.Context, at TopicPartition, offset int64) (int64, error) {
	a, err := c.fetch(ctx, fetchSettings{
		at: at, position: offset, maxBytes: BatchHead, wait: 500 * time.Millisecond, replica: -1,
	})
	if err != nil {
		return -1, err
	}
	b := a.RecordBatches
	if len(b) < BatchHead || b[atMagic] != 2 {
		return -1, fmt.Errorf("read %s/%d at %d: no batch", at.Topic, at.Partition, offset)
	}
	return int64(binary.BigEndian.Uint64(b[atProducer:])), nil
}
