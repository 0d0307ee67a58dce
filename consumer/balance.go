package consumer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/segmentio/kafka-go"
)

// watched is a balancer that records whether it was given partitions of every topic that members want. The
// leader of a group requests the partitions of all topics at once, and gets none if one topic is missing. It
// would then assign a generation without partitions, which lasts until the next rebalance.
type watched struct {
	kafka.GroupBalancer
	incomplete *atomic.Bool
}

// balancers returns ours and those that kafka-go offers by default, all watched. A group uses the first that
// all its members support, and members of an older version support only kafka-go's.
func balancers(incomplete *atomic.Bool, advertise string) []kafka.GroupBalancer {
	return []kafka.GroupBalancer{
		watched{evenly{advertise}, incomplete},
		watched{kafka.RangeGroupBalancer{}, incomplete},
		watched{kafka.RoundRobinGroupBalancer{}, incomplete},
	}
}

// evenly gives members equal numbers of partitions over all topics together. Range does so for each topic, so
// that the same few members get the partitions of every small topic. A single topic is assigned as by range.
type evenly struct{ advertise string }

// ProtocolName implements kafka.GroupBalancer.
func (evenly) ProtocolName() string { return "slkstream-evenly" }

// UserData implements kafka.GroupBalancer.
func (e evenly) UserData() ([]byte, error) { return []byte(e.advertise), nil }

// AssignGroups implements kafka.GroupBalancer. It concatenates the topics that the same members want and
// cuts them into runs.
func (evenly) AssignGroups(members []kafka.GroupMember,
	partitions []kafka.Partition,
) kafka.GroupMemberAssignments {
	assigned := kafka.GroupMemberAssignments{}
	wanting := map[string][]string{} // member IDs by the topic they want
	for _, m := range slices.SortedFunc(slices.Values(members), byID) {
		assigned[m.ID] = map[string][]int{}
		for _, name := range m.Topics {
			if !slices.Contains(wanting[name], m.ID) {
				wanting[name] = append(wanting[name], m.ID)
			}
		}
	}
	together := map[string][]kafka.Partition{} // by the members that want them
	for _, p := range partitions {
		if ids := wanting[p.Topic]; len(ids) > 0 {
			key := strings.Join(ids, "\x00")
			together[key] = append(together[key], p)
		}
	}
	given := 0 // each set of topics starts with another member, so that many small sets are spread too
	for _, key := range slices.Sorted(maps.Keys(together)) {
		list := together[key]
		slices.SortFunc(list, func(a, b kafka.Partition) int {
			return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.ID, b.ID))
		})
		ids := wanting[list[0].Topic]
		for m := range ids {
			to := assigned[ids[(m+given)%len(ids)]]
			for _, p := range list[m*len(list)/len(ids) : (m+1)*len(list)/len(ids)] {
				to[p.Topic] = append(to[p.Topic], p.ID)
			}
		}
		given += len(list)
	}
	return assigned
}

func byID(a, b kafka.GroupMember) int { return cmp.Compare(a.ID, b.ID) }

// AssignGroups implements kafka.GroupBalancer.
func (w watched) AssignGroups(members []kafka.GroupMember,
	partitions []kafka.Partition,
) kafka.GroupMemberAssignments {
	for _, m := range members {
		for _, name := range m.Topics {
			if !slices.ContainsFunc(partitions, func(p kafka.Partition) bool { return p.Topic == name }) {
				w.incomplete.Store(true)
			}
		}
	}
	return w.GroupBalancer.AssignGroups(members, partitions)
}
