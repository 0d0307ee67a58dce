package topic

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetching fetches batches of one partition. kafka-go's own decoder is not used, because it drops the end
// offset of batches, which makes positions wrong over gaps, and because it allocates for every record.
type fetching struct {
	asking
	at TopicPartition
}

// fetched is the leader's answer for the partition. Its RecordBatches alias body.
type fetched struct {
	*kmsg.FetchResponseTopicPartition
	body []byte
}

// The supported versions of fetch: transactions came with 4, another encoding comes with 12.
const (
	oldestFetch = 4
	newestFetch = 11
)

// fetchSlack is how much longer than wait a broker may take before its connection counts as dead.
const fetchSlack = 8 * time.Second

// fetch fetches batches from position on, into buffer if that is large enough. wait is how long the broker
// may hold the request while there are no records. A refusal of the partition is an error.
func (c *Client) fetch(ctx context.Context, at TopicPartition, position int64, maxBytes int,
	wait time.Duration, committed bool, buffer []byte,
) (*fetched, error) {
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.Partition, partition.FetchOffset = at.Partition, position
	partition.PartitionMaxBytes = int32(maxBytes)
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = at.Topic, append(topic.Partitions, partition)
	request := kmsg.NewPtrFetchRequest()
	request.MaxWaitMillis, request.MinBytes, request.MaxBytes = int32(wait.Milliseconds()), 1, int32(maxBytes)
	if committed {
		request.IsolationLevel = int8(kafka.ReadCommitted)
	}
	request.Topics = append(request.Topics, topic)
	asked := &fetching{asking{ctx, c.clientID, request, "", wait + fetchSlack, buffer}, at}
	message, err := c.transport.RoundTrip(ctx, c.kafka.Addr, asked)
	if err != nil {
		return nil, fmt.Errorf("read %s at %d: %w", at, position, err)
	}
	a := message.(*answering)
	answer := a.Response.(*kmsg.FetchResponse)
	if err := refusal(answer.ErrorCode); err != nil {
		return nil, &Refused{"read", at.Topic, at.Partition, err}
	}
	if len(answer.Topics) != 1 || answer.Topics[0].Topic != at.Topic || len(answer.Topics[0].Partitions) != 1 ||
		answer.Topics[0].Partitions[0].Partition != at.Partition {
		return nil, fmt.Errorf("%w: the answer to a fetch of %s is not about it alone", ErrCorrupt, at)
	}
	p := &answer.Topics[0].Partitions[0]
	if err := refusal(p.ErrorCode); err != nil {
		return nil, &Refused{"read", at.Topic, at.Partition, err}
	}
	return &fetched{p, a.body}, nil
}

// Broker finds the leader, as kafka-go's own request does.
func (r *fetching) Broker(cluster protocol.Cluster) (protocol.Broker, error) {
	like := fetch.Request{Topics: []fetch.RequestTopic{{
		Topic:      r.at.Topic,
		Partitions: []fetch.RequestPartition{{Partition: r.at.Partition}},
	}}}
	return like.Broker(cluster)
}

// Required always returns true, so that RawExchange is used, and sets the version agreed with this broker.
func (r *fetching) Required(versions map[protocol.ApiKey]int16) bool {
	r.SetVersion(versions[protocol.Fetch])
	return true
}

// RawExchange sends the request and reads the answer. If ctx ends first, the connection is closed at once.
func (r *fetching) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	if v := r.GetVersion(); v < oldestFetch || v > newestFetch {
		return nil, fmt.Errorf("the broker speaks version %d of fetch, not %d to %d", v, oldestFetch, newestFetch)
	}
	return r.asking.RawExchange(rw)
}
