package topic

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Generation is a member's place in its group, from one rebalance to the next.
type Generation struct {
	Group    string
	ID       int32
	MemberID string
	// Incarnation numbers the processes that have an instance id one after the other: a group keeps its generation when one
	// of them takes the place of another. 0 without such an id. Commits of offsets tell it: the group refuses those of a
	// process whose place another has taken, so that the other reads all that there will be (see Incarnation).
	Incarnation int32
}

// Ask sends a request in one version to a group's coordinator, and waits for up to limit for the answer.
func (c *Coordinators) Ask(ctx context.Context, request kmsg.Request, version int16, group string,
	limit time.Duration,
) (kmsg.Response, error) {
	request.SetVersion(version)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	asked := &groupRequest{rawRequest{limited, c.client.clientID, request, group, limit, nil}}
	answer, err := c.RoundTrip(limited, c.client.kafka.Addr, asked)
	if err != nil {
		c.Forget()
		return nil, err
	}
	return answer.(*rawResponse).Response, nil
}

// Beat keeps a member's place in its group, and returns nil if it has it. instance is the instance id that it joined with;
// nil: none, or the caller only asks. kafka-go's own request reads the answer's fields in the wrong order, and so misses errors.
func (c *Coordinators) Beat(ctx context.Context, g *Generation, instance *string, limit time.Duration) error {
	request := kmsg.NewPtrHeartbeatRequest()
	request.Group, request.Generation, request.MemberID, request.InstanceID = g.Group, g.ID, g.MemberID, instance
	answer, err := c.Ask(ctx, request, 3, g.Group, limit)
	if err == nil {
		err = Refusal(answer.(*kmsg.HeartbeatResponse).ErrorCode)
	}
	if err != nil {
		c.Forget()
		return fmt.Errorf("generation %d of group %s: %w", g.ID, g.Group, err)
	}
	return nil
}

// CommitOffsets commits offsets as a member, by topic and partition. The group refuses them once the member has lost its
// place. The error is of the first partition that has one; others may be committed then.
func (c *Coordinators) CommitOffsets(ctx context.Context, g *Generation, offsets map[string]map[int]int64) error {
	request := kmsg.NewPtrOffsetCommitRequest()
	request.Group, request.Generation, request.MemberID = g.Group, g.ID, g.MemberID
	for name, partitions := range offsets {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = name
		for partition, offset := range partitions {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset = int32(partition), offset
			if g.Incarnation > 0 {
				told := strconv.Itoa(int(g.Incarnation))
				p.Metadata = &told
			}
			t.Partitions = append(t.Partitions, p)
		}
		request.Topics = append(request.Topics, t)
	}
	answer, err := c.Ask(ctx, request, 2, g.Group, requestTimeout) // the last without a leader's epoch, which is not known here
	if err != nil {
		return err
	}
	for _, t := range answer.(*kmsg.OffsetCommitResponse).Topics {
		for _, p := range t.Partitions {
			if err := Refusal(p.ErrorCode); err != nil {
				c.Forget()
				return &Refused{"commit", t.Topic, p.Partition, err}
			}
		}
	}
	return nil
}

// Incarnation returns the highest incarnation by which a group has committed offsets of partitions; 0: none.
func (c *Client) Incarnation(ctx context.Context, group string, partitions []TopicPartition) (highest int32, err error) {
	request := kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{}}
	for _, at := range partitions {
		request.Topics[at.Topic] = append(request.Topics[at.Topic], int(at.Partition))
	}
	answer, err := send(ctx, c.kafka.OffsetFetch, request)
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return 0, fmt.Errorf("offsets of group %s: %w", group, err)
	}
	for name := range request.Topics {
		list := answer.Topics[name]
		if len(list) == 0 {
			return 0, &Refused{"offsets of group " + group + " in", name, 0, kafka.UnknownTopicOrPartition}
		}
		for _, p := range list {
			if p.Error != nil {
				return 0, &Refused{"offset of group " + group + " in", name, int32(p.Partition), p.Error}
			}
			told, _ := strconv.ParseInt(p.Metadata, 10, 32) // 0: another's words
			highest = max(highest, int32(told))
		}
	}
	return highest, nil
}
