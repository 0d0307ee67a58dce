package pipeline

import (
	"context"
	"fmt"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
)

// prepare waits for the input and creates the stage's own topics.
func (s *Stage) prepare(ctx context.Context) error {
	o := &s.options
	partitions, err := s.awaitAny(ctx)
	if err != nil {
		return err
	}
	own := []topic.Description{
		{Name: o.Out, Partitions: partitions},
		{Name: o.Dead, Partitions: partitions},
		{Name: o.State, Partitions: partitions, Settings: topic.StateSettings()},
	}
	s.makeNow(ctx, partitions)
	for _, optional := range []string{o.Episodes, o.Review, o.Corrections} {
		if optional != "" {
			own = append(own, topic.Description{Name: optional, Partitions: partitions})
		}
	}
	if o.Labels != "" {
		own = append(own, topic.Description{Name: o.Labels, Partitions: 1, Settings: topic.StateSettings()})
	}
	for _, d := range own {
		if _, err := topic.Await(ctx, s.client, s.log, "making topic "+d.Name, func() (struct{}, error) { return struct{}{}, s.client.Ensure(ctx, d) }); err != nil {
			return err
		}
	}
	s.stateID, _ = s.client.ID(ctx, o.State) // on error, the first check of the state topic sets it
	return nil
}

// awaitAny waits until one of the inputs exists, and returns the largest number of partitions among those
// that do. Other inputs may appear later, while the stage works.
func (s *Stage) awaitAny(ctx context.Context) (int, error) {
	return topic.Await(ctx, s.client, s.log, fmt.Sprintf("looking for topics %v", s.options.In), func() (partitions int, err error) {
		missing := error(kafka.UnknownTopicOrPartition)
		for _, in := range s.options.In {
			n, err := s.client.Partitions(ctx, in)
			if err != nil && !topic.IsMissing(err) {
				return 0, err
			}
			if n > 0 {
				partitions, missing = max(partitions, n), nil
			}
		}
		return partitions, missing
	})
}

// end returns the offset at which work on a partition ends; -1: never.
func (s *Stage) end(a consumer.Assignment) int64 {
	if s.ranges == nil {
		return -1
	}
	return s.ranges[a.TopicPartition].To
}
