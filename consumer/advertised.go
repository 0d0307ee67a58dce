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
	described, err := client.Group(ctx, group)
	if owner := described.Owner(at); owner != nil {
		return readUserData(owner.UserData).Advertise, nil
	}
	return "", err
}

// OtherOuts returns the topics that members of the group write to (GroupSettings.Out), except out. Nothing is
// known while the group is rebalancing.
func OtherOuts(ctx context.Context, client *topic.Client, group, out string) ([]string, error) {
	described, err := client.Group(ctx, group)
	var others []string
	for _, m := range described.Members {
		other := readUserData(m.UserData).Out
		if other != "" && other != out && !slices.Contains(others, other) {
			others = append(others, other)
		}
	}
	slices.Sort(others)
	return others, err
}
