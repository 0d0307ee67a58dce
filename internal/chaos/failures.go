package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	schemaregistry "github.com/slkstream/slkstream/internal/registry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
	testkafka "github.com/slkstream/slkstream/test/kafka"
)

// bed is one stage and a broker, of which one thing is broken.
type bed struct {
	server  *broker.Server     // nil: a real broker
	cluster *testkafka.Cluster // nil: an embedded broker
	client  *topic.Client      // for breaking, feeding and reading
	network *network           // of the stage
	metrics *pipeline.Metrics
	feed    *feed
	peer    *peer                                // the schema registry; nil: none
	undo    func() error                         // undoes what begin broke; nil: nothing to undo
	more    int                                  // items sent by begin
	later   bool                                 // nothing can be sent before the end of the failure
	log     lines                                // of the stage, warnings and above
	start   func() (end func())                  // starts the stage
	startAs func(group, out string) (end func()) // starts another, with the same state topic

	resident atomic.Int64 // most bytes of this process

	mutex   sync.Mutex
	answers map[string]int // by id: how often a committed answer was read
	total   int            // answers read
	streams map[string]int // answers by stream
	reading []func()       // cancel the readers, so that reading restarts from the start
}

// lines counts the lines of a log.
type lines struct{ n atomic.Int64 }

func (l *lines) Write(b []byte) (int, error) {
	l.n.Add(int64(bytes.Count(b, []byte{'\n'})))
	return len(b), nil
}

const (
	toldBy   = 30 * time.Second
	wellBy   = 60 * time.Second
	mostLoop = 1 << 20 // bytes per second allowed while nothing progresses
	// mostResident bounds this process's memory: the stages, embedded brokers and readers of all cells that are
	// played at once.
	mostResident = 512 << 20
)

// outcome is the outcome of a cell with one delivery.
type outcome struct {
	told, others, well time.Duration
	loop               int64 // bytes per second during the failure
	resident           int64 // most bytes of this process
	err                error
}

func (o *outcome) String() string {
	if o.err != nil {
		return "NO ANSWER: " + o.err.Error()
	}
	return fmt.Sprintf("told after %.1f s, others answered in %.1f s, well again after %.1f s, %d KB/s, %d MiB",
		o.told.Seconds(), o.others.Seconds(), o.well.Seconds(), o.loop>>10, o.resident>>20)
}

// playCell breaks one thing under a working stage, and mends it again.
func (t *tableSettings) playCell(ctx context.Context, c *cell, cluster *testkafka.Cluster,
	once bool,
) outcome {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute+t.hold)
	defer cancel()
	b, stop, err := t.newBed(ctx, cluster, once, c.resource == "registry")
	if err != nil {
		return outcome{err: err}
	}
	defer stop()
	expected, items := 0, 0
	send := func(name string, n int) error {
		expected += n
		return b.send(ctx, name, n)
	}
	end := b.start()
	defer func() {
		b.network.thaw()
		end()
	}()
	if err := errors.Join(send(inTopic, 20), b.within(ctx, toldBy, "answers before", func() bool {
		return b.count() == expected
	})); err != nil {
		return outcome{err: err}
	}
	if c.atStart {
		end()
	}
	begun, logged := time.Now(), b.log.n.Load()
	if err := c.begin(ctx, b); err != nil {
		return outcome{err: fmt.Errorf("begin: %w", err)}
	}
	if c.atStart {
		end = b.start()
	}
	expected += b.more
	if b.later = b.later || c.later; !b.later {
		err = send(inTopic, 20)
	}
	var o outcome
	if c.told.text != "" {
		err = errors.Join(err, b.within(ctx, toldBy, "told "+c.told.text, func() bool { return b.tells(c.told) }))
		o.told = time.Since(begun)
		err = errors.Join(err, b.within(ctx, toldBy, "a line in the log", func() bool {
			return b.log.n.Load() > logged
		}))
	}
	if c.doubt != "" {
		err = errors.Join(err, b.within(ctx, toldBy, "told "+c.doubt, func() bool { return b.doubts(c.doubt) }))
		o.told = time.Since(begun)
	}
	if c.othersGoOn {
		before, from := b.of(besideTopic), time.Now()
		err = errors.Join(err, send(besideTopic, 10), b.within(ctx, toldBy, "others go on", func() bool {
			return b.of(besideTopic) == before+10
		}))
		o.others = time.Since(from)
	}
	passed, from := b.network.passed.Load(), time.Now()
	if b.undo != nil {
		_ = topic.Pause(ctx, t.hold) // its error is the context's, which the next steps report
		if c.told.text != "" {
			// An input counts as read to its end for five seconds after its last fetch.
			err = errors.Join(err, b.within(ctx, t.session+5*time.Second, "told to its end", func() bool { return b.tells(c.told) }))
		}
		// Without a hold this is an instant, in which a single request is no loop.
		o.loop = int64(float64(b.network.passed.Load()-passed) / max(1, time.Since(from).Seconds()))
		if o.loop > mostLoop {
			err = errors.Join(err, fmt.Errorf("%d bytes a second, for nothing", o.loop))
		}
	}
	if b.undo != nil {
		err = errors.Join(err, b.undo())
	}
	mended := time.Now()
	if b.later {
		err = errors.Join(err, send(inTopic, 20))
	}
	err = errors.Join(err, b.within(ctx, wellBy, "well again", func() bool {
		if items = b.count(); c.idsAgain {
			items = b.all()
		}
		return b.metrics.Ready() == "" && items >= expected
	}))
	o.well, o.resident = time.Since(mended), b.resident.Load()
	if o.resident > mostResident {
		err = errors.Join(err, fmt.Errorf("%d MiB are resident, more than %d", o.resident>>20, mostResident>>20))
	}
	if c.letter {
		err = errors.Join(err, b.hasLetter(ctx))
	}
	if n := b.twice(); once && n > 0 && !c.answersLost && !c.idsAgain {
		err = errors.Join(err, fmt.Errorf("%d answers are there twice", n))
	}
	if err != nil {
		err = fmt.Errorf("%w\n%d of %d items are answered; ready says: %s", err, items, expected, b.metrics.Ready())
	}
	o.err = err
	return o
}

// bedTopics are the topics of a bed.
var bedTopics = []string{
	inTopic, besideTopic, outTopic, deadTopicName, labelsTopic, reviewTopic, stateTopicName,
}

func (t *tableSettings) newBed(ctx context.Context, cluster *testkafka.Cluster,
	once, schemas bool,
) (*bed, func(), error) {
	b := &bed{
		cluster: cluster, network: newNetwork(), answers: map[string]int{}, streams: map[string]int{},
		feed: newFeed(1, feedSettings{Dimension: 16, Classes: 4}),
	}
	quiet, log := slog.New(slog.DiscardHandler), slog.New(slog.NewTextHandler(&b.log, &slog.HandlerOptions{
		Level: slog.LevelWarn,
	}))
	var brokers []string
	var err error
	if cluster != nil {
		brokers = cluster.Brokers()
		b.network.local = &net.TCPAddr{IP: net.ParseIP(stageAddress)}
	} else {
		if b.server, err = broker.Serve("", 0, quiet); err != nil {
			return nil, nil, err
		}
		brokers = []string{b.server.Address}
	}
	b.client, err = topic.Connect(topic.Settings{Brokers: brokers, ClientID: "breaker", Log: quiet})
	if err != nil {
		return nil, nil, err
	}
	for _, name := range bedTopics {
		if cluster != nil { // of the previous cell
			if _, there := b.client.ID(ctx, name); there == nil {
				err = errors.Join(err, removeTopic(ctx, b.client, name))
			}
		}
		if name != stateTopicName {
			err = errors.Join(err, b.make(ctx, name, 1))
		}
	}
	o := pipeline.Options{
		Topics: pipeline.Topics{
			Group: groupName, In: []string{inTopic, besideTopic}, Out: outTopic, Labels: labelsTopic, Review: reviewTopic,
		},
		Records: pipeline.Records{
			Limits: consumer.Limits{Size: 5, Age: time.Hour, Idle: 200 * time.Millisecond, Memory: 16 << 20},
			Decode: record.Options{Format: "f32", Dimension: b.feed.Dimension}, Committed: true,
		},
		Answers: pipeline.Answers{Memory: stream.Settings{Solver: solver.Defaults(), Warm: true, ReviewRate: 1}},
		Commits: pipeline.Commits{
			Eager:          !once,
			CommitInterval: 20 * time.Millisecond, StateInterval: 100 * time.Millisecond, DrainTimeout: time.Second,
		},
		Process: pipeline.Process{StallAfter: t.session, Workers: 1, Log: log},
		Member:  pipeline.Member{Session: t.session, Rebalance: t.session, Watch: 200 * time.Millisecond},
	}
	for _, e := range b.feed.support() {
		o.Support = append(o.Support, taught.Example{ID: e.ID, Label: e.Label, Vector: e.Vector})
	}
	if err != nil {
		return nil, nil, err
	}
	if schemas {
		b.peer = newPeer()
		o.Decode.Format = ""
	}
	b.start = func() func() { return b.run(ctx, brokers, o, once) }
	b.startAs = func(group, out string) func() {
		another := o
		another.Group, another.Out, another.State = group, out, stateTopicName
		return b.run(ctx, brokers, another, once)
	}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() {
		for topic.Pause(running, 100*time.Millisecond) == nil {
			if now, ok := residentBytes(os.Getpid()); ok && now > b.resident.Load() {
				b.resident.Store(now)
			}
		}
	})
	b.reading = make([]func(), mostPartitions)
	for p := range mostPartitions {
		all.Go(func() { b.read(running, p) })
	}
	return b, func() {
		b.network.thaw()
		end()
		all.Wait()
		if b.peer != nil {
			b.peer.close()
		}
		b.client.Close()
		if b.server != nil {
			b.server.Close()
		}
	}, nil
}

// run starts a stage and returns what stops it.
func (b *bed) run(ctx context.Context, brokers []string, o pipeline.Options, once bool) (end func()) {
	client, err := topic.Connect(topic.Settings{
		Brokers: brokers, ClientID: "stage", Dial: b.network.dial, Log: o.Log,
	})
	if err != nil {
		panic(err) // nothing is connected yet, and the settings are the same in every cell
	}
	if b.peer != nil {
		if o.Decode.Schemas, err = schemaregistry.New(schemaregistry.Settings{URL: b.peer.server.URL, Log: o.Log}); err != nil {
			panic(err)
		}
	}
	o.Delivery = &producer.AtLeastOnce{Client: client, Log: o.Log}
	if once {
		o.Delivery = &producer.ExactlyOnce{Client: client, Log: o.Log}
	}
	s, err := pipeline.New(client, o)
	if err != nil {
		panic(err)
	}
	if o.Group == groupName {
		b.metrics = s.Metrics()
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Run(running) // an error shows as missing answers
	}()
	return func() {
		cancel()
		<-ended
		client.Close()
	}
}

// mostPartitions bounds the partitions of the output in any cell.
const mostPartitions = 3

// send writes n items to an input, of a stream with the input's name.
func (b *bed) send(ctx context.Context, name string, n int) error {
	var out []record.Out
	for i := range n {
		vector := b.feed.vector(i % b.feed.Classes)
		value := raw(vector)
		if b.peer != nil {
			value = b.peer.value(name, vector)
		}
		out = append(out, record.Out{Topic: name, Partition: 0, Key: []byte(name), Value: value})
	}
	return b.client.Write(ctx, out)
}

// read collects the answers of a partition, even if their topic is deleted and created again.
func (b *bed) read(ctx context.Context, partition int) {
	position := int64(0)
	for ctx.Err() == nil {
		reader := b.client.NewReader(topic.ReaderSettings{
			Topic: outTopic, Partition: int32(partition), Offset: position,
		})
		reading, cancel := context.WithCancel(ctx)
		b.mutex.Lock()
		b.reading[partition] = cancel
		b.mutex.Unlock()
		for {
			batch, err := reader.Read(reading)
			if err != nil {
				cancel()
				position = 0 // the topic was created again
				_ = topic.Pause(ctx, 50*time.Millisecond)
				break
			}
			b.mutex.Lock()
			for i := range batch.Records {
				var r record.Result
				if json.Unmarshal(batch.Records[i].Value, &r) == nil {
					b.total++
					if b.answers[r.ID]++; b.answers[r.ID] == 1 {
						b.streams[r.Stream]++
					}
				}
			}
			b.mutex.Unlock()
		}
	}
}

// tells says whether readyz and the gauge report a fault.
func (b *bed) tells(t trouble) bool {
	answer := httptest.NewRecorder()
	b.metrics.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	clear := fmt.Sprintf("slkstream_trouble{of=%q} 0\n", t.of)
	return strings.Contains(b.metrics.Ready(), t.text) && !strings.Contains(answer.Body.String(), clear)
}

// doubts says whether the page reports a doubt.
func (b *bed) doubts(text string) bool {
	return slices.ContainsFunc(b.metrics.Status().Troubles, func(t health.Trouble) bool { return strings.Contains(t.What, text) })
}

// reread restarts reading the output from its start.
func (b *bed) reread() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, end := range b.reading {
		end()
	}
}

func (b *bed) all() int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.total
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
		end, err := b.client.Offset(ctx, deadTopicName, 0, topic.Latest, true)
		return err == nil && end > 0
	})
}

// within waits until holds returns true, at most for limit.
func (b *bed) within(ctx context.Context, limit time.Duration, what string, holds func() bool) error {
	for begin := time.Now(); !holds(); {
		if time.Since(begin) > limit || ctx.Err() != nil {
			return fmt.Errorf("%s: not within %v, %d answers", what, limit, b.count())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}
