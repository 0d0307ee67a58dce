package budget

import (
	"testing"
	"time"
)

// As usage grows, metrics are refused before streams are evicted, and streams are evicted before reading
// pauses. All three end again. Memory held by something else evicts no stream.
func TestBudgetGivesUpInOrder(t *testing.T) {
	var live int64
	b := New(1000)
	b.Live, b.Collect = func() int64 { return live }, func() {}
	b.Held.Store(&Usage{Metrics: 100, Streams: 500})
	now := time.Now()
	for _, step := range []struct {
		live             int64
		metrics, streams int64
		refused, paused  bool
	}{
		{live: 500},
		{live: 590, refused: true},
		{live: 610, metrics: 60, refused: true},
		{live: 790, metrics: 100, refused: true},
		{live: 810, metrics: 100, streams: 60, refused: true, paused: true},
		{live: 760, metrics: 100, refused: true, paused: true},
		{live: 740, metrics: 100, refused: true},
		{live: 500},
		{live: 1300, metrics: 100, refused: true, paused: true}, // more than all streams hold
	} {
		live, now = step.live, now.Add(time.Second)
		b.Check(now)
		release, ok := b.Reserve(50)
		if ok {
			release()
		}
		troubled := len(b.Troubles()) > 0
		if b.Metrics.Load() != step.metrics || b.Streams.Load() != step.streams || ok == step.refused ||
			b.Paused.Load() != step.paused || troubled != step.paused {
			t.Errorf("%+v: metrics %d, streams %d, granted %v, paused %v, told %v", step, b.Metrics.Load(),
				b.Streams.Load(), ok, b.Paused.Load(), troubled)
		}
	}
	if b.reserved.Load() != 0 {
		t.Errorf("%d bytes stay reserved", b.reserved.Load())
	}
}
