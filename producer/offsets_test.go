package producer

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/slkstream/slkstream/internal/topic"
)

func in(partition int) topic.TopicPartition {
	return topic.TopicPartition{Topic: "in", Partition: int32(partition)}
}

// While one request is in flight, all other offsets are collected and go in the next.
func TestOffsetsGoTogether(t *testing.T) {
	var requests []map[string]map[int]int64
	arrived, answer := make(chan struct{}, 10), make(chan error)
	o := &offsets{commit: func(m map[string]map[int]int64) error {
		requests = append(requests, m)
		arrived <- struct{}{}
		return <-answer
	}}
	var puts sync.WaitGroup
	put := func(partition int) {
		puts.Go(func() {
			if err := o.put(t.Context(), in(partition), int64(10*partition)); err != nil {
				t.Errorf("partition %d: %v", partition, err)
			}
		})
	}
	put(0)
	<-arrived
	for partition := 1; partition < 5; partition++ {
		put(partition)
	}
	for gathered := false; !gathered; {
		o.mutex.Lock()
		gathered = o.next != nil && len(o.next.offsets) == 4
		o.mutex.Unlock()
		runtime.Gosched()
	}
	answer <- nil
	<-arrived
	answer <- nil
	puts.Wait()
	if len(requests) != 2 || len(requests[1]["in"]) != 4 || requests[1]["in"][3] != 30 {
		t.Errorf("requests %v", requests)
	}
}

// A partition that is refused does not fail the others.
func TestAnOffsetIsRefusedAlone(t *testing.T) {
	gone := errors.New("no such topic")
	begun, proceed := make(chan struct{}), make(chan struct{})
	var first sync.Once
	o := &offsets{commit: func(m map[string]map[int]int64) error {
		first.Do(func() { close(begun); <-proceed })
		if m["gone"] != nil {
			return gone
		}
		return nil
	}}
	errs := make([]error, 4)
	var puts sync.WaitGroup
	puts.Go(func() { errs[0] = o.put(t.Context(), in(0), 1) })
	<-begun
	for i, name := range []string{"in", "gone", "in"} {
		at := topic.TopicPartition{Topic: name, Partition: int32(i)}
		puts.Go(func() { errs[i+1] = o.put(t.Context(), at, 1) })
	}
	for gathered := false; !gathered; {
		o.mutex.Lock()
		gathered = o.next != nil && len(o.next.offsets) == 3
		o.mutex.Unlock()
		runtime.Gosched()
	}
	close(proceed)
	puts.Wait()
	for i, err := range errs {
		if want := i == 2; want != (err == gone) || !want && err != nil {
			t.Errorf("partition %d: %v", i, err)
		}
	}
}

// A caller stops waiting when its context ends; the others are not affected.
func TestOffsetsGiveUpWithTheirContext(t *testing.T) {
	answer := make(chan struct{})
	o := &offsets{commit: func(map[string]map[int]int64) error { <-answer; return nil }}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := o.put(ctx, in(0), 1); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(answer)
	if err := o.put(t.Context(), in(1), 1); err != nil {
		t.Error(err)
	}
}
