package consumer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// Every partition is assigned to exactly one member that wants its topic. Members that want the same topics
// get equal numbers of partitions, give or take one. A single topic is assigned as by range.
func TestEvenly(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var topics []string
		var partitions []kafka.Partition
		for i := range 1 + random.IntN(6) {
			topics = append(topics, fmt.Sprint("topic", i))
			for p := range 1 + random.IntN(13) {
				partitions = append(partitions, kafka.Partition{Topic: topics[i], ID: p})
			}
		}
		same := random.IntN(2) == 0
		var members []kafka.GroupMember
		for i := range 1 + random.IntN(14) {
			m := kafka.GroupMember{ID: fmt.Sprintf("member%02d", i), Topics: topics}
			if !same && random.IntN(2) == 0 {
				m.Topics = topics[:1+random.IntN(len(topics))]
			}
			members = append(members, m)
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		assigned := evenly{}.AssignGroups(members, partitions)
		owners := map[topic.TopicPartition]int{}
		least, most := len(partitions), 0
		for _, m := range members {
			count := 0
			for name, list := range assigned[m.ID] {
				if !slices.Contains(m.Topics, name) {
					t.Fatalf("seed %d: %s was given %s, which it does not want", seed, m.ID, name)
				}
				for _, p := range list {
					owners[topic.TopicPartition{Topic: name, Partition: int32(p)}]++
					count++
				}
			}
			least, most = min(least, count), max(most, count)
		}
		for _, p := range partitions {
			wanted := slices.ContainsFunc(members, func(m kafka.GroupMember) bool {
				return slices.Contains(m.Topics, p.Topic)
			})
			n := owners[topic.TopicPartition{Topic: p.Topic, Partition: int32(p.ID)}]
			if wanted && n != 1 || !wanted && n != 0 {
				t.Errorf("seed %d: %s/%d has %d owners", seed, p.Topic, p.ID, n)
			}
		}
		if same && most-least > 1 {
			t.Errorf("seed %d: members have from %d to %d partitions", seed, least, most)
		}
		if same && len(topics) == 1 {
			slices.SortFunc(members, byID)
			want := kafka.RangeGroupBalancer{}.AssignGroups(members, partitions)
			if fmt.Sprint(want) != fmt.Sprint(assigned) {
				t.Errorf("seed %d: %v, not %v", seed, assigned, want)
			}
		}
	}
}
