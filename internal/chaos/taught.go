package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Taught runs a stage with very many labels, to which lessons are added all the time, kills it, and asks of
// the next owner to answer within the recovery target. Neither may hold more than its memory.
const (
	taughtMemory  = 1200 << 20 // bytes; GOMEMLIMIT leaves a tenth of it for what is not the heap
	taughtLessons = 10         // a second
)

// labelled plays the scenario.
func (s *scenario) labelled(ctx context.Context) (string, error) {
	s.feed = newFeed(s.seed, feedSettings{
		Topic: inTopic, Partitions: scenarioPartitions, Streams: s.streams,
		Dimension: recoveryDimension, Classes: 100, Step: time.Duration(float64(time.Second) / s.rate),
	})
	s.feed.begin = time.Now()
	// The embedded broker answers nothing while it compacts so many labels.
	s.session = max(s.session, 10*time.Second)
	if err := writeSupport(filepath.Join(s.dir, "support.jsonl"), s.feed); err != nil {
		return "", err
	}
	for from := 0; from < s.records; from += 500 {
		var lessons []record.Out
		for i := from; i < min(from+500, s.records); i++ {
			lessons = append(lessons, s.lesson(i))
		}
		if err := s.client.Write(ctx, lessons); err != nil {
			return "", err
		}
	}
	s.h.note("%d labels are taught", s.records)
	if err := s.settle(); err != nil {
		return "", err
	}
	var took, spent [2]time.Duration
	playing, stop := context.WithCancel(ctx)
	defer stop()
	var feeding sync.WaitGroup
	failures := make(chan error, 1)
	feeding.Go(func() { failures <- s.lessonsAndItems(playing) })
	var behind int64
	for owner := range took {
		began := time.Now()
		before, err := s.committed(ctx)
		if err != nil {
			return "", err
		}
		if err := s.launch(groupName, outTopic, s.delivery); err != nil {
			return "", err
		}
		for p := range before {
			moved := func(committed, _ int64) bool { return committed > before[p] }
			if err := s.waitFor(ctx, p, moved, 10*time.Minute); err != nil {
				return "", err
			}
		}
		took[owner], spent[owner] = time.Since(began).Round(100*time.Millisecond), s.procs[0].spent()
		s.h.note("new records are answered in every partition after %v", took[owner])
		if err := topic.Pause(ctx, s.long); err != nil {
			return "", err
		}
		if behind, err = s.lag(ctx, inTopic); err != nil {
			return "", err
		}
		s.h.note("%d records are not committed", behind)
		s.procs[0].end(syscall.SIGKILL)
		s.procs = nil
	}
	stop()
	feeding.Wait()
	if err := <-failures; err != nil && !errors.Is(err, context.Canceled) {
		return "", err
	}
	if took[1] > s.session+s.target {
		s.h.violation("recovery: answers again after %v, the target is %v", took[1], s.target)
	}
	var largest [2]int64
	for i, p := range s.all {
		<-p.observed
		if largest[i] = slices.Max(append(p.resident, 0)); largest[i] > taughtMemory {
			s.h.violation("memory: stage %d held %d MiB, more than %d", i+1, largest[i]>>20, taughtMemory>>20)
		}
	}
	state, err := sizeOf(ctx, s.client, groupName+"-state")
	if err != nil {
		return "", err
	}
	if most := int64(20 * s.rate); behind > most {
		s.h.violation("behind: %d records are not committed after %v", behind, s.long)
	}
	return fmt.Sprintf("%d labels of %d dimensions, %d lessons and %.0f items a second, %d streams\n"+
		"first answers in every partition %v (%v of CPU) after the start, %v (%v) after a kill (the dead one's session is %v)\n"+
		"largest stage %d MiB, after the kill %d MiB; state topic: %d MiB; %d records behind at the end; violations: %d",
		s.records, recoveryDimension, taughtLessons, s.rate, s.streams, took[0], spent[0], took[1], spent[1], s.session,
		largest[0]>>20, largest[1]>>20, state>>20, behind, len(s.h.failed())), nil
}

// lesson is one example for all streams.
func (s *scenario) lesson(i int) record.Out {
	class := i % s.feed.Classes
	return record.Teach(labelsTopic, &record.Example{
		ID: fmt.Sprint("taught-", i), Label: className(class), Vector: s.feed.vector(class),
	})
}

// lessonsAndItems teaches and feeds at their rates until ctx ends.
func (s *scenario) lessonsAndItems(ctx context.Context) error {
	const beat = 100 * time.Millisecond
	for n, due := 0, 0.; ; n++ {
		if err := topic.Pause(ctx, beat); err != nil {
			return err
		}
		out := []record.Out{s.lesson(s.random.IntN(s.records))}
		for due += s.rate * beat.Seconds(); due >= 1; due-- {
			v := raw(s.feed.vector(s.random.IntN(s.feed.Classes)))
			out = append(out, s.feed.record(s.random.IntN(s.feed.Streams), v, kindItem, nil))
			s.feed.n++
		}
		if err := s.client.Write(ctx, stamp(out)); err != nil {
			return err
		}
	}
}
