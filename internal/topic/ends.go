package topic

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"
)

// Ends returns the ends of partitions: the high watermarks, or with committed the last stable offsets. A
// partition without an answer, because its leader moves or it does not exist, is left out. An error means
// that none was answered.
func (c *Client) Ends(ctx context.Context, partitions []TopicPartition,
	committed bool,
) (map[TopicPartition]int64, error) {
	answer, err := c.listOffsets(ctx, partitions, Latest, committed)
	if err != nil {
		return nil, fmt.Errorf("ends of %d partitions: %w", len(partitions), err)
	}
	ends := map[TopicPartition]int64{}
	for _, t := range answer.Topics {
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
	a, err := c.fetch(ctx, at, offset, batchHead, 500*time.Millisecond, false, nil)
	if err != nil {
		return -1, err
	}
	b := a.RecordBatches
	if len(b) < batchHead || b[atMagic] != 2 {
		return -1, fmt.Errorf("read %s/%d at %d: no batch", at.Topic, at.Partition, offset)
	}
	return int64(binary.BigEndian.Uint64(b[atProducer:])), nil
}
