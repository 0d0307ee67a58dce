package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// prepare waits for the input and creates the stage's own topics.
func (s *Stage) prepare(ctx context.Context) error {
	o := &s.options
	defer func() { s.watch.Start.Begin("", time.Now()) }()
	var partitions int
	err := s.step(ctx, fmt.Sprintf("looking for topics %v", o.In), func() (err error) {
		partitions, err = s.largest(ctx)
		return err
	})
	if err != nil {
		return err
	}
	own := []topic.Description{
		{Name: o.Out, Partitions: partitions},
		{Name: o.Dead, Partitions: partitions},
	}
	s.firstAnswers.MakeTopic(ctx, partitions)
	for _, optional := range []string{o.Episodes, o.Review, o.Corrections} {
		if optional != "" {
			own = append(own, topic.Description{Name: optional, Partitions: partitions})
		}
	}
	for _, compacted := range []string{o.Labels, o.Identities} {
		if compacted != "" {
			own = append(own, topic.Description{Name: compacted, Partitions: 1, Settings: topic.StateSettings()})
		}
	}
	for _, d := range own {
		if err := s.step(ctx, "making topic "+d.Name, func() error { return s.client.Ensure(ctx, d) }); err != nil {
			return err
		}
	}
	err = s.step(ctx, "making topic "+o.State, func() error { return s.store.Make(ctx, partitions) })
	if err != nil {
		return err
	}
	s.watch.Start.Begin("looking at topic "+o.State, time.Now())
	s.store.Begin(ctx)
	return nil
}

// step repeats a step of the start until it succeeds, and reports what it waits for. A stage waits for rights
// too, as supervisors restart it while something is denied; a job, which ends, reports that at once.
func (s *Stage) step(ctx context.Context, what string, do func() error) error {
	s.watch.Start.Begin(what, time.Now())
	again := func(err error) bool {
		denied := topic.CauseOf(err) == topic.Denied && !errors.Is(err, kafka.InvalidTopic)
		return topic.Temporary(err) || denied && !s.options.Bounded
	}
	err := s.client.Outage(s.options.Log, what).Retry(ctx, again, func() error {
		err := do()
		s.watch.Start.Failed(err)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// largest returns the largest number of partitions among the inputs that exist; an error if none does. Other
// inputs may appear later, while the stage works.
func (s *Stage) largest(ctx context.Context) (partitions int, err error) {
	err = fmt.Errorf("%w; slkstream check --create makes the topics of --in", kafka.UnknownTopicOrPartition)
	for _, in := range s.options.In {
		n, failed := s.client.Partitions(ctx, in)
		if failed != nil && !topic.IsMissing(failed) {
			return 0, failed
		}
		if n > 0 {
			partitions, err = max(partitions, n), nil
		}
	}
	return partitions, err
}

// end returns the offset at which work on a partition ends; -1: never.
func (s *Stage) end(a consumer.Assignment) int64 {
	if s.ranges == nil {
		return -1
	}
	return s.ranges[a.TopicPartition].To
}

// Backfill answers the job's range together with the job's other processes. It returns when the whole range
// is answered and committed. finished is true if there was nothing to do.
func (s *Stage) Backfill(ctx context.Context, job backfill.Job) (finished bool, err error) {
	if err := s.prepare(ctx); err != nil {
		return false, err
	}
	b := s.backfill(job)
	if left, err := b.Plan(ctx); err != nil || left == 0 {
		return err == nil, err
	}
	s.ranges = b.Ranges()
	return false, b.Work(ctx, s.Run)
}

func (s *Stage) backfill(job backfill.Job) *backfill.Backfill {
	o := &s.options
	out := o.Out
	if o.Compare != nil {
		out = o.Corrections
	}
	return backfill.New(backfill.Settings{
		Client: s.client, Store: s.store, Labels: s.labels, Log: s.options.Log, Group: o.Group, In: o.In, Out: out,
		LabelsTopic: o.Labels, Committed: o.Committed, Compare: o.Compare, Results: o.Out, Corrections: o.Corrections, Form: o.Form,
		Answers: map[string]any{
			"in": o.In, "limits": o.Limits, "decode": o.Decode, "memory": o.Memory,
			"support": taught.Digest(o.Support), "labels": o.Labels, "fromState": o.FromState,
		},
	}, job)
}
