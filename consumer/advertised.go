package consumer

import (
	"context"
	"fmt"
	"slices"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// Advertised returns the text that the group's member with this partition advertises
// (GroupSettings.Advertise); "" if no member has the partition, or the group is rebalancing.
func Advertised(
	ctx context.Context, client *topic.Client, group string, at topic.TopicPartition,
) (string, error) {
	answer, err := client.Kafka().DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{group}})
	if err != nil {
		return "", fmt.Errorf("group %s: %w", group, err)
	}
	for _, g := range answer.Groups {
		if g.Error != nil {
			return "", fmt.Errorf("group %s: %w", group, g.Error)
		}
		for i := range g.Members {
			for _, t := range g.Members[i].MemberAssignments.Topics {
				if t.Topic == at.Topic && slices.Contains(t.Partitions, int(at.Partition)) {
					return string(g.Members[i].MemberMetadata.UserData), nil
				}
			}
		}
	}
	return "", nil
}
