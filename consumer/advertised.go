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
	return others(ctx, client, group, out, func(d userData) string { return d.Out })
}

// Others returns what the members of the group that have partitions advertise, except own. Nothing is known while the group is
// rebalancing.
func Others(ctx context.Context, client *topic.Client, group, own string) ([]string, error) {
	return others(ctx, client, group, own, func(d userData) string { return d.Advertise })
}

// others returns the texts that members of a group give, sorted, except own.
func others(
	ctx context.Context, client *topic.Client, group, own string, of func(userData) string,
) ([]string, error) {
	described, err := client.Group(ctx, group)
	var list []string
	for _, m := range described.Members {
		if other := of(readUserData(m.UserData)); other != "" && other != own && !slices.Contains(list, other) {
			list = append(list, other)
		}
	}
	slices.Sort(list)
	return list, err
}
