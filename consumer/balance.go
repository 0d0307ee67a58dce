package consumer

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// owned holds what the group last assigned to this member.
type owned struct {
	generation int32
	partitions map[string][]int
}

func (o *owned) set(generation int32, assigned []topic.TopicPartition) {
	o.generation, o.partitions = generation, map[string][]int{}
	for _, p := range assigned {
		o.partitions[p.Topic] = append(o.partitions[p.Topic], int(p.Partition))
	}
}

// userData is what a member tells the others when it joins.
type userData struct {
	Advertise   string            `json:"advertise,omitempty"`   // see GroupSettings
	Out         string            `json:"out,omitempty"`         // see GroupSettings
	State       string            `json:"state,omitempty"`       // see GroupSettings
	Seat        string            `json:"seat,omitempty"`        // see GroupSettings
	Agree       map[string]string `json:"agree,omitempty"`       // see GroupSettings
	Incarnation int32             `json:"incarnation,omitempty"` // see topic.Generation
	Generation  int32             `json:"generation"`
	Owned       map[string][]int  `json:"owned,omitempty"` // in that generation
}

// userData returns what this member tells the others.
func (m *member) userData() ([]byte, error) {
	s := m.settings
	return json.Marshal(userData{
		s.Advertise, s.Out, s.State, s.Seat, s.Agree, m.incarnation, m.owned.generation, m.owned.partitions,
	})
}

// readUserData returns what a member has told; nothing while the group is rebalancing.
func readUserData(b []byte) (u userData) {
	if json.Unmarshal(b, &u) != nil {
		return userData{}
	}
	return u
}

// protocol is the only one that members offer. A group refuses a member that does not offer it: a program that
// reads the same input under the same group by mistake would get partitions, whose records would then have no
// answer.
const protocol = "slkstream-steady"

// assignments says which partitions each member gets.
type assignments = kafka.GroupMemberAssignments

// assign gives members equal numbers of partitions over all topics together, and leaves to each as many as it
// can of those that it had: it has their state in memory, and others would have to read it. Range gives equal
// numbers for each topic. So the same few members get the partitions of every small topic, and most
// partitions move when a member comes or goes. Members that had none get runs of one topic's partitions. Members
// that do not agree with those that have partitions get none; see agreeing. Each set of topics that the same members
// want is divided by itself.
func assign(members []kafka.GroupMember, partitions []kafka.Partition) assignments {
	assigned := assignments{}
	wanting := map[string][]string{} // member IDs by the topic they want
	had := map[topic.TopicPartition]claim{}
	for i := range members {
		assigned[members[i].ID] = map[string][]int{}
	}
	for _, m := range slices.SortedFunc(slices.Values(agreeing(members)), byID) {
		for _, name := range m.Topics {
			if !slices.Contains(wanting[name], m.ID) {
				wanting[name] = append(wanting[name], m.ID)
			}
		}
		told := readUserData(m.UserData)
		for name, list := range told.Owned {
			for _, p := range list {
				at := topic.TopicPartition{Topic: name, Partition: int32(p)}
				if before, ok := had[at]; !ok || told.Generation > before.generation {
					had[at] = claim{m.ID, told.Generation}
				}
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
		first := given % len(ids)
		for id, mine := range divide(slices.Concat(ids[first:], ids[:first]), list, had) {
			for _, p := range mine {
				assigned[id][p.Topic] = append(assigned[id][p.Topic], p.ID)
			}
		}
		given += len(list)
	}
	return assigned
}

// claim is a member's claim to a partition that it had in a generation. The latest counts: others are of
// members that were away.
type claim struct {
	member     string
	generation int32
}

// divide divides a set of topics among the members that want them.
func divide(
	ids []string, list []kafka.Partition, had map[topic.TopicPartition]claim,
) map[string][]kafka.Partition {
	kept := map[string][]kafka.Partition{}
	var free []kafka.Partition
	for _, p := range list {
		c, claimed := had[topic.TopicPartition{Topic: p.Topic, Partition: int32(p.ID)}]
		if claimed && slices.Contains(ids, c.member) {
			kept[c.member] = append(kept[c.member], p)
		} else {
			free = append(free, p)
		}
	}
	// Everyone gets as many, and the rest goes to those that had more, or else lies evenly between them.
	least, n := len(list)/len(ids), len(ids)
	most := map[string]int{}
	rank := map[string]int{}
	for i, id := range ids {
		most[id] = least
		rank[id] = min(len(kept[id]), least+1)*2 + (i+1)*len(list)/n - i*len(list)/n - least
	}
	for _, id := range slices.SortedStableFunc(slices.Values(ids), func(a, b string) int {
		return cmp.Compare(rank[b], rank[a])
	})[:len(list)%n] {
		most[id]++
	}
	for _, id := range ids {
		if over := len(kept[id]) - most[id]; over > 0 {
			free = append(free, kept[id][most[id]:]...)
			kept[id] = kept[id][:most[id]]
		}
	}
	for _, id := range ids {
		take := most[id] - len(kept[id])
		kept[id], free = append(kept[id], free[:take]...), free[take:]
	}
	return kept
}

func byID(a, b kafka.GroupMember) int { return cmp.Compare(a.ID, b.ID) }
