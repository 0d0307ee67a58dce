package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// second is another input of a history, which is deleted during the run and created again. Items of the old
// topic may be answered or lost; everything in the new one must be answered. The new topic's streams have
// other names, as its records repeat the old one's ids.
type second struct {
	w     *world
	feed  *feed
	first int // number of records in the old topic
}

func newSecond(w *world, seed uint64) *second {
	f := newFeed(seed+1<<32, w.feed.feedSettings)
	f.Topic, f.Partitions, f.Hostile, f.Poison, f.Label = besideTopic, 1, 0, 0, 0
	return &second{w, f, 5 + f.random.IntN(60)}
}

func (s *second) create(ctx context.Context) error {
	return s.w.client.Create(ctx, topic.Description{Name: besideTopic, Partitions: 1})
}

// event acts at event number e: it fills the old topic at the first, and creates it again half-way.
func (s *second) event(ctx context.Context, e int) error {
	if e == 0 {
		return s.w.client.Write(ctx, s.records("before", s.first))
	}
	if e != max(s.w.plan.events/2, 1) {
		return nil
	}
	s.w.h.note("the second input is deleted and made again")
	if err := removeTopic(ctx, s.w.client, besideTopic); err != nil {
		return err
	}
	time.Sleep(time.Duration(s.feed.random.IntN(400)) * time.Millisecond)
	if err := s.create(ctx); err != nil {
		return err
	}
	return s.w.client.Write(ctx, s.records("again", 5+s.feed.random.IntN(60)))
}

// records returns n items of two streams, and the ends of their episodes.
func (s *second) records(name string, n int) (out []record.Out) {
	key := func(i int) []byte { return fmt.Appendf(nil, "%s-%d", name, i%2) }
	for i := range n {
		r := s.feed.record(0, raw(s.feed.vector(s.feed.random.IntN(s.feed.Classes))), kindItem, nil)
		r.Key, r.Partition = key(i), 0
		out = append(out, r)
		s.feed.n++
	}
	for i := range 2 {
		end := s.feed.record(0, []byte{}, kindMarker, []record.Header{{Key: record.MarkerHeader}})
		end.Key, end.Partition = key(i), 0
		out = append(out, end)
	}
	return out
}

// await waits until everything in the new topic is answered.
func (s *second) await(ctx context.Context) error {
	in, err := readTruth(ctx, s.w.client, besideTopic)
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		got, err := readAnswers(ctx, s.w.client, outTopic)
		if err != nil {
			return err
		}
		var missing []string
		for id, stream := range in.items {
			if !answersStream(got.byID[id], stream) {
				missing = append(missing, id)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		if time.Since(began) > s.w.plan.patience() {
			s.w.h.violation("lost: %d items of the input that was made again have no answer, %s among them",
				len(missing), missing[0])
			return nil
		}
	}
}

func answersStream(list [][]byte, stream string) bool {
	for _, text := range list {
		if strings.Contains(string(text), fmt.Sprintf("%q:%q", "stream", stream)) {
			return true
		}
	}
	return false
}

// removeTopic deletes a topic and waits until it is gone.
func removeTopic(ctx context.Context, client *topic.Client, name string) error {
	k := client.Kafka()
	answer, err := k.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Addr: k.Addr, Topics: []string{name}})
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	if err := answer.Errors[name]; err != nil {
		return err
	}
	for ctx.Err() == nil {
		if _, err := client.ID(ctx, name); err != nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return ctx.Err()
}
