package consumer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// A process with an instance id that stops, and starts again within the session, has the partitions that it had, and no
// other process is given any. What its first life still commits is refused, and its second is told apart from it, though
// they may be of one generation.
func TestAnInstanceComesBack(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, group := brokertest.Topic(t, client, "in", 6, nil), brokertest.Name("group")
	start := func(id string) *process {
		return work(t, client, GroupSettings{ID: group, Topics: []string{in}, Instance: id, Session: 12 * time.Second})
	}
	processes := map[string]*process{}
	for _, id := range []string{"a", "b", "c"} {
		processes[id] = start(id)
	}
	for _, p := range processes {
		eventually(t, "each has two partitions", func() bool { return p.partitions() == 2 })
	}
	_, coordinators := client.Coordinators()
	for life := range int32(6) {
		id := []string{"a", "b", "c"}[life%3]
		var before []topic.TopicPartition
		var first topic.Generation
		eventually(t, "it has its partitions", func() bool { // others release theirs meanwhile
			before, _, first = processes[id].has()
			return len(before) == 2
		})
		processes[id].stop()
		processes[id] = start(id)
		eventually(t, "it has two partitions again", func() bool { return processes[id].partitions() == 2 })
		after, _, second := processes[id].has()
		if !slices.Equal(before, after) {
			t.Errorf("%s had %v, and has %v", id, before, after)
		}
		if second.Incarnation != first.Incarnation+1 || second.ID < first.ID {
			t.Errorf("%s was %+v, and is %+v", id, first, second)
		}
		if brokertest.Real() && second.ID != first.ID { // the embedded broker begins a generation, in which nothing moves
			t.Errorf("a rebalance: generation %d, then %d", first.ID, second.ID)
		}
		offsets := map[string]map[int]int64{in: {int(before[0].Partition): int64(life)}}
		if err := coordinators.CommitOffsets(t.Context(), &first, offsets); err == nil {
			t.Errorf("the first life of %s commits", id)
		}
		if err := coordinators.CommitOffsets(t.Context(), &second, offsets); err != nil {
			t.Errorf("the second life of %s does not: %v", id, err)
		}
	}
	for id, p := range processes {
		if _, times, _ := p.has(); brokertest.Real() && times != 2 {
			t.Errorf("%s was given partitions %d times", id, times)
		}
	}
}

// Of two processes with one instance id the later one has the partitions. The other names the setting and waits, and
// takes over once the later one is missed.
func TestTwoProcessesOfOneInstance(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, group := brokertest.Topic(t, client, "in", 4, nil), brokertest.Name("group")
	start := func() *process {
		return work(t, client, GroupSettings{ID: group, Topics: []string{in}, Instance: "stage-0"})
	}
	first := start()
	eventually(t, "the first has the partitions", func() bool { return first.partitions() == 4 })
	second := start()
	eventually(t, "the second has the partitions", func() bool { return second.partitions() == 4 })
	eventually(t, "the first names the setting", func() bool {
		return strings.Contains(first.conflict(), "has the same --group-instance-id stage-0") && first.partitions() == 0
	})
	_, _, its := first.has()
	_, coordinators := client.Coordinators()
	err := coordinators.CommitOffsets(t.Context(), &its, map[string]map[int]int64{in: {0: 1}})
	if !errors.Is(err, kafka.UnknownMemberId) && !errors.Is(err, kafka.FencedInstanceID) {
		t.Errorf("the first commits: %v", err)
	}
	second.stop()
	eventually(t, "the first has the partitions again", func() bool { return first.partitions() == 4 })
	if why := first.conflict(); why != "" {
		t.Errorf("it still reports %s", why)
	}
}

// A process that comes back with other settings than its group's gets no partitions, though the group has kept its place.
func TestAnInstanceComesBackDifferent(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, group := brokertest.Topic(t, client, "in", 4, nil), brokertest.Name("group")
	start := func(id, labels string) *process {
		return work(t, client, GroupSettings{
			ID: group, Topics: []string{in}, Instance: id, Session: 12 * time.Second, Agree: map[string]string{"labels": labels},
		})
	}
	a, b := start("a", "l"), start("b", "l")
	eventually(t, "two share the partitions", func() bool { return a.partitions() == 2 && b.partitions() == 2 })
	b.stop()
	other := start("b", "others")
	eventually(t, "it names the setting, and the first has all partitions", func() bool {
		return strings.Contains(other.conflict(), `labels "others" here, "l" there`) && a.partitions() == 4
	})
	if _, times, _ := other.has(); times != 0 {
		t.Errorf("it was given partitions %d times", times)
	}
}

// Of two processes with one instance id that start together, the later one knows that it is the later: what it writes is told
// apart from what the other, of the same generation, wrote in between.
func TestTwoProcessesOfOneInstanceStartTogether(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, group := brokertest.Topic(t, client, "in", 1, nil), brokertest.Name("group")
	s := GroupSettings{ID: group, Topics: []string{in}, Instance: "stage-0", Session: 10 * time.Second, Rebalance: 10 * time.Second}
	enter := func(m *member) (g *topic.Generation) {
		eventually(t, "it has a place", func() bool { // a new broker has no coordinator yet
			var err error
			g, _, err = m.enter(t.Context(), []string{in}, func(_ context.Context, members []kafka.GroupMember) (assignments, error) {
				return assign(members, []kafka.Partition{{Topic: in, ID: 0}}), nil
			})
			if err != nil && !topic.Temporary(err) {
				t.Fatal(err)
			}
			return err == nil
		})
		return g
	}
	enter(newMember(client, &s))
	first, second := newMember(client, &s), newMember(client, &s)
	for _, m := range []*member{first, second} {
		if err := m.inherit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	its := enter(first)
	_, coordinators := client.Coordinators()
	if err := coordinators.CommitOffsets(t.Context(), its, map[string]map[int]int64{in: {0: 1}}); err != nil {
		t.Fatal(err)
	}
	if last := enter(second); last.Incarnation <= its.Incarnation {
		t.Errorf("the first was %+v, and the second is %+v", its, last)
	}
}
