package pipeline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// Items keyed by something that never comes back are all answered, and what is remembered of them is bounded, in memory and
// in the state; a stream that goes on is not given up.
func TestStreamsAreBounded(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(61)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.State = o.Group + "-state"
	o.MaxStreams, o.StateInterval = 40, 100*time.Millisecond
	o.Limits = consumer.Limits{Size: 5, Age: time.Hour, Idle: 200 * time.Millisecond, Memory: 64 << 20}
	const n = 1000
	records := f.records(in, 1, n)
	for i := range records {
		if i%2 == 0 {
			records[i].Key = fmt.Appendf(nil, "once-%d", i)
		}
	}
	start(t, client, o)
	for from := 0; from < n; from += 100 {
		write(t, client, records[from:from+100])
		collect(t, client, o.Out, count(from+90)) // the last of the lasting stream may be open
	}
	collect(t, client, o.Out, count(n))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		list, faults, err := ReadState(ctx, client, o.State, o.Group)
		if err != nil || len(faults) > 0 {
			t.Fatal(err, faults)
		}
		remembered, lasting := 0, false
		for _, r := range list {
			remembered++
			lasting = lasting || r.Stream == "cam-0" && r.Memory.Episode > 50
		}
		if lasting && remembered <= 2*o.MaxStreams {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%d streams in the state, the lasting one among them: %v", remembered, lasting)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
