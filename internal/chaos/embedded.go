package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"slkstream/consumer"
	"slkstream/internal/broker"
	"slkstream/internal/memory"
	"slkstream/internal/record"
	"slkstream/internal/topic"
	"slkstream/pipeline"
	"slkstream/producer"
	"slkstream/solver"
)

// world is one short history: an embedded cluster of three brokers, stages in this process behind networks of their own,
// and everything that is done to them, all from one seed.
type world struct {
	h        *history
	random   *rand.Rand
	plan     plan
	server   *broker.Server
	client   *topic.Client // with a network that nothing happens to
	feed     *feed
	support  []example
	stages   []*stage
	launched int
}

// plan is what a seed decides before anything happens.
type plan struct {
	once          bool // exactly once
	clock         bool // idle streams are closed by the clock
	labels        bool // examples are taught and forgotten meanwhile
	grow          bool // the input gets another partition
	poison        float64
	streams       int
	records       int
	size          int
	memory        int64
	commit, state time.Duration
	stages        int
	events        int
	fault         fault
}

// Names of topics and group; every history has a cluster of its own.
const (
	inTopic     = "in"
	outTopic    = "out"
	labelsTopic = "labels"
	groupName   = "stage"
	calmTopic   = "calm-out"
)

const (
	historySession = time.Second
	historyLimit   = 4 * time.Minute // far beyond what one takes: a machine may be busy
)

// draw makes the plan of a seed.
func draw(r *rand.Rand, f fault) plan {
	p := plan{
		once: r.IntN(2) == 0, clock: r.IntN(4) == 0, labels: r.IntN(4) == 0, grow: r.IntN(8) == 0,
		streams: 1 + r.IntN(5), records: 60 + r.IntN(140), size: 3 + r.IntN(6), memory: 1 << 20,
		commit: time.Duration(1+r.IntN(20)) * time.Millisecond, state: time.Duration(5+r.IntN(100)) * time.Millisecond,
		stages: 1 + r.IntN(3), events: 2 + r.IntN(6), fault: f,
	}
	if r.IntN(2) == 0 {
		p.poison = .05
	}
	if r.IntN(4) == 0 {
		p.memory = 4 << 10
	}
	if f != sound {
		p.once, p.clock, p.labels, p.grow = f != offsetsFirst, false, false, false
		p.stages, p.events, p.memory = 2, 6, 1<<20
	}
	if f == sequenceReused { // batches of one size, as only a batch that looks like the last one is taken for it
		p.streams, p.size, p.commit = 1, 3, time.Millisecond
	}
	return p
}

// once or not, answers are those of an undisturbed run only where nothing but the input decides them. When partitions are
// added, keys move, and what their streams have learned stays behind.
func (p plan) promise() promise {
	return promise{once: p.once, same: !p.clock && !p.labels && !p.grow}
}

// patience is how long the stages may take to work the input off in peace. A build that holds a mistake may never.
func (p plan) patience() time.Duration {
	if p.fault != sound {
		return 8 * time.Second
	}
	return historyLimit / 2
}

func (p plan) String() string {
	mode := "at least once"
	if p.once {
		mode = "exactly once"
	}
	return fmt.Sprintf("%s, %d records of %d streams, episodes of %d, commits each %v, state each %v, %d stages, clock %v, labels %v, growth %v, poison %g, memory %d, fault %q",
		mode, p.records, p.streams, p.size, p.commit, p.state, p.stages, p.clock, p.labels, p.grow, p.poison, p.memory, p.fault)
}

// runHistory plays the history of a seed and returns what happened. One that cannot be played to its end, as on a machine
// too busy for its timeouts, says nothing about promises and is played once more.
func runHistory(ctx context.Context, seed uint64, f fault) (*history, error) {
	h, err := playOnce(ctx, seed, f)
	if err == nil || ctx.Err() != nil {
		return h, err
	}
	again, second := playOnce(ctx, seed, f)
	if second != nil {
		second = errors.Join(err, second)
	}
	return again, second
}

func playOnce(ctx context.Context, seed uint64, f fault) (*history, error) {
	ctx, cancel := context.WithTimeout(ctx, historyLimit)
	defer cancel()
	w := &world{h: newHistory(nil), random: rand.New(rand.NewPCG(seed, 1))}
	w.plan = draw(w.random, f)
	w.h.note("seed %d: %v", seed, w.plan)
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	var err error
	if w.server, err = broker.Serve("", 0, silent, kfake.Ports(0, 0, 0), kfake.GroupMinSessionTimeout(100*time.Millisecond)); err != nil {
		return w.h, err
	}
	defer w.server.Close()
	if w.client, err = topic.Connect(topic.Settings{Brokers: w.server.Cluster.ListenAddrs(), ClientID: "chaos", Log: silent}); err != nil {
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
	partitions := 1 + w.random.IntN(3)
	for _, d := range []topic.Description{
		{Name: inTopic, Partitions: partitions},
		{Name: outTopic, Partitions: partitions},
		{Name: outTopic + "-dead", Partitions: 1},
		{Name: groupName + "-state", Partitions: partitions, Settings: topic.StateSettings()},
		{Name: labelsTopic, Partitions: 1, Settings: topic.StateSettings()},
		{Name: calmTopic, Partitions: partitions},
	} {
		if err := w.client.Create(ctx, d); err != nil {
			return err
		}
	}
	w.feed = newFeed(seed, feedSettings{
		Topic: inTopic, Partitions: partitions, Streams: w.plan.streams, Records: w.plan.records,
		Dimension: 8, Classes: 3, Poison: w.plan.poison, Label: .05, Step: 50 * time.Millisecond,
	})
	w.support = w.feed.support()
	for range w.plan.stages {
		w.start()
	}
	watched, stop := context.WithCancel(ctx)
	watching := newOffsets(w.h, groupName, inTopic)
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for watched.Err() == nil {
			watching.look(watched, w.client, int32(partitions))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	err := w.disturb(ctx, partitions)
	stop()
	<-looked
	if err != nil {
		return err
	}
	return w.settle(ctx, watching)
}

// disturb feeds and does harm by turns.
func (w *world) disturb(ctx context.Context, partitions int) error {
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
		time.Sleep(time.Duration(w.random.IntN(120)) * time.Millisecond)
		if w.plan.grow && e == w.plan.events/2 {
			w.h.note("the input grows to %d partitions", partitions+1)
			if err := w.client.Grow(ctx, inTopic, partitions+1); err != nil {
				return err
			}
			for n := 0; n <= partitions; { // until this client has noticed
				var err error
				if n, err = w.client.Partitions(ctx, inTopic); err != nil {
					return err
				}
				time.Sleep(10 * time.Millisecond)
			}
			w.feed.Partitions = partitions + 1
		}
		w.harm()
		time.Sleep(time.Duration(w.random.IntN(120)) * time.Millisecond)
	}
	return w.client.Write(ctx, append(w.feed.next(w.plan.records), w.feed.ends()...))
}

// harm does one thing.
func (w *world) harm() {
	s := w.stages[w.random.IntN(len(w.stages))]
	harm := w.random.IntN(10)
	switch w.plan.fault { // what brings each mistake to light
	case offsetsFirst, stateOutside:
		harm = 0
	case epochUnchecked:
		w.h.note("%s is frozen until it is missed", s.name)
		s.network.freeze()
		time.AfterFunc(5*historySession/2, s.network.thaw)
		w.start()
		time.Sleep(historySession)
		return
	}
	switch harm {
	case 0, 1:
		w.h.note("%s is killed", s.name)
		s.kill()
		w.start()
	case 2:
		w.h.note("%s is stopped", s.name)
		s.stop()
		w.start()
	case 3:
		w.start()
	case 4:
		long := historySession * time.Duration(1+w.random.IntN(3))
		w.h.note("%s is frozen for %v", s.name, long)
		s.network.freeze()
		time.AfterFunc(long, s.network.thaw)
	case 5:
		w.h.note("%s loses its connections", s.name)
		s.network.cut()
	case 6:
		n := 1 + w.random.IntN(4)
		w.h.note("%s loses %d answers", s.name, n)
		s.network.loseAnswers(n)
	case 7:
		by := time.Duration(1+w.random.IntN(30)) * time.Millisecond
		w.h.note("%s is slow by %v", s.name, by)
		s.network.slow(by)
	case 8:
		w.h.note("leaders and coordinators move")
		w.server.Cluster.ShufflePartitionLeaders()
		w.server.Cluster.RehashCoordinators()
	default:
		w.refuse()
	}
}

// refuse lets the brokers refuse a few requests, as they do when they are loading, moving or overloaded; one of the errors
// comes after the work is done.
func (w *world) refuse() {
	top := []kmsg.Key{kmsg.InitProducerID, kmsg.EndTxn, kmsg.AddOffsetsToTxn, kmsg.Heartbeat, kmsg.JoinGroup, kmsg.SyncGroup}
	parts := []kmsg.Key{kmsg.Produce, kmsg.Fetch, kmsg.OffsetCommit, kmsg.TxnOffsetCommit, kmsg.AddPartitionsToTxn, kmsg.OffsetFetch, kmsg.ListOffsets}
	f := kfake.Fault{Count: 1 + w.random.IntN(4)}
	if i := w.random.IntN(len(top) + len(parts)); i < len(top) {
		f.Keys, f.TopLevel = []kmsg.Key{top[i]}, true
		f.Err = []*kerr.Error{kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.CoordinatorNotAvailable}[w.random.IntN(3)]
	} else {
		key := parts[i-len(top)]
		f.Keys = []kmsg.Key{key}
		f.Err = kerr.RequestTimedOut
		switch key {
		case kmsg.Produce:
			f.Topic = []string{outTopic, groupName + "-state", outTopic + "-dead"}[w.random.IntN(3)]
			f.Err = []*kerr.Error{kerr.RequestTimedOut, kerr.NotLeaderForPartition, kerr.NotEnoughReplicasAfterAppend, kerr.NotEnoughReplicas}[w.random.IntN(4)]
		case kmsg.Fetch, kmsg.ListOffsets:
			f.Err = kerr.NotLeaderForPartition
		case kmsg.AddPartitionsToTxn:
			f.Err = kerr.ConcurrentTransactions
		case kmsg.OffsetFetch:
			f.Err = kerr.CoordinatorLoadInProgress
		case kmsg.TxnOffsetCommit, kmsg.OffsetCommit:
			f.Err = []*kerr.Error{kerr.RequestTimedOut, kerr.NotCoordinator}[w.random.IntN(2)]
		}
	}
	w.h.note("%d times %v is answered with %s", f.Count, f.Keys[0].Name(), f.Err.Message)
	w.server.Cluster.Fault(f)
}

// settle lets the stages finish in peace and holds the outcome against the promise.
func (w *world) settle(ctx context.Context, watching *offsets) error {
	for _, s := range w.stages {
		s.network.thaw()
		s.network.slow(0)
	}
	if len(w.stages) == 0 {
		w.start()
	}
	partitions, err := w.client.Partitions(ctx, inTopic)
	if err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		done, missing := watching.reached(ctx, w.client, int32(partitions))
		if done {
			break
		}
		if time.Since(began) > w.plan.patience() {
			w.h.violation("stuck: the input is not worked off: %s", missing)
			return nil
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
	letters, err := readLetters(ctx, w.client, outTopic+"-dead")
	if err != nil {
		return err
	}
	verify(w.h, w.plan.promise(), in, got, letters, calm)
	return nil
}

// undisturbed answers the same input again, in a group and to a topic of its own.
func (w *world) undisturbed(ctx context.Context, partitions int) (*answers, error) {
	const group, out = "calm", calmTopic
	w.plan.fault = sound
	s := w.launch(group, out, "calm")
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

// stage is one that runs in this process.
type stage struct {
	name    string
	network *network
	client  *topic.Client
	cancel  context.CancelFunc
	done    chan struct{}
}

func (w *world) start() {
	w.launched++
	s := w.launch(groupName, outTopic, fmt.Sprint("stage-", w.launched))
	w.h.note("%s is started", s.name)
	w.stages = append(w.stages, s)
	if len(w.stages) > 4 { // an old one leaves, dead or not
		w.stages[0].stop()
		w.stages = w.stages[1:]
	}
}

func (w *world) launch(group, out, name string) *stage {
	session := historySession
	if group != groupName {
		session = 10 * time.Second // nothing is to happen to it
	}
	n := newNetwork()
	if w.plan.fault == sequenceReused {
		n.change = reuseSequences
	}
	if w.plan.fault != sound {
		n.slow(5 * time.Millisecond) // so that what is done in the wrong order is seen to be
	}
	log := w.h.logger(name)
	client, err := topic.Connect(topic.Settings{Brokers: w.server.Cluster.ListenAddrs(), ClientID: name, Log: log, Dial: n.dial})
	if err != nil {
		panic(err) // the addresses are those of a cluster that runs
	}
	settings, err := solver.Preset("default")
	if err != nil {
		panic(err)
	}
	o := pipeline.Options{
		Group: group, In: []string{inTopic}, Out: out, Dead: out + "-dead", Labels: labelsTopic, Committed: true, Eager: !w.plan.once,
		CommitInterval: w.plan.commit, StateInterval: w.plan.state, DrainTimeout: 300 * time.Millisecond,
		Session: session, Rebalance: session, Watch: 100 * time.Millisecond, Workers: 1,
		Limits: consumer.Limits{Size: w.plan.size, Age: 3 * time.Second, Memory: w.plan.memory},
		Decode: record.Options{Format: "f32", Dimension: w.feed.Dimension}, Memory: memory.Settings{Solver: settings, Warm: true}, Log: log,
	}
	if w.plan.clock {
		o.Limits.Idle = 50 * time.Millisecond
	}
	for _, e := range w.support {
		o.Support = append(o.Support, memory.Example{ID: e.ID, Label: e.Label, Vector: e.Vector})
	}
	if w.plan.once {
		o.Delivery = &producer.ExactlyOnce{Client: client, Dead: o.Dead, Log: log}
	} else {
		o.Delivery = &producer.AtLeastOnce{Client: client, Dead: o.Dead, Log: log}
	}
	o.Delivery = mistaken(w.plan.fault, o.Delivery, client)
	ctx, cancel := context.WithCancel(context.Background())
	s := &stage{name: name, network: n, client: client, cancel: cancel, done: make(chan struct{})}
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

// kill ends a stage as kill -9 does: nothing it sends arrives any more.
func (s *stage) kill() {
	s.network.kill()
	s.cancel()
	<-s.done
}
