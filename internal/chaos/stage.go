package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// stage is a stage that runs in this process.
type stage struct {
	name     string
	instance string // its instance id; "": none
	network  *network
	cancel   context.CancelFunc
	done     chan struct{}
}

// start starts a stage, which has the instance id of the one in whose place it comes; "": one of its own, if the history
// is of such.
func (w *world) start(instance string) {
	w.launched++
	name := fmt.Sprint("stage-", w.launched)
	if w.plan.ids {
		instance = cmp.Or(instance, name)
	}
	s := w.launch(groupName, outTopic, name, instance)
	w.h.note("%s is started", s.name)
	w.stages = append(w.stages, s)
	if len(w.stages) > 4 { // the oldest leaves, dead or not
		w.stages[0].stop()
		w.stages = w.stages[1:]
	}
}

func (w *world) launch(group, out, name, instance string) *stage {
	session := historySession
	if group != groupName {
		session = 10 * time.Second // this stage is not disturbed
	}
	n := newNetwork()
	if w.plan.fault == sequenceReused {
		n.change = reuseSequences
	}
	log := w.h.logger(name)
	client, err := topic.Connect(topic.Settings{
		Brokers: w.server.Cluster.ListenAddrs(), ClientID: name,
		Log: log, Dial: n.dial,
	})
	if err != nil {
		panic(err) // cannot fail: the addresses are a running cluster's
	}
	o := pipeline.Options{
		Topics: pipeline.Topics{Group: group, In: []string{inTopic}, Out: out, Dead: out + "-dead", Labels: labelsTopic},
		Records: pipeline.Records{
			Limits: consumer.Limits{Size: w.plan.size, Age: 3 * time.Second, Memory: w.plan.memory},
			Decode: record.Options{Format: "f32", Dimension: w.feed.Dimension}, Committed: true,
		},
		Answers: pipeline.Answers{Memory: stream.Settings{Solver: solver.Defaults(), Warm: true}},
		Commits: pipeline.Commits{
			Eager:          !w.plan.once,
			CommitInterval: w.plan.commit, StateInterval: w.plan.state, DrainTimeout: 300 * time.Millisecond,
		},
		Process: pipeline.Process{Workers: 1, Log: log},
		Member:  pipeline.Member{Instance: instance, Session: session, Rebalance: session, Watch: 100 * time.Millisecond},
	}
	if w.plan.hostile {
		o.Decode.LongestValue = largestRecord
	}
	if w.second != nil && group == groupName {
		o.In = append(o.In, besideTopic)
	}
	if w.plan.clock {
		o.Limits.Idle = 50 * time.Millisecond
	}
	for _, e := range w.support {
		o.Support = append(o.Support, taught.Example{ID: e.ID, Label: e.Label, Vector: e.Vector})
	}
	if w.plan.once {
		o.Delivery = &producer.ExactlyOnce{Client: client, Log: log}
	} else {
		o.Delivery = &producer.AtLeastOnce{Client: client, Log: log}
	}
	o.Delivery = mistaken(w.plan.fault, o.Delivery, client)
	ctx, cancel := context.WithCancel(context.Background())
	s := &stage{name: name, instance: instance, network: n, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		defer client.Close()
		p, err := pipeline.New(client, o)
		if err == nil {
			err = p.Run(ctx)
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			w.h.note("%s ends: %v", name, err)
		}
	}()
	return s
}

// stop ends a stage as SIGTERM does.
func (s *stage) stop() {
	s.network.thaw()
	s.cancel()
	<-s.done
}

// kill ends a stage as kill -9 does: nothing it sends arrives from then on.
func (s *stage) kill() {
	s.network.kill()
	s.cancel()
	<-s.done
}
