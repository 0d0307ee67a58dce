package topic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/listoffsets"
)

// Earliest and Latest are the ends of a partition, for Client.Offset.
const (
	Earliest int64 = -2
	Latest   int64 = -1
)

// Offset finds an offset of a partition. at is Earliest, Latest, or a time in milliseconds since 1970: then
// the result is the first record at or after it, or Latest if there is none. Latest is the high watermark, or
// with committed the last stable offset, the end of all that a reader of committed records can read now.
func (c *Client) Offset(ctx context.Context, name string, partition int32, at int64,
	committed bool,
) (int64, error) {
	in := TopicPartition{name, partition}
	offset, err := c.listOffset(ctx, in, at, committed)
	if err == nil && offset < 0 && at >= 0 {
		offset, err = c.listOffset(ctx, in, Latest, committed)
	}
	if err == nil && offset < 0 {
		err = &Refused{"find an offset in", name, partition, fmt.Errorf("the broker's answer is %d", offset)}
	}
	return offset, err
}

// Bounds returns the ends of a partition, Earliest and Latest.
func (c *Client) Bounds(ctx context.Context, name string, partition int32, committed bool,
) (first, end int64, err error) {
	if first, err = c.Offset(ctx, name, partition, Earliest, committed); err != nil {
		return 0, 0, err
	}
	end, err = c.Offset(ctx, name, partition, Latest, committed)
	return first, end, err
}

// OffsetNamed finds the offset for a user's input: earliest, latest, an offset, or a time in RFC 3339. The
// result is limited to the range that the log holds.
func (c *Client) OffsetNamed(ctx context.Context, name string, partition int32, named string,
	committed bool,
) (int64, error) {
	first, last, err := c.Bounds(ctx, name, partition, committed)
	if err != nil {
		return 0, err
	}
	switch named {
	case "earliest":
		return first, nil
	case "latest":
		return last, nil
	}
	offset, err := strconv.ParseInt(named, 10, 64)
	if err != nil {
		at, err := time.Parse(time.RFC3339, named)
		if err != nil {
			return 0, fmt.Errorf("%q is not a time, an offset, earliest or latest", named)
		}
		offset, err = c.Offset(ctx, name, partition, max(at.UnixMilli(), 0), committed)
		if err != nil {
			return 0, err
		}
	}
	return max(first, min(offset, last)), nil
}

func (c *Client) listOffset(ctx context.Context, in TopicPartition, at int64, committed bool) (int64, error) {
	found, err := c.listOffsets(ctx, []TopicPartition{in}, at, committed)
	offset, known := found[in]
	if err == nil && !known {
		err = &Refused{"find an offset in", in.Topic, in.Partition, kafka.UnknownTopicOrPartition}
	}
	return offset, err
}

// Ends returns the ends of partitions: the high watermarks, or with committed the last stable offsets. A
// partition without an answer, because its leader moves or it does not exist, is left out. An error means
// that none was answered.
func (c *Client) Ends(ctx context.Context, partitions []TopicPartition,
	committed bool,
) (map[TopicPartition]int64, error) {
	ends, err := c.listOffsets(ctx, partitions, Latest, committed)
	maps.DeleteFunc(ends, func(_ TopicPartition, end int64) bool { return end < 0 })
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		return ends, nil
	}
	return ends, err
}

// listOffsets asks for one offset of each partition. Those that are refused are left out, and a *Refused of
// one of them is returned.
func (c *Client) listOffsets(ctx context.Context, partitions []TopicPartition, at int64,
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
				Partition: p.Partition, CurrentLeaderEpoch: -1, Timestamp: at,
			}},
		})
	}
	answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
		return c.transport.RoundTrip(ctx, c.kafka.Addr, request)
	})
	if err != nil {
		return nil, fmt.Errorf("find offsets in %v: %w", partitions, err)
	}
	found := map[TopicPartition]int64{}
	for _, t := range answer.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 {
				err = &Refused{"find an offset in", t.Topic, p.Partition, kafka.Error(p.ErrorCode)}
				continue
			}
			found[TopicPartition{t.Topic, p.Partition}] = p.Offset
		}
	}
	return found, err
}

// Committed returns the offset that a group has committed for a partition, -1 if it has none.
func (c *Client) Committed(ctx context.Context, group, name string, partition int32) (int64, error) {
	answer, err := send(ctx, c.kafka.OffsetFetch,
		kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{name: {int(partition)}}})
	if err == nil {
		err = answer.Error
	}
	if errors.Is(err, kafka.GroupIdNotFound) {
		return -1, nil // the group has never committed
	}
	if err != nil {
		return -1, fmt.Errorf("offset of group %s in %s/%d: %w", group, name, partition, err)
	}
	partitions := answer.Topics[name]
	if len(partitions) == 0 { // not "never committed", by which a group would begin again
		return -1, &Refused{"offset of group " + group + " in", name, partition, kafka.UnknownTopicOrPartition}
	}
	if errors.Is(partitions[0].Error, kafka.GroupIdNotFound) {
		return -1, nil
	}
	if err := partitions[0].Error; err != nil {
		return -1, &Refused{"offset of group " + group + " in", name, partition, err}
	}
	return partitions[0].CommittedOffset, nil
}
