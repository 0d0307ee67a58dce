package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
)

// streamsSection measures a stage with much state and little work.
var streamsSection = section{name: "streams", title: "Ten thousand streams of a record a second, and none", run: benchStreams}

// benchStreams measures memory and CPU of many quiet streams, with the feed in the same process, and the broker too unless
// the environment names another: the embedded one holds all snapshots of a partition while it compacts them, once a minute.
func benchStreams(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	streams, seconds := 10_000, 90
	if b.Quick {
		streams, seconds = 1000, 8
	}
	const name = "quiet"
	if err := k.client.Create(ctx, topic.Description{Name: name, Partitions: streamPartitions}); err != nil {
		return err
	}
	o, err := k.options(name, false)
	if err != nil {
		return err
	}
	o.Limits.Age, o.Limits.Idle = 5*time.Second, 2*time.Second // the defaults of run
	s, err := pipeline.New(k.client, o)
	if err != nil {
		return err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	time.Sleep(3 * time.Second) // until the group has rebalanced
	idle, before := 30*time.Second, processSeconds()
	time.Sleep(idle)
	share := (processSeconds() - before) / idle.Seconds()

	var table [][]string
	begin, used := time.Now(), processSeconds()
	for second := 1; second <= seconds && err == nil; second++ {
		for from := 0; from < streams && err == nil; from += 1000 {
			list := make([]record.Out, 0, 1000)
			for i := from; i < min(streams, from+1000); i++ {
				list = append(list, record.Out{
					Topic: name, Partition: -1, Key: fmt.Appendf(nil, "camera-%d", i),
					Value: k.vectors[(i+second*7)%len(k.vectors)],
				})
			}
			err = k.client.Write(ctx, list)
		}
		if second%(seconds/6) == 0 {
			now, wall := processSeconds(), time.Since(begin).Seconds()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			table = append(table, []string{
				fmt.Sprint(second), fmt.Sprint(m.HeapAlloc >> 20),
				fmt.Sprintf("%.0f", 100*(now-used)/wall), fmt.Sprint(s.Metrics().Summary().Lag),
			})
		}
		time.Sleep(time.Until(begin.Add(time.Duration(second) * time.Second)))
	}
	cancel()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	holds := "the stage, the embedded broker and the feed"
	if os.Getenv("SLKSTREAM_TEST_BROKERS") != "" {
		holds = "the stage and the feed; the broker is another"
	}
	b.Text(
		"%d streams in %d partitions send a record of %d float32 a second each for %d s; episodes close by age, at five items; no stream has a metric yet, as %d records of %d numbers do not determine one: each holds what its first is made of. One process holds %s. Before that the stage idles for %.0f s at %.2f %% of a core.",
		streams,
		streamPartitions,
		streamDimension,
		seconds,
		seconds,
		streamDimension,
		holds,
		idle.Seconds(),
		100*share,
	)
	b.Table([]string{"second", "heap MB", "% of a core so far", "records behind"}, table)
	b.Figure("idle-cpu", "%.2f %%", 100*share)
	return nil
}
