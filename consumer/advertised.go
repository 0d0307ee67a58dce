package consumer

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/internal/topic"
)

// Advertised returns the text that the group's member with this partition advertises
// (GroupSettings.Advertise); "" if no member has the partition, or the group is rebalancing.
func Advertised(
	ctx context.Context, client *topic.Client, group string, at topic.TopicPartition,
) (string, error) {
	members, err := client.Members(ctx, group)
	if err != nil {
		return "", err
	}
	for i := range members {
		for _, t := range members[i].MemberAssignments.Topics {
			if t.Topic == at.Topic && slices.Contains(t.Partitions, int(at.Partition)) {
				return readUserData(members[i].MemberMetadata.UserData).Advertise, nil
			}
		}
	}
	return "", nil
}

// OtherOuts returns the topics that members of the group write to (GroupSettings.Out), except out. Of members
// of older versions, and while the group is rebalancing, nothing is known.
func OtherOuts(ctx context.Context, client *topic.Client, group, out string) ([]string, error) {
	members, err := client.Members(ctx, group)
	var others []string
	for i := range members {
		other := readUserData(members[i].MemberMetadata.UserData).Out
		if other != "" && other != out && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	return others, err
}
