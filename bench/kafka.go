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
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// kafkaBench is a broker with an input topic, and the data for measuring a stage and a passthrough on it.
type kafkaBench struct {
	client   *topic.Client
	log      *slog.Logger
	in       string
	n        int // measured records; the input holds streamAhead more
	support  []taught.Example
	vectors  [][]byte
	runs     int
	out      int     // bytes per result
	now      bool    // with first answers
	asRun    bool    // with what slkstream run does beside answering: reviews and recent items
	spent    float64 // CPU seconds per record of the whole process in the last run, once settled
	spentNew float64 // the same in its first third
	profile  string  // folder for CPU profiles; "": none
}

// startKafka connects to the embedded broker, or to the real one that the environment names (see
// test/kafka/with). All of the process, a passthrough and the broker too, collects garbage as `run` does.
func startKafka() (*kafkaBench, func(), error) {
	return startKafkaOf(streamDimension, streamClasses, 5)
}

// startKafkaOf does so with vectors of another dimension, of so many classes with so many examples each.
func startKafkaOf(dimension, classes, examples int) (*kafkaBench, func(), error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, nil, err
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	addresses, close := strings.Split(os.Getenv("SLKSTREAM_TEST_BROKERS"), ","), func() {}
	if addresses[0] == "" {
		server, err := broker.Serve(filepath.Join(dir, "data"), 0, log) // which keeps a file beside it
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
	centres := make([][]float32, classes)
	for c := range centres {
		centres[c] = make([]float32, dimension)
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
	for i := range examples * classes {
		k.support = append(k.support, taught.Example{
			ID:    fmt.Sprint(i),
			Label: fmt.Sprintf("class-%d", i%classes), Vector: draw(i % classes),
		})
	}
	for range 2000 {
		value := make([]byte, 0, 4*dimension)
		for _, x := range draw(random.IntN(classes)) {
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
		}
		k.vectors = append(k.vectors, value)
	}
	collected := budget.Collect(0)
	return k, func() {
		collected()
		client.Close()
		close()
		os.RemoveAll(dir)
	}, nil
}

// records returns the records of turns from to to. Each stream is in one partition.
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

// turns returns the sending stream of each of n records of the bench's streams.
func turns(n int) []int { return spread(n, streamStreams) }

// spread returns the sending stream of each of n records. All streams send equally many, in turn, but their
// starts are spread over the length of an episode: cameras do not start at the same instant, and if all
// episodes closed at once they would wait for each other.
func spread(n, streams int) []int {
	list := make([]int, 0, n)
	for turn := 0; len(list) < n; turn++ {
		for s := range streams {
			if sent := turn - s*streamEpisode/streams; sent >= 0 && sent < n/streams {
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
	n := k.n + streamAhead
	order := turns(n)
	for from := 0; from < n; from += 1000 {
		if err := k.client.Write(ctx, k.records(k.in, order, from, min(n, from+1000))); err != nil {
			return err
		}
	}
	return nil
}

// source returns the full input or, with a rate, a topic that is fed at that rate.
func (k *kafkaBench) source(ctx context.Context, rate float64) (string, int, func() error, error) {
	if rate == 0 {
		return k.in, k.n, func() error { return nil }, nil
	}
	k.runs++
	name := fmt.Sprintf("paced-%d", k.runs)
	if err := k.client.Create(ctx, topic.Description{Name: name, Partitions: streamPartitions}); err != nil {
		return "", 0, nil, err
	}
	n := k.fed()
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

// fed is the number of records of a run that is fed while it is read: 66 episodes of each stream.
func (k *kafkaBench) fed() int { return min(k.n, 66*streamStreams*streamEpisode) }

// rateOf waits until n records are in a topic and returns the records per second of its last two fifths, when
// every stream has long been active, and of its first third, while streams learn from each episode.
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

// paced returns the topic through which a run was fed, if it had one of its own.
func paced(name, shared string) []string {
	if name == shared {
		return nil
	}
	return []string{name}
}

// drop deletes a run's topics, so that the broker need not compact and keep them during the next runs.
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
