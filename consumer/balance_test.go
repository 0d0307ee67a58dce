package consumer

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// drawnTopics draws up to so many topics, each of up to so many partitions.
func drawnTopics(
	random *rand.Rand, most, mostPartitions int,
) (topics []string, partitions []kafka.Partition) {
	for i := range 1 + random.IntN(most) {
		topics = append(topics, fmt.Sprint("topic", i))
		for p := range 1 + random.IntN(mostPartitions) {
			partitions = append(partitions, kafka.Partition{Topic: topics[i], ID: p})
		}
	}
	return topics, partitions
}

// Every partition is assigned to exactly one member that wants its topic. Members that want the same topics
// get equal numbers of partitions, give or take one, whatever they had before. Without that, a single topic
// is assigned as by range.
func TestSteady(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		topics, partitions := drawnTopics(random, 6, 13)
		same := random.IntN(2) == 0
		var members []kafka.GroupMember
		for i := range 1 + random.IntN(14) {
			m := kafka.GroupMember{ID: fmt.Sprintf("member%02d", i), Topics: topics}
			if !same && random.IntN(2) == 0 {
				m.Topics = topics[:1+random.IntN(len(topics))]
			}
			members = append(members, m)
		}
		before := random.IntN(2) == 0
		for i := 0; before && i < len(members); i++ { // claims may contradict each other, and be of what is gone
			var o member
			o.settings = new(GroupSettings)
			var had []topic.TopicPartition
			for range random.IntN(9) {
				p := partitions[random.IntN(len(partitions))]
				had = append(had, topic.TopicPartition{Topic: p.Topic, Partition: int32(p.ID + random.IntN(2))})
			}
			o.owned.set(int32(random.IntN(3)), had)
			members[i].UserData, _ = o.userData()
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		assigned := assign(members, partitions)
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
		if same && len(topics) == 1 && !before {
			slices.SortFunc(members, byID)
			want := kafka.RangeGroupBalancer{}.AssignGroups(members, partitions)
			if fmt.Sprint(want) != fmt.Sprint(assigned) {
				t.Errorf("seed %d: %v, not %v", seed, assigned, want)
			}
		}
	}
}

// When a member leaves, only its partitions move, and when one joins, only as many as it gets.
func TestPartitionsStay(t *testing.T) {
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 2))
		topics, partitions := drawnTopics(random, 3, 20)
		states := map[string]*member{}
		owners := map[topic.TopicPartition]string{}
		generation := int32(0)
		rebalance := func() (moved int) {
			generation++
			var members []kafka.GroupMember
			for id, o := range states {
				data, _ := o.userData()
				members = append(members, kafka.GroupMember{ID: id, Topics: topics, UserData: data})
			}
			for id, mine := range assign(members, partitions) {
				var list []topic.TopicPartition
				for name, numbers := range mine {
					for _, p := range numbers {
						at := topic.TopicPartition{Topic: name, Partition: int32(p)}
						if owners[at] != id {
							moved++
						}
						owners[at] = id
						list = append(list, at)
					}
				}
				states[id].owned.set(generation, list)
			}
			return moved
		}
		join := func() string {
			id := fmt.Sprintf("member-%08x", random.Uint32())
			states[id] = &member{settings: new(GroupSettings)}
			return id
		}
		size := func(o *member) (n int) {
			for _, list := range o.owned.partitions {
				n += len(list)
			}
			return n
		}
		oldest := join()
		for range 1 + random.IntN(9) {
			join()
		}
		rebalance()
		if moved := rebalance(); moved > 0 {
			t.Errorf("seed %d: %d partitions move although nobody comes or goes", seed, moved)
		}
		left := size(states[oldest])
		delete(states, oldest)
		if moved := rebalance(); moved != left {
			t.Errorf("seed %d: %d partitions move when a member leaves that had %d", seed, moved, left)
		}
		another := join()
		if moved := rebalance(); moved != size(states[another]) {
			t.Errorf("seed %d: %d partitions move when a member joins that gets %d", seed, moved,
				size(states[another]))
		}
	}
}
