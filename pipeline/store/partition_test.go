package store

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
)

// A snapshot is read back where it was written, or anywhere in the topic if that was made again meanwhile.
func TestRead(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	name, at := brokertest.Topic(t, client, "state", 1, nil), record.Position{Offset: 1, Object: -1}
	a := consumer.Assignment{
		TopicPartition: topic.TopicPartition{Topic: "in"}, Generation: &topic.Generation{ID: 1},
	}
	_, s, err := New(client, "group", name, slog.New(slog.DiscardHandler)).Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	s.Start(at)
	of := record.StreamID{Name: "cam"}
	list := s.Commit(&state.Journal{From: at, Decided: at}, []*state.Snapshot{{Stream: of, Learned: at}})
	if err := client.Write(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	end := int64(len(list))
	s.Durable()(end, true)
	s.Committed()
	kept := s.Saved(of, at)
	for _, span := range [][2]int64{{0, end}, {end, end}, {end - 1, end}, {end + 9, end}, {end + 9, end + 99}, {0, end + 99}} {
		kept.From, kept.To = span[0], span[1]
		if found, err := s.Read(t.Context(), kept); err != nil || found.Stream != of || found.Learned != at {
			t.Errorf("%d: %v, %v", span, found, err)
		}
	}
	s.Commit(&state.Journal{From: at, Decided: at}, []*state.Snapshot{{Stream: of, Learned: at}})
	s.Durable()(end, true)
	s.Committed()
	if found, err := s.Read(t.Context(), s.Saved(of, at)); !errors.Is(err, state.ErrUnreadable) {
		t.Errorf("of one that is not there: %v, %v", found, err)
	}
}

// A partition goes on only if nothing shows that another owner has written state in between.
func TestSessionThatOthersMayHaveEnded(t *testing.T) {
	for name, f := range map[string]found{
		"another owner's journal":     {topic.ID{2}, 10, 51, true},
		"another state topic":         {topic.ID{3}, 10, 50, false},
		"a state topic that is short": {topic.ID{2}, 10, 49, false},
		"a state topic that was cut":  {topic.ID{2}, 51, 60, false},
	} {
		s := &Partition{id: topic.ID{2}, end: 50}
		if s.differs(f) == "" {
			t.Errorf("%s goes unnoticed", name)
		}
	}
	s := &Partition{id: topic.ID{2}, end: 50}
	for _, end := range []int64{50, 70} { // others' state, of another input or group
		if why := s.differs(found{topic.ID{2}, 10, end, false}); why != "" || s.end != end {
			t.Errorf("state to %d: %q", end, why)
		}
	}
}
