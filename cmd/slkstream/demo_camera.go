package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// setUp creates the topics and writes the labelled examples.
func setUp(ctx context.Context, client *topic.Client, belt *demo.Belt) error {
	// the demo runs without end, so its topics must be bounded
	small := map[string]string{"retention.bytes": "67108864", "segment.bytes": "16777216"}
	for _, d := range []topic.Description{
		{Name: demoIn, Partitions: 1, Settings: small},
		{Name: demoOut, Partitions: 1, Settings: small},
		{Name: demoNow, Partitions: 1, Settings: small},
		{Name: demoLabels, Partitions: 1, Settings: topic.StateSettings()},
	} {
		if err := client.Ensure(ctx, d); err != nil {
			return err
		}
	}
	var lessons []record.Out
	for _, picture := range belt.Teachers() {
		example, err := picture.Example()
		if err != nil {
			return err
		}
		example.Label, example.Time = picture.Thing, time.Now()
		lessons = append(lessons, record.Teach(demoLabels, &example))
	}
	return client.Write(ctx, lessons)
}

// camera writes pictures of the belt to its topic.
type camera struct {
	belt   *demo.Belt
	client *topic.Client
	rate   float64 // pictures per second
}

func (k camera) run(ctx context.Context) error {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	due, last := 0., time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		// after a long pause the belt continues at its rate and does not catch up
		due += k.rate * min(now.Sub(last), time.Second).Seconds()
		last = now
		var pictures []record.Out
		for ; due >= 1; due-- {
			picture := k.belt.Next()
			example, err := picture.Example()
			if err != nil {
				return err
			}
			example.Time = time.Now()
			pictures = append(pictures, record.Out{
				Topic: demoIn, Partition: -1, Key: []byte("belt-1"), Value: record.AppendExample(nil, &example),
				Time:    example.Time,
				Headers: []record.Header{{Key: "content-type", Value: []byte("application/json")}},
			})
		}
		if err := k.client.Write(ctx, pictures); err != nil && ctx.Err() == nil {
			return fmt.Errorf("camera: %w", err)
		}
	}
}
