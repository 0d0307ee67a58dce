package pipeline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/pipeline/admin"
)

// ReadState shows what the stage has learned. A reset keeps the positions and removes the memory.
func TestStateShownAndReset(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	f := newFeed(6)
	in := brokertest.Topic(t, client, "in", 2, nil)
	const n, streams = 800, 4
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 20, Age: time.Hour, Memory: 64 << 20}
	o.State = o.Group + "-state"
	write(t, client, f.records(in, streams, n))
	write(t, client, markers(in, streams))
	stop := start(t, client, o)
	collect(t, client, o.Out, count(n))
	if _, err := admin.ResetState(ctx, client, o.Group, o.State, ""); !errors.Is(err, admin.ErrRunning) {
		t.Errorf("a running group's state was reset: %v", err)
	}
	stop()
	list, faults, err := admin.ReadState(ctx, client, o.State, o.Group)
	if err != nil || len(faults) > 0 || len(list) != streams {
		t.Fatalf("%d streams, faults %v, %v", len(list), faults, err)
	}
	for _, r := range list {
		if r.Err != nil || r.Memory.Episode == 0 || len(r.Memory.Classes) == 0 || r.Learned != r.Answered {
			t.Errorf("%+v", r)
		}
	}
	if count, err := admin.ResetState(ctx, client, o.Group, o.State, "cam-1"); err != nil || count != 1 {
		t.Fatalf("%d streams reset, %v", count, err)
	}
	after, _, err := admin.ReadState(ctx, client, o.State, o.Group)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range after {
		if r.Answered != list[i].Answered {
			t.Errorf("%s: answered to %v, not %v", r.Stream, r.Answered, list[i].Answered)
		}
		if forgotten := r.Memory.Episode == 0; forgotten != (r.Stream == "cam-1") {
			t.Errorf("%s: forgotten %v", r.Stream, forgotten)
		}
	}
	start(t, client, o)
	write(t, client, f.records(in, streams, 100))
	write(t, client, markers(in, streams))
	onceEach(t, collect(t, client, o.Out, count(n+100)))
}
