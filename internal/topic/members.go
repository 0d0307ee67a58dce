package topic

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

// Members returns the members of a consumer group; none if nobody knows the group.
func (c *Client) Members(ctx context.Context, group string) ([]kafka.DescribeGroupsResponseMember, error) {
	answer, err := send(ctx, c.kafka.DescribeGroups, kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err == nil && len(answer.Groups) != 1 {
		err = fmt.Errorf("the answer is about %d groups", len(answer.Groups))
	}
	if err == nil {
		err = answer.Groups[0].Error
	}
	if errors.Is(err, kafka.GroupIdNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("members of group %s: %w", group, err)
	}
	return answer.Groups[0].Members, nil
}
