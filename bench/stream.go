package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

const (
	streamDimension  = 512
	streamClasses    = 10
	streamEpisode    = 100
	streamPartitions = 4
	streamStreams    = 16
)

// streamSection measures the whole stage against passing records through untouched.
var streamSection = section{
	"stream", "The whole stage: 512-d float32, episodes of 100, ten classes",
	benchStream,
}

// kafkaBench is a broker with an input topic, and what a stage and a passthrough on it need.
type kafkaBench struct {
	client   *topic.Client
	log      *slog.Logger
	in       string
	n        int
	support  []stream.Example
	vectors  [][]byte
	runs     int
	out      int     // bytes of a result
	spent    float64 // CPU seconds a record of the last run, all of the process, once settled
	spentNew float64 // the same in its first third
	profile  string  // where CPU profiles go, "" for nowhere
}

func benchStream(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	k.n = 110 * streamEpisode * streamStreams
	if b.Quick {
		k.n = 8 * streamEpisode * streamStreams
	}
	if err := k.fill(ctx); err != nil {
		return err
	}
	if b.Profile != "" {
		return profileStage(ctx, k, b.Profile, b.Rounds())
	}
	var first []float64
	var spent [3][]float64 // CPU seconds a record
	medians, err := b.Alternate(
		func() (float64, error) {
			rate, err := k.passThrough(ctx, nil, 0, false)
			spent[0] = append(spent[0], k.spent)
			return rate, err
		},
		func() (float64, error) {
			r, err := k.stage(ctx, false, 0)
			first, spent[1] = append(first, r.first), append(spent[1], k.spent)
			return r.rate, err
		},
		func() (float64, error) {
			r, err := k.stage(ctx, true, 0)
			spent[2] = append(spent[2], k.spent)
			return r.rate, err
		},
	)
	if err != nil {
		return err
	}
	half := medians[1] / 2
	w, err := k.waits(ctx, b, half, false)
	if err != nil {
		return err
	}
	inTransactions := medians[2] / 2
	t, err := k.waits(ctx, b, inTransactions, true)
	if err != nil {
		return err
	}
	where := "on the embedded broker in the same process"
	if os.Getenv("SLKSTREAM_TEST_BROKERS") != "" {
		where = "on a real Apache Kafka on the same machine"
	}
	b.Text("%d records of %d streams in %d partitions %s, %d-d float32, episodes of %d, %d classes with five labelled items each, results of %d bytes. "+
		"Passthrough reads with kafka-go's connections in a consumer group, decodes nothing, and writes values of the results' size with acknowledgement of all replicas.",
		k.n, streamStreams, streamPartitions, where, streamDimension, streamEpisode, streamClasses, k.out)
	cost := func(i int) string { return fmt.Sprintf("%.1f", 1e6*evaluate.Median(spent[i])) }
	b.Table([]string{"", "records/s", "of passthrough", "CPU us a record, all of the process"}, [][]string{
		{"passthrough", fmt.Sprintf("%.0f", medians[0]), "100 %", cost(0)},
		{"at least once", fmt.Sprintf("%.0f", medians[1]), percent(medians[1] / medians[0]), cost(1)},
		{"exactly once", fmt.Sprintf("%.0f", medians[2]), percent(medians[2] / medians[0]), cost(2)},
	})
	b.Text("Rates are of the last two fifths of the input, when each stream has seen %d episodes. While streams are new, they learn from every episode and make their metric often: the first third goes at %.0f records/s.", 3*k.n/streamStreams/streamEpisode/5, evaluate.Median(first))
	b.Text("At half that load (%.0f records/s, fed while it is read): p99 from an episode's close to the acknowledgement of its results %.1f ms in the last two fifths; p99 of a passthrough's record from read to acknowledgement %.1f ms; bar 2 ms + 3 x that = %.1f ms. In the first third, while all streams are new at once, p99 %.1f ms.",
		half, 1e3*w.settled, 1e3*w.passing, 2+3e3*w.passing, 1e3*w.new)
	b.Text("In transactions, at half of what it does then (%.0f records/s): p99 %.1f ms; of a passthrough in transactions %.1f ms; bar the commit interval of 100 ms + 3 x that = %.1f ms; in the first third %.1f ms. Exactly once does %s of at least once.",
		inTransactions, 1e3*t.settled, 1e3*t.passing, 100+3e3*t.passing, 1e3*t.new, percent(medians[2]/medians[1]))
	b.Figure("stream-share", "%s", percent(medians[1]/medians[0]))
	b.Figure("stream-rate", "%.0f", medians[1])
	return nil
}

// waits are p99s at a rate, medians of the rounds: from an episode's close to its results' acknowledgement,
// settled and while streams are new, and from a passthrough's read to the same.
type waits struct{ settled, new, passing float64 }

func (k *kafkaBench) waits(ctx context.Context, b *bench, rate float64, transactions bool) (waits, error) {
	var settled, new, passing []float64
	for range b.Rounds() {
		r, err := k.stage(ctx, transactions, rate)
		if err != nil {
			return waits{}, err
		}
		settled, new = append(settled, percentile(r.settled)), append(new, percentile(r.new))
		var passed []float64
		if _, err := k.passThrough(ctx, &passed, rate, transactions); err != nil {
			return waits{}, err
		}
		passing = append(passing, percentile(passed))
	}
	return waits{evaluate.Median(settled), evaluate.Median(new), evaluate.Median(passing)}, nil
}

// percentile is the 99th.
func percentile(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)*99/100]
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// startKafka is the embedded broker, or the real one that the environment names (see test/kafka/with).
func startKafka() (*kafkaBench, func(), error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	addresses, close := strings.Split(os.Getenv("SLKSTREAM_TEST_BROKERS"), ","), func() {}
	if addresses[0] == "" {
		server, err := broker.Serve(dir, 0, log)
		if err != nil {
			os.RemoveAll(dir)
			return nil, nil, err
		}
		addresses, close = []string{server.Address}, server.Close
	}
	client, err := topic.Connect(topic.Settings{Brokers: addresses, ClientID: "bench", Log: log})
	if err != nil {
		close()
		os.RemoveAll(dir)
		return nil, nil, err
	}
	random := rand.New(rand.NewPCG(1, 1))
	k := &kafkaBench{client: client, log: log, in: "in", out: 300}
	centres := make([][]float32, streamClasses)
	for c := range centres {
		centres[c] = make([]float32, streamDimension)
		for i := range centres[c] {
			centres[c][i] = float32(random.NormFloat64())
		}
	}
	draw := func(class int) []float32 {
		v := slices.Clone(centres[class])
		for i := range v {
			v[i] += 1.5 * float32(random.NormFloat64())
		}
		return v
	}
	for i := range 5 * streamClasses {
		k.support = append(k.support, stream.Example{
			ID:    fmt.Sprint(i),
			Label: fmt.Sprintf("class-%d", i%streamClasses), Vector: draw(i % streamClasses),
		})
	}
	for range 2000 {
		value := make([]byte, 0, 4*streamDimension)
		for _, x := range draw(random.IntN(streamClasses)) {
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
		}
		k.vectors = append(k.vectors, value)
	}
	return k, func() {
		client.Close()
		close()
		os.RemoveAll(dir)
	}, nil
}

// records are those of the turns from one to another: each stream in one partition.
func (k *kafkaBench) records(name string, turns []int, from, to int) []record.Out {
	list := make([]record.Out, 0, to-from)
	for i := from; i < to; i++ {
		s := turns[i]
		list = append(list, record.Out{
			Topic: name, Partition: int32(s % streamPartitions),
			Key: fmt.Appendf(nil, "camera-%d", s), Value: k.vectors[i%len(k.vectors)],
		})
	}
	return list
}

// turns says of each of n records which stream sends it. All send as many, in turn, but begin one after the
// other within the length of an episode: cameras do not start at the same instant, and episodes that all
// close at once wait for one another.
func turns(n int) []int {
	list := make([]int, 0, n)
	for turn := 0; len(list) < n; turn++ {
		for s := range streamStreams {
			if sent := turn - s*streamEpisode/streamStreams; sent >= 0 && sent < n/streamStreams {
				list = append(list, s)
			}
		}
	}
	return list
}

func (k *kafkaBench) fill(ctx context.Context) error {
	if err := k.client.Create(ctx, topic.Description{Name: k.in, Partitions: streamPartitions}); err != nil {
		return err
	}
	order := turns(k.n)
	for from := 0; from < k.n; from += 1000 {
		if err := k.client.Write(ctx, k.records(k.in, order, from, min(k.n, from+1000))); err != nil {
			return err
		}
	}
	return nil
}

// source is the full input, or a topic of its own that is fed at a rate.
func (k *kafkaBench) source(ctx context.Context, rate float64) (string, int, func() error, error) {
	if rate == 0 {
		return k.in, k.n, func() error { return nil }, nil
	}
	k.runs++
	name := fmt.Sprintf("paced-%d", k.runs)
	if err := k.client.Create(ctx, topic.Description{Name: name, Partitions: streamPartitions}); err != nil {
		return "", 0, nil, err
	}
	n := min(k.n, int(rate*5)/(streamStreams*streamEpisode)*streamStreams*streamEpisode)
	n = max(n, 5*streamStreams*streamEpisode)
	order := turns(n)
	done := make(chan error, 1)
	go func() {
		begin := time.Now()
		const at = 200
		for from := 0; from < n; from += at {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(from) / rate * float64(time.Second)))))
			if err := k.client.Write(ctx, k.records(name, order, from, min(n, from+at))); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	return name, n, func() error { return <-done }, nil
}

// rateOf waits until n records are in a topic and returns how many came a second in its last two fifths, when
// every stream has long been under way, and in its first third, while streams learn from each episode.
func (k *kafkaBench) rateOf(ctx context.Context, name string, n int) (settled, first float64, err error) {
	marks := []struct {
		share float64
		have  int64
		at    time.Time
		spent float64
	}{{share: .03}, {share: .3}, {share: .6}, {share: 1}}
	for next := 0; next < len(marks); {
		var have int64
		for p := range int32(streamPartitions) {
			end, err := k.client.Offset(ctx, name, p, topic.Latest, false)
			if err != nil {
				return 0, 0, err
			}
			have += end
		}
		for next < len(marks) && have >= int64(marks[next].share*float64(n)) {
			marks[next].have, marks[next].at, marks[next].spent = have, time.Now(), processSeconds()
			part := []string{"new", "settled"}[next/2]
			if err := k.profiled(part, next%2 == 0); err != nil {
				return 0, 0, err
			}
			next++
		}
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	rate := func(from, to int) float64 {
		return float64(marks[to].have-marks[from].have) / max(1e-3, marks[to].at.Sub(marks[from].at).Seconds())
	}
	spent := func(from, to int) float64 {
		return (marks[to].spent - marks[from].spent) / max(1, float64(marks[to].have-marks[from].have))
	}
	k.spentNew, k.spent = spent(0, 1), spent(2, 3)
	return rate(2, 3), rate(0, 1), nil
}

// staged is what a run of the whole stage showed.
type staged struct {
	rate, first  float64   // records a second, settled and in the beginning
	settled, new []float64 // from an episode's close to the acknowledgement of its results, in the same parts
}

// options of a stage with a group and an output of its own.
func (k *kafkaBench) options(in string, exactly bool) (pipeline.Options, error) {
	preset, err := stream.SolverSettings(solver.DefaultPreset)
	if err != nil {
		return pipeline.Options{}, err
	}
	k.runs++
	o := pipeline.Options{
		Group: fmt.Sprintf("stage-%d", k.runs), In: []string{in}, Out: fmt.Sprintf("labels-%d", k.runs),
		Eager: !exactly, Committed: true,
		Limits: consumer.Limits{Size: streamEpisode, Age: time.Hour, Memory: 64 << 20},
		Decode: record.Options{Format: "f32"},
		Memory: stream.Defaults(preset), Support: k.support, Log: k.log,
	}
	o.Delivery = &producer.AtLeastOnce{Client: k.client, Log: k.log}
	if exactly {
		o.Delivery = &producer.ExactlyOnce{Client: k.client, Log: k.log}
	}
	return o, nil
}

// stage runs the whole stage over the input.
func (k *kafkaBench) stage(ctx context.Context, exactly bool, rate float64) (staged, error) {
	in, n, fed, err := k.source(ctx, rate)
	if err != nil {
		return staged{}, err
	}
	o, err := k.options(in, exactly)
	if err != nil {
		return staged{}, err
	}
	if err := k.client.Create(ctx, topic.Description{Name: o.Out, Partitions: streamPartitions}); err != nil {
		return staged{}, err
	}
	var mutex sync.Mutex
	var shown staged
	episodes := int64(n / streamStreams / streamEpisode)
	o.Acknowledged = func(episode int64, took time.Duration) {
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case 3*episode <= episodes+2:
			shown.new = append(shown.new, took.Seconds())
		case 5*episode > 3*episodes:
			shown.settled = append(shown.settled, took.Seconds())
		}
	}
	s, err := pipeline.New(k.client, o)
	if err != nil {
		return staged{}, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	shown.rate, shown.first, err = k.rateOf(ctx, o.Out, n)
	stop()
	for _, e := range []error{<-ended, fed()} {
		if err == nil {
			err = e
		}
	}
	if err == nil && rate == 0 && !exactly {
		err = k.measureResults(ctx, o.Out)
	}
	if err != nil {
		return staged{}, err
	}
	return shown, k.drop(ctx, append(paced(in, k.in), o.Out, o.Out+"-dead", o.Group+"-state")...)
}

// paced is the topic that a run was fed through, if it had one of its own.
func paced(name, shared string) []string {
	if name == shared {
		return nil
	}
	return []string{name}
}

// measureResults takes the size of a result from what the stage has written.
func (k *kafkaBench) measureResults(ctx context.Context, name string) error {
	for p := range int32(streamPartitions) {
		b, err := k.client.NewReader(topic.ReaderSettings{Topic: name, Partition: p}).Read(ctx)
		if err != nil {
			return err
		}
		size := 0
		for i := range b.Records {
			size += len(b.Records[i].Value)
		}
		if len(b.Records) > 0 {
			k.out = size / len(b.Records)
			return nil
		}
	}
	return fmt.Errorf("topic %s: no result to measure", name)
}

// drop deletes what a run has made, so that the broker has no more to compact and to keep for the next ones.
func (k *kafkaBench) drop(ctx context.Context, names ...string) error {
	answer, err := k.client.Kafka().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{
		Addr:   k.client.Kafka().Addr,
		Topics: names,
	})
	if err != nil {
		return err
	}
	var faults []error
	for name, err := range answer.Errors {
		if err != nil {
			faults = append(faults, fmt.Errorf("delete topic %s: %w", name, err))
		}
	}
	return errors.Join(faults...)
}

// waitsOf collects from several goroutines how long records took.
type waitsOf struct {
	mutex sync.Mutex
	list  *[]float64
}

func (w *waitsOf) add(seconds float64, n int) {
	if w.list == nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for range n {
		*w.list = append(*w.list, seconds)
	}
}
