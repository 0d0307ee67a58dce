package consumer

import (
	"context"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// A process that starts where another has died has that one's partitions without waiting for its session to end. A member
// that lives elsewhere stays.
func TestADeadMemberOfTheSeatLeaves(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, group := brokertest.Topic(t, client, "in", 4, nil), brokertest.Name("group")
	at := func(seat string, session time.Duration) GroupSettings {
		return GroupSettings{ID: group, Topics: []string{in}, Seat: seat, Session: session, Rebalance: session}
	}
	elsewhere := work(t, client, at("elsewhere", 6*time.Second))
	eventually(t, "one has all partitions", func() bool { return elsewhere.partitions() == 4 })
	settings := at("here", 5*time.Minute)
	settings.fill()
	dead := newMember(client, &settings)
	_, given, err := dead.join(t.Context(), []string{in}, func(context.Context, []kafka.GroupMember) (assignments, error) {
		t.Error("it leads")
		return nil, nil
	})
	if err != nil || len(given) != 2 {
		t.Fatal(given, err)
	}
	again := work(t, client, settings)
	eventually(t, "both have two partitions", func() bool { return again.partitions() == 2 && elsewhere.partitions() == 2 })
	described, err := client.Group(t.Context(), group)
	if err != nil || len(described.Members) != 2 {
		t.Errorf("%+v, %v", described.Members, err)
	}
}
