// Package store keeps the state of streams in the state topic. A stage reads and writes its records nowhere else.
package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
)

// Store is the state topic of a group.
type Store struct {
	client *topic.Client
	group  string
	name   string
	log    *slog.Logger
	warned telemetry.Warnings

	id   topic.ID     // at the last check
	made atomic.Int64 // how often the topic was made again
}

// New returns the store of a group, in the topic of that name.
func New(client *topic.Client, group, name string, log *slog.Logger) *Store {
	return &Store{client: client, group: group, name: name, log: log}
}

// Make makes the state topic, unless it is there, for inputs of so many partitions.
func (s *Store) Make(ctx context.Context, partitions int) error {
	return s.client.Ensure(ctx, s.topic(partitions))
}

// topic describes the state topic: a partition's state is kept under its number.
func (s *Store) topic(partitions int) topic.Description {
	return topic.Description{Name: s.name, Partitions: partitions, Settings: topic.StateSettings()}
}

// Begin notes which topic it is now.
func (s *Store) Begin(ctx context.Context) { s.id, _ = s.client.ID(ctx, s.name) } // on error, the first Check sets it

// Check makes the state topic again if it was deleted, for inputs of so many partitions. If it is another topic than
// before, partitions save all their streams again: see Partition.Remade.
func (s *Store) Check(ctx context.Context, partitions func(context.Context) (int, error)) {
	id, err := s.client.ID(ctx, s.name)
	if topic.IsMissing(err) {
		s.log.Error("the state topic was deleted: it is made again, and streams are saved again", "topic", s.name)
		var n int
		if n, err = partitions(ctx); err == nil {
			err = s.client.Create(ctx, s.topic(n))
		}
		if err != nil {
			s.log.Warn("the state topic could not be made", "topic", s.name, "error", err)
			return
		}
		id, err = s.client.ID(ctx, s.name)
	}
	if err != nil {
		return
	}
	if s.id != (topic.ID{}) && s.id != id {
		s.made.Add(1)
	}
	s.id = id
}

// At returns where the state of an input's partition is. It gives the state topic as many partitions as the input.
func (s *Store) At(ctx context.Context, of topic.TopicPartition) (topic.TopicPartition, error) {
	return topic.TopicPartition{Topic: s.name, Partition: of.Partition}, s.grow(ctx, of)
}

func (s *Store) grow(ctx context.Context, at topic.TopicPartition) error {
	have, err := s.client.Partitions(ctx, s.name)
	if err != nil {
		return err
	}
	if int(at.Partition) < have {
		return nil
	}
	want, err := s.client.Partitions(ctx, at.Topic)
	if err != nil {
		return err
	}
	want = max(want, int(at.Partition)+1)
	err = s.client.Grow(ctx, s.name, want)
	switch {
	case errors.Is(err, topic.ErrExists):
		return nil // another partition's owner was faster
	case err != nil:
		return err
	}
	s.log.Warn("the input has more partitions than the state topic had, which has grown: "+
		"streams whose keys now fall into another partition start from their labels alone",
		"topic", at.Topic, "partitions", want, "state", s.name, "had", have)
	return nil
}
