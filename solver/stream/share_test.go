package stream

import (
	"sync"
	"testing"

	"github.com/slkstream/slkstream/solver/metric"
)

// TestSharedMetric: a stream that joins others of its feed starts with their metric, one of another model
// does not, and sharing changes nothing for streams that do not use it.
func TestSharedMetric(t *testing.T) {
	set := settings(t)
	set.SharedMetric = metric.NewShared()
	f := newCamera(21, 5, 16, 1.5)
	labels := f.labels(1)
	first := New("one", set)
	e := new(Engine)
	for range 6 {
		items, _ := f.episode(40, 0)
		answer(t, first, e, items, labels)
	}
	if first.metric.current == nil {
		t.Fatal("the first stream has no metric: this test tests nothing")
	}
	items, _ := f.episode(40, 0)
	second, other, alone := New("two", set), New("three", set), New("two", settings(t))
	answer(t, second, e, items, labels)
	if second.metric.current == nil {
		t.Errorf("the second stream started without a metric")
	}
	answer(t, alone, e, items, labels)
	if alone.metric.current != nil {
		t.Errorf("a stream that shares nothing started with a metric")
	}
	for i := range items {
		items[i].Model = "another"
	}
	answer(t, other, e, items, labels)
	if other.metric.current != nil {
		t.Errorf("a stream of another model took the metric")
	}
}

// TestSharedMetricTogether: streams that share are used from many goroutines at once, for the race detector.
func TestSharedMetricTogether(t *testing.T) {
	set := settings(t)
	set.SharedMetric = metric.NewShared()
	var running sync.WaitGroup
	for seed := range uint64(4) {
		running.Go(func() {
			f := newCamera(seed, 4, 16, 1)
			labels := f.labels(1)
			s, e := New(label(int(seed)), set), new(Engine)
			for range 12 {
				items, _ := f.episode(20, .05)
				answer(t, s, e, items, labels)
				s.Learn()
			}
		})
	}
	running.Wait()
}
