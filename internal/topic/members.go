package topic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Group is a consumer group as its coordinator describes it.
type Group struct {
	// Protocol is that of the members' assignments; "" while the group is rebalancing, or if the brokers assign
	// partitions themselves (KIP-848).
	Protocol string
	Brokers  bool // the brokers assign the partitions
	Members  []Member
}

// Member is a member of a group.
type Member struct {
	ID       string
	Instance string // its instance id; "": none
	ClientID string
	Host     string
	UserData []byte   // what it tells the others when it joins; nil while the group is rebalancing
	Topics   []string // that it reads; nil while the group is rebalancing
	Assigned []TopicPartition
}

// String returns what a person can find the member by.
func (m Member) String() string { return fmt.Sprintf("%q at %s", m.ClientID, m.Host) }

// GroupConflict is the reason why a process does not take part in a group although it can reach it.
type GroupConflict struct {
	Why string
	Do  string // what a person can do
}

func (e *GroupConflict) Error() string { return e.Why }

// ListedGroup is a group's name, and the broker that coordinated it when it was listed.
type ListedGroup struct {
	Name        string
	coordinator int32
}

// ByName compares a group with a name, as Groups sorts them.
func ByName(g ListedGroup, name string) int { return strings.Compare(g.Name, name) }

// Groups lists the groups of consumers that this client may list, by name; it may describe fewer.
func (c *Client) Groups(ctx context.Context) (groups []ListedGroup, err error) {
	answer, err := send(ctx, c.kafka.ListGroups, kafka.ListGroupsRequest{})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return nil, fmt.Errorf("list groups: %w", err)
	}
	for _, g := range answer.Groups {
		if g.ProtocolType == "consumer" {
			groups = append(groups, ListedGroup{g.GroupID, int32(g.Coordinator)})
		}
	}
	slices.SortFunc(groups, func(a, b ListedGroup) int { return ByName(a, b.Name) })
	return slices.CompactFunc(groups, func(a, b ListedGroup) bool { return a.Name == b.Name }), nil
}

// Described describes listed groups, with one request to each coordinator. Groups to which brokers assign partitions have
// no members here. The error is the first of those that could not be described; all others are in the result.
func (c *Client) Described(ctx context.Context, list []ListedGroup) (all map[string]Group, first error) {
	requests := map[int32]*kmsg.DescribeGroupsRequest{}
	for _, g := range list {
		request := requests[g.coordinator]
		if request == nil {
			request = kmsg.NewPtrDescribeGroupsRequest()
			request.SetVersion(describing)
			requests[g.coordinator] = request
		}
		request.Groups = append(request.Groups, g.Name)
	}
	all = map[string]Group{}
	for _, coordinator := range slices.Sorted(maps.Keys(requests)) {
		answer, err := call(ctx, func(ctx context.Context) (kafka.Response, error) {
			asked := &rawRequest{ctx, c.clientID, requests[coordinator], "", requestTimeout, nil}
			return c.transport.RoundTrip(ctx, c.kafka.Addr, &directed{Message: asked, broker: coordinator})
		})
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		described := answer.(*rawResponse).Response.(*kmsg.DescribeGroupsResponse).Groups
		for i := range described {
			group, err := groupOf(&described[i])
			if err != nil {
				first = cmp.Or(first, err)
				continue
			}
			all[described[i].Group] = group
		}
	}
	return all, first
}

// describing is the first version of a description with instance ids.
const describing = 4

// Group describes a group; it has no members if nobody knows it.
func (c *Client) Group(ctx context.Context, name string) (Group, error) {
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{name}
	answer, err := c.Ask(ctx, request, describing, name)
	if err != nil {
		return Group{}, fmt.Errorf("members of group %s: %w", name, err)
	}
	groups := answer.(*kmsg.DescribeGroupsResponse).Groups
	if len(groups) != 1 {
		return Group{}, fmt.Errorf("%w: members of group %s: the answer is about %d groups", ErrCorrupt, name, len(groups))
	}
	group, err := groupOf(&groups[0])
	if err == nil && len(group.Members) == 0 {
		return c.brokersGroup(ctx, name)
	}
	return group, err
}

// groupOf returns the group of a description.
func groupOf(described *kmsg.DescribeGroupsResponseGroup) (Group, error) {
	if err := Refusal(described.ErrorCode); err != nil && !errors.Is(err, kafka.GroupIdNotFound) {
		return Group{}, fmt.Errorf("members of group %s: %w", described.Group, err)
	}
	group := Group{Protocol: described.Protocol}
	for _, m := range described.Members {
		member := Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			member.Instance = *m.InstanceID
		}
		member.Topics, member.UserData = MemberMetadata(m.ProtocolMetadata)
		var assigned kmsg.ConsumerMemberAssignment
		if assigned.ReadFrom(m.MemberAssignment) == nil {
			for _, t := range assigned.Topics {
				for _, p := range t.Partitions {
					member.Assigned = append(member.Assigned, TopicPartition{t.Topic, p})
				}
			}
		}
		group.Members = append(group.Members, member)
	}
	return group, nil
}

// MemberMetadata reads what a member tells a group. Stages claim version 1 and leave out what that has after the user data,
// which is an error at its end.
func MemberMetadata(b []byte) (topics []string, userData []byte) {
	var told kmsg.ConsumerMemberMetadata
	_ = told.ReadFrom(b)
	return told.Topics, told.UserData
}

// brokersGroup describes a group whose partitions the brokers assign; it has no members if the brokers know no
// such group, or no such groups at all.
func (c *Client) brokersGroup(ctx context.Context, name string) (Group, error) {
	request := kmsg.NewPtrConsumerGroupDescribeRequest()
	if newest, err := c.newest(ctx, request.Key()); err != nil || newest < 0 {
		return Group{}, err
	}
	request.Groups = []string{name}
	answer, err := c.Ask(ctx, request, 0, name)
	if err != nil {
		return Group{}, fmt.Errorf("members of group %s: %w", name, err)
	}
	group := Group{Brokers: true}
	for _, g := range answer.(*kmsg.ConsumerGroupDescribeResponse).Groups {
		for _, m := range g.Members {
			member := Member{ID: m.MemberID, ClientID: m.ClientID, Host: m.ClientHost}
			for _, t := range m.Assignment.TopicPartitions {
				for _, p := range t.Partitions {
					member.Assigned = append(member.Assigned, TopicPartition{t.Topic, p})
				}
			}
			group.Members = append(group.Members, member)
		}
	}
	return group, nil
}

// Owner returns the member that has a partition; nil: none has.
func (g *Group) Owner(at TopicPartition) *Member {
	for i := range g.Members {
		if slices.Contains(g.Members[i].Assigned, at) {
			return &g.Members[i]
		}
	}
	return nil
}
