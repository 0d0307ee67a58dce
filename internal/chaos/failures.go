package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// bed is one stage with a broker of its own, of which one thing is broken.
type bed struct {
	server  *broker.Server
	client  *topic.Client // of whoever breaks, feeds and reads
	network *network      // the stage's
	metrics *pipeline.Metrics
	feed    *feed
	undo    func() error // ends what begin began

	mutex   sync.Mutex
	answers map[string]int // ids of committed answers, how often each was read
	streams map[string]int // answers of each stream
	reread  func()         // has the output read from its start
}

const (
	bedSession = 2 * time.Second // of the group
	bedStall   = 2 * time.Second // stands for --stall-after
	toldBy     = 60 * time.Second
	wellBy     = 60 * time.Second
)

// outcome is what came of a cell with one delivery.
type outcome struct {
	told, well time.Duration
	err        error
}

// playCell breaks one thing under a stage that is at work, and mends it again.
func playCell(ctx context.Context, c *cell, once bool) outcome {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	b, stop, err := newBed(ctx, once)
	if err != nil {
		return outcome{err: err}
	}
	defer stop()
	sent, letters := 0, 0
	send := func(name string, n int) error {
		sent += n
		return b.send(ctx, name, n)
	}
	if err := errors.Join(send(inTopic, 20), b.await(ctx, "answers before", func() bool { return b.count() == sent })); err != nil {
		return outcome{err: err}
	}
	begun := time.Now()
	if err := c.begin(ctx, b); err != nil {
		return outcome{err: fmt.Errorf("begin: %w", err)}
	}
	if c.letter {
		letters++
	}
	err = send(inTopic, 20)
	var o outcome
	if c.told != "" {
		err = errors.Join(err, b.within(ctx, toldBy, "told "+c.told, func() bool {
			return strings.Contains(b.metrics.Ready(), c.told)
		}))
		o.told = time.Since(begun)
	}
	if c.othersGoOn {
		before := b.of(besideTopic)
		err = errors.Join(err, send(besideTopic, 10), b.within(ctx, toldBy, "others go on", func() bool {
			return b.of(besideTopic) == before+10
		}))
	}
	mended := time.Now()
	if b.undo != nil {
		err = errors.Join(err, b.undo())
	}
	err = errors.Join(err, b.within(ctx, wellBy, "well again", func() bool {
		return b.metrics.Ready() == "" && b.count() >= sent
	}))
	o.well = time.Since(mended)
	if letters > 0 {
		err = errors.Join(err, b.hasLetter(ctx))
	}
	if n := b.twice(); once && n > 0 && !c.answersLost {
		err = errors.Join(err, fmt.Errorf("%d answers are there twice", n))
	}
	if err != nil {
		err = fmt.Errorf("%w\nready says: %s", err, b.metrics.Ready())
	}
	o.err = err
	return o
}

func newBed(ctx context.Context, once bool) (*bed, func(), error) {
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	server, err := broker.Serve("", 0, log)
	if err != nil {
		return nil, nil, err
	}
	connect := func(s topic.Settings) *topic.Client {
		s.Brokers, s.Log = []string{server.Address}, log
		client, failed := topic.Connect(s)
		err = errors.Join(err, failed)
		return client
	}
	b := &bed{
		server: server, network: newNetwork(), answers: map[string]int{}, streams: map[string]int{},
		feed: newFeed(1, feedSettings{Dimension: 16, Classes: 4}),
	}
	b.client = connect(topic.Settings{ClientID: "breaker"})
	mine := connect(topic.Settings{ClientID: "stage", Dial: b.network.dial})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{inTopic, besideTopic, outTopic, outTopic + "-dead"} {
		err = errors.Join(err, b.client.Create(ctx, topic.Description{Name: name, Partitions: 1}))
	}
	settings, failed := solver.DefaultPreset.Settings()
	o := pipeline.Options{
		Group: groupName, In: []string{inTopic, besideTopic}, Out: outTopic, Committed: true, Eager: !once,
		CommitInterval: 20 * time.Millisecond, StateInterval: 100 * time.Millisecond, DrainTimeout: time.Second,
		Session: bedSession, Rebalance: bedSession, Watch: 200 * time.Millisecond, StallAfter: bedStall, Workers: 1,
		Limits: consumer.Limits{Size: 5, Age: time.Hour, Idle: 200 * time.Millisecond, Memory: 16 << 20},
		Decode: record.Options{Format: "f32", Dimension: b.feed.Dimension},
		Memory: stream.Settings{Solver: settings, Warm: true}, Log: log,
	}
	for _, e := range b.feed.support() {
		o.Support = append(o.Support, stream.Example{ID: e.ID, Label: e.Label, Vector: e.Vector})
	}
	o.Delivery = &producer.AtLeastOnce{Client: mine, Log: log}
	if once {
		o.Delivery = &producer.ExactlyOnce{Client: mine, Log: log}
	}
	s, wrong := pipeline.New(mine, o)
	if err = errors.Join(err, failed, wrong); err != nil {
		return nil, nil, err
	}
	b.metrics = s.Metrics()
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { _ = s.Run(running) }) // an error shows in what is not answered
	all.Go(func() { b.read(running) })
	return b, func() {
		b.network.thaw()
		end()
		all.Wait()
		mine.Close()
		b.client.Close()
		server.Close()
	}, nil
}

// send writes n items to an input, of a stream that has the input's name.
func (b *bed) send(ctx context.Context, name string, n int) error {
	var out []record.Out
	for i := range n {
		out = append(out, record.Out{
			Topic: name, Partition: 0, Key: []byte(name), Value: raw(b.feed.vector(i % b.feed.Classes)),
		})
	}
	return b.client.Write(ctx, out)
}

// read collects the answers, over whatever becomes of their topic.
func (b *bed) read(ctx context.Context) {
	position := int64(0)
	for ctx.Err() == nil {
		reader := b.client.NewReader(topic.ReaderSettings{Topic: outTopic, Offset: position})
		reading, cancel := context.WithCancel(ctx)
		b.mutex.Lock()
		b.reread = cancel
		b.mutex.Unlock()
		for {
			batch, err := reader.Read(reading)
			if err != nil {
				cancel()
				position = 0 // it was made again
				_ = topic.Pause(ctx, 50*time.Millisecond)
				break
			}
			b.mutex.Lock()
			for i := range batch.Records {
				var r record.Result
				if json.Unmarshal(batch.Records[i].Value, &r) == nil {
					if b.answers[r.ID]++; b.answers[r.ID] == 1 {
						b.streams[r.Stream]++
					}
				}
			}
			b.mutex.Unlock()
		}
	}
}

func (b *bed) count() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return len(b.answers)
}

func (b *bed) of(name string) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.streams[name]
}

func (b *bed) twice() (n int) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, times := range b.answers {
		if times > 1 {
			n++
		}
	}
	return n
}

// hasLetter waits for a dead letter.
func (b *bed) hasLetter(ctx context.Context) error {
	return b.within(ctx, toldBy, "a dead letter", func() bool {
		end, err := b.client.Offset(ctx, outTopic+"-dead", 0, topic.Latest, true)
		return err == nil && end > 0
	})
}

func (b *bed) await(ctx context.Context, what string, holds func() bool) error {
	return b.within(ctx, toldBy, what, holds)
}

// within waits until something holds.
func (b *bed) within(ctx context.Context, limit time.Duration, what string, holds func() bool) error {
	for begin := time.Now(); !holds(); {
		if time.Since(begin) > limit || ctx.Err() != nil {
			return fmt.Errorf("%s: not within %v, %d answers", what, limit, b.count())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}
