package consumer

import (
	"slices"
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

// balancers are those that kafka-go offers by itself, watched.
func balancers(incomplete *atomic.Bool) []kafka.GroupBalancer {
	return []kafka.GroupBalancer{
		watched{kafka.RangeGroupBalancer{}, incomplete},
		watched{kafka.RoundRobinGroupBalancer{}, incomplete},
	}
}

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
