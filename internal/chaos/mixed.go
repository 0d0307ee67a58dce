package main

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// mix covers, in turn, what the other scenarios do not: examples are taught and forgotten, the output rejects
// everything for a while, the input gets another partition, and stages are killed in between.
func (s *scenario) mix(ctx context.Context, i int) error {
	switch {
	case i == s.events/2:
		return s.grow(ctx)
	case i%4 == 1:
		return s.refuseOutput()
	case i%4 == 3:
		return s.kill(ctx, i)
	default:
		return s.teach(ctx)
	}
}

func (s *scenario) teach(ctx context.Context) error {
	var lessons []record.Out
	for range 5 {
		lessons = append(lessons, s.teacher.lesson(labelsTopic))
	}
	s.h.note("%d examples are taught or forgotten", len(lessons))
	return s.client.Write(ctx, lessons)
}

// refuseOutput makes every result too large for its topic, which acts like a full disk: nothing can
// be written meanwhile.
func (s *scenario) refuseOutput() error {
	s.h.note("the output refuses everything")
	// no result may fit, but a transaction's end marker must
	if err := limitTopic(s.client, outTopic, 200); err != nil {
		return err
	}
	time.Sleep(2 * s.pause)
	s.h.note("the output takes results again")
	return limitTopic(s.client, outTopic, 1048588)
}

func (s *scenario) grow(ctx context.Context) error {
	want := int(s.partitions.Load()) + 2
	s.h.note("the input grows to %d partitions", want)
	if err := s.client.Grow(ctx, inTopic, want); err != nil {
		return err
	}
	// writes there fail until every broker knows the partition
	for n := 0; n < want; time.Sleep(20 * time.Millisecond) {
		var err error
		if n, err = s.client.Partitions(ctx, inTopic); err != nil {
			return err
		}
	}
	s.partitions.Store(int32(want))
	return nil
}
