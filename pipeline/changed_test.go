package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/producer"
)

// Whatever settings change between the runs of a stage, exactly once every item has one result.
func TestSettingsChangeBetweenRuns(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 56))
			f := newFeed(seed)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
			n := 0
			for run := range 3 {
				if run > 0 {
					change(random, &o)
				}
				for range 60 { // a slow stream keeps the offset back; the same names mean other streams by other settings
					camera, other := "slow", "fast"
					if random.IntN(30) > 0 {
						camera, other = "fast", []string{"slow", "fast", "cam"}[random.IntN(3)]
					}
					write(t, client, []record.Out{{
						Topic: in, Partition: 0, Key: []byte(camera), Value: encode(f.vector(random.IntN(classes))),
						Headers: []record.Header{{Key: "camera", Value: []byte(other)}}, Time: time.Now(),
					}})
					n++
				}
				last := run == 2
				if last {
					o.Limits.Idle = 100 * time.Millisecond
				}
				stop := start(t, client, o)
				enough := n / 3
				if last {
					enough = n
				}
				onceEach(t, collect(t, client, o.Out, count(enough)))
				stop()
			}
			onceEach(t, collect(t, client, o.Out, count(n)))
		})
	}
}

// change changes settings of a stage: always one by which records are read, and some others.
func change(random *rand.Rand, o *Options) {
	by, model := o.Decode.StreamBy, o.Decode.Model
	for o.Decode.StreamBy == by && o.Decode.Model == model {
		o.Decode.StreamBy = []string{"", "partition", "header:camera"}[random.IntN(3)]
		o.Decode.Model = []string{"", "clip", "dino"}[random.IntN(3)]
	}
	o.Limits.Size = 5 + random.IntN(20)
	o.Limits.Age = time.Duration(1+random.IntN(5)) * time.Second
	o.CommitInterval = time.Duration(random.IntN(200)) * time.Millisecond
	o.StateInterval = time.Duration(50+random.IntN(500)) * time.Millisecond
	o.Memory.Warm = random.IntN(2) == 0
}
