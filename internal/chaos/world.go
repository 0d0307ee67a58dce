package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// world is one short history, all from one seed: an embedded cluster of three brokers, stages in this
// process, each with its own network, and every harm done to them.
type world struct {
	h        *history
	random   *rand.Rand
	plan     plan
	server   *broker.Server
	client   *topic.Client // its network is not disturbed
	feed     *feed
	support  []example
	stages   []*stage
	launched int
	second   *second // second input; nil: none
}

// Names of topics and group. Every history has a cluster of its own.
const (
	inTopic     = "in"
	outTopic    = "out"
	labelsTopic = "labels"
	groupName   = "stage"
	calmTopic   = "calm-out"
)

const (
	historySession = time.Second
	historyLimit   = 4 * time.Minute // far beyond the usual duration, as the machine may be busy
)

// runHistory plays the history of a seed and returns its events. aim is the mistake to look for, held the one
// in the build; each may be none. An error means that the history could not be played.
func runHistory(ctx context.Context, seed uint64, aim, held fault) (*history, error) {
	ctx, cancel := context.WithTimeout(ctx, historyLimit)
	defer cancel()
	w := &world{h: newHistory(nil), random: rand.New(rand.NewPCG(seed, 1))}
	w.plan = draw(w.random, aim, held)
	w.plan.drawMore(seed)
	w.h.note("seed %d: %v", seed, w.plan)
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	options := []kfake.Opt{kfake.Ports(0, 0, 0), kfake.GroupMinSessionTimeout(100 * time.Millisecond)}
	if w.plan.aim == sequenceReused { // where each transaction has an epoch of its own, the mistake is none
		options = append(options, kfake.MaxVersions(kversion.V3_9_0()))
	}
	if w.server, err = broker.Serve("", 0, silent, options...); err != nil {
		return w.h, err
	}
	defer w.server.Close()
	if w.client, err = topic.Connect(topic.Settings{
		Brokers: w.server.Cluster.ListenAddrs(), ClientID: "chaos",
		Log: silent,
	}); err != nil {
		return w.h, err
	}
	defer w.client.Close()
	defer func() {
		for _, s := range w.stages {
			s.kill()
		}
	}()
	return w.h, w.play(ctx, seed)
}

func (w *world) play(ctx context.Context, seed uint64) error {
	partitions := w.plan.partitions
	var limit map[string]string
	share := 0.
	if w.plan.hostile {
		limit, share = map[string]string{maxMessage: strconv.Itoa(largestResult)}, .1
	}
	for _, d := range []topic.Description{
		{Name: inTopic, Partitions: partitions},
		{Name: outTopic, Partitions: partitions, Settings: limit},
		{Name: outTopic + "-dead", Partitions: 1, Settings: limit},
		{Name: groupName + "-state", Partitions: partitions, Settings: topic.StateSettings()},
		{Name: labelsTopic, Partitions: 1, Settings: topic.StateSettings()},
		{Name: calmTopic, Partitions: partitions, Settings: limit},
	} {
		err := w.client.Create(ctx, d)
		for topic.Temporary(err) && topic.Pause(ctx, 50*time.Millisecond) == nil { // the cluster has just started
			err = w.client.Ensure(ctx, d)
		}
		if err != nil {
			return err
		}
	}
	w.feed = newFeed(seed, feedSettings{
		Topic: inTopic, Partitions: partitions, Streams: w.plan.streams, Records: w.plan.records,
		Dimension: 8, Classes: 3, Poison: w.plan.poison, Hostile: share, Label: .05, Marker: w.plan.marker,
		Step: 50 * time.Millisecond,
	})
	w.support = w.feed.support()
	if w.plan.remake {
		w.second = newSecond(w, seed)
		if err := w.second.create(ctx); err != nil {
			return err
		}
	}
	for range w.plan.stages {
		w.start("")
	}
	watched, stop := context.WithCancel(ctx)
	watching := newOffsets(w.h, groupName, inTopic)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for watched.Err() == nil {
			watching.read(watched, w.client, int32(partitions))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	var err error
	if w.plan.aim == sound {
		err = w.disturb(ctx)
	} else {
		err = w.aim(ctx)
	}
	stop()
	<-looked
	if err != nil {
		return err
	}
	return w.settle(ctx, watching)
}

// disturb alternates between feeding and harm.
func (w *world) disturb(ctx context.Context) error {
	partitions := w.plan.partitions
	share := max(w.plan.records/(w.plan.events+1), 1)
	for e := range w.plan.events {
		if err := w.client.Write(ctx, w.feed.next(share)); err != nil {
			return err
		}
		if w.plan.labels {
			if err := w.client.Write(ctx, []record.Out{w.feed.lesson(labelsTopic)}); err != nil {
				return err
			}
		}
		if w.plan.strangers > 0 && e == w.plan.events/2 {
			w.h.note("%d streams appear, each of a model of its own", w.plan.strangers)
			if err := w.client.Write(ctx, w.feed.strangers(w.plan.strangers)); err != nil {
				return err
			}
		}
		if w.second != nil {
			if err := w.second.event(ctx, e); err != nil {
				return err
			}
		}
		time.Sleep(time.Duration(w.random.IntN(120)) * time.Millisecond)
		if w.plan.grow && e == w.plan.events/2 {
			w.h.note("the input grows to %d partitions", partitions+1)
			if err := w.client.Grow(ctx, inTopic, partitions+1); err != nil {
				return err
			}
			for n := 0; n <= partitions; { // until this client knows the partition
				var err error
				if n, err = w.client.Partitions(ctx, inTopic); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
			w.feed.Partitions = partitions + 1
		}
		if w.plan.hostile && w.random.IntN(3) == 0 {
			if err := w.explode(ctx); err != nil {
				return err
			}
		}
		w.harm()
		time.Sleep(time.Duration(w.random.IntN(120)) * time.Millisecond)
	}
	return w.client.Write(ctx, append(w.feed.next(w.plan.records), w.feed.ends()...))
}

// explode sends a batch that inflates beyond the decoding limit.
func (w *world) explode(ctx context.Context) error {
	w.h.note("a record that inflates to 8 MiB is sent")
	sender := topic.Sender{Client: w.client, Compression: func(string) topic.Compression { return "zstd" }}
	return sender.Write(ctx, []record.Out{w.feed.bomb()})
}

// settle lets the stages finish undisturbed and checks the promise.
func (w *world) settle(ctx context.Context, watching *offsets) error {
	for _, s := range w.stages {
		s.network.strikeAt(nil)
		s.network.thaw()
		s.network.slow(0)
	}
	partitions, err := w.client.Partitions(ctx, inTopic)
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		for _, s := range slices.Clone(w.stages) { // a strike may have fallen meanwhile
			if s.network.isDead() {
				w.replace(s)
			}
		}
		done, missing := watching.reached(ctx, w.client, int32(partitions))
		if done {
			break
		}
		if time.Since(began) > w.plan.patience() {
			w.h.violation("stuck: the input is not worked off: %s", missing)
			return nil
		}
	}
	if w.second != nil {
		if err := w.second.await(ctx); err != nil {
			return err
		}
	}
	for _, s := range w.stages {
		s.stop()
	}
	var calm *answers
	if w.plan.promise().same {
		if calm, err = w.undisturbed(ctx, partitions); err != nil {
			return err
		}
	}
	in, err := readTruth(ctx, w.client, inTopic)
	if err != nil {
		return err
	}
	got, err := readAnswers(ctx, w.client, outTopic)
	if err != nil {
		return err
	}
	got.leaveOut(besideTopic)
	letters, err := readLetters(ctx, w.client, outTopic+"-dead")
	if err != nil {
		return err
	}
	verify(w.h, w.plan.promise(), in, got, letters, calm)
	return nil
}

// undisturbed answers the same input again, with a group and an output topic of its own.
func (w *world) undisturbed(ctx context.Context, partitions int) (*answers, error) {
	const group, out = "calm", calmTopic
	s := w.launch(group, out, "calm", "")
	defer s.stop()
	watching := newOffsets(w.h, group, inTopic)
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		done, missing := watching.reached(ctx, w.client, int32(partitions))
		if done {
			break
		}
		if time.Since(began) > historyLimit/3 {
			return nil, fmt.Errorf("the undisturbed run is not done: %s", missing)
		}
	}
	return readAnswers(ctx, w.client, out)
}
