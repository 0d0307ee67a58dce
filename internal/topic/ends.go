package topic

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// Ends returns the ends of partitions: the high watermarks, or with committed the last stable offsets. A
// partition without an answer, because its leader moves or it does not exist, is left out. An error means
// that none was answered.
func (c *Client) Ends(ctx context.Context, partitions []TopicPartition,
	committed bool,
) (map[TopicPartition]int64, error) {
	request := &listoffsets.Request{ReplicaID: -1, IsolationLevel: int8(kafka.ReadUncommitted)}
	if committed {
		request.IsolationLevel = int8(kafka.ReadCommitted)
	}
	for _, p := range partitions {
		request.Topics = append(request.Topics, listoffsets.RequestTopic{
			Topic: p.Topic,
			Partitions: []listoffsets.RequestPartition{{
				Partition: p.Partition, CurrentLeaderEpoch: -1, Timestamp: Latest,
			}},
		})
	}
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, request)
	})
	if err != nil {
		return nil, fmt.Errorf("ends of %d partitions: %w", len(partitions), err)
	}
	ends := map[TopicPartition]int64{}
	for _, t := range answer.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode == 0 && p.Offset >= 0 {
				ends[TopicPartition{t.Topic, p.Partition}] = p.Offset
			}
		}
	}
	return ends, nil
}

// ProducerAt returns the id of the producer that wrote the batch at an offset, whether its transaction has
// ended or not; -1 if the producer has no id.
func (c *Client) ProducerAt(ctx context.Context, at TopicPartition, offset int64) (int64, error) {
	message, err := c.transport.RoundTrip(ctx, c.kafka.Addr, &fetchRequest{
		ctx: ctx, clientID: c.clientID, topic: at.Topic, partition: at.Partition, position: offset,
		maxBytes: batchHead, wait: 500 * time.Millisecond,
	})
	if err != nil {
		return -1, fmt.Errorf("read %s/%d at %d: %w", at.Topic, at.Partition, offset, err)
	}
	a := message.(*fetchAnswer)
	if a.code != 0 {
		return -1, &Refused{"read", at.Topic, at.Partition, a.code}
	}
	if len(a.batches) < batchHead || a.batches[atMagic] != 2 {
		return -1, fmt.Errorf("read %s/%d at %d: no batch", at.Topic, at.Partition, offset)
	}
	return int64(binary.BigEndian.Uint64(a.batches[atProducer:])), nil
}
