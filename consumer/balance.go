package consumer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/segmentio/kafka-go"
)

// watched is a balancer that notes whether it was given partitions of every topic that members want. The
// leader of a group asks for all topics at once, and gets nothing at all where one of them is missing: it
// would hand out a generation without partitions, which lasts until something else changes.
type watched struct {
	kafka.GroupBalancer
	incomplete *atomic.Bool
}

// balancers are ours and those that kafka-go offers by itself, watched: a group goes by the first that all of
// its members have, and members of an older version have only kafka-go's.
func balancers(incomplete *atomic.Bool, advertise string) []kafka.GroupBalancer {
	return []kafka.GroupBalancer{
		watched{evenly{advertise}, incomplete},
		watched{kafka.RangeGroupBalancer{}, incomplete},
		watched{kafka.RoundRobinGroupBalancer{}, incomplete},
	}
}

// evenly gives members equal numbers of partitions of all topics together. Range does so for each topic, and
// the same few members get the partitions of every small one. Of one topic it assigns as range does.
type evenly struct{ advertise string }

// ProtocolName implements kafka.GroupBalancer.
func (evenly) ProtocolName() string { return "slkstream-evenly" }

// UserData implements kafka.GroupBalancer.
func (e evenly) UserData() ([]byte, error) { return []byte(e.advertise), nil }

// AssignGroups implements kafka.GroupBalancer. Topics that the same members want are cut into runs together.
func (evenly) AssignGroups(members []kafka.GroupMember,
	partitions []kafka.Partition,
) kafka.GroupMemberAssignments {
	assigned := kafka.GroupMemberAssignments{}
	wanting := map[string][]string{} // the members of each topic
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
	given := 0 // each set of topics begins with another member, so that many sets are spread too
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
