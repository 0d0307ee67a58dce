package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/backfill"
)

// fill runs one process of a job until it ends or is stopped.
func fill(ctx context.Context, client *topic.Client, o Options, b backfill.Job) (bool, error) {
	o.Bounded = true
	o.Session, o.Rebalance = session, session
	s, err := New(client, o)
	if err != nil {
		return false, err
	}
	return s.Backfill(ctx, b)
}

// Two processes share a job, one is stopped in the middle. Their answers equal those of one undisturbed
// process of another job, and a finished job is reported as finished.
func TestBackfill(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(5)
	in := brokertest.Topic(t, client, "in", 4, nil)
	const n = 4000
	write(t, client, f.records(in, 12, n))
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 30, Age: 10 * time.Second, Idle: time.Second, Memory: 64 << 20}
	o.State = o.Group + "-state"
	b := backfill.Job{Name: "night", From: "earliest", To: "latest"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()

	short, stop := context.WithCancel(ctx)
	defer stop()
	cutShort := b
	cutShort.Progress = func(int64, int64) { stop() } // there is a plan, and work has begun
	if _, err := fill(short, client, o, cutShort); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	write(t, client, f.records(in, 12, 500)) // latest was fixed when the job began
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := fill(ctx, client, o, b)
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	got := collect(t, client, o.Out, count(n))
	if finished, err := fill(ctx, client, o, b); err != nil || !finished {
		t.Errorf("a finished job started again: finished %v, %v", finished, err)
	}
	other := o
	other.Limits.Size, other.Limits.Age, other.Decode.StreamBy = 31, time.Second, "partition"
	other.Support, other.Out = nil, brokertest.Topic(t, client, "other", 4, nil)
	_, err := fill(ctx, client, other, b)
	for _, says := range []string{
		"episode-size was 30 and is 31, ", "episode-age was 10s and is 1s, ",
		`stream-by was "" and is "partition", `,
		"the examples of support are others", "the topic it writes to was " + o.Out + " and is " + other.Out + "; ",
	} {
		if !errors.Is(err, backfill.ErrOtherSettings) || !strings.Contains(err.Error(), says) {
			t.Errorf("other settings for the same job: %v; want %s", err, says)
		}
	}

	again := o
	again.Group, again.Out, again.State, again.Dead = brokertest.Name("group"), brokertest.Name("out"), "", ""
	again.Delivery = basics(client, in, newFeed(0)).Delivery
	if _, err := fill(ctx, client, again, backfill.Job{Name: "again", From: "0", To: time.Now().Add(time.Hour).Format(time.RFC3339)}); err != nil {
		t.Fatal(err)
	}
	longer := collect(t, client, again.Out, count(n+500))
	same := 0
	for id, answers := range got.answers {
		// The range ends the last open episodes, so only those may differ.
		if longer.answers[id][0].Label == answers[0].Label {
			same++
		}
	}
	if same < n-12*30 {
		t.Errorf("%d of %d answers are the same in both jobs", same, n)
	}
	ids := len(got.answers)
	if ids != n {
		t.Errorf("%d of %d answered", ids, n)
	}
}

// A job whose group has offsets that it did not commit, as of a stage or a consumer of the same name, is refused: it
// would say that it is finished. So is one whose offsets were moved between two runs.
func TestBackfillInAGroupOfOthers(t *testing.T) {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(7)
	in := brokertest.Topic(t, client, "in", 2, nil)
	write(t, client, f.records(in, 8, 400))
	o := basics(client, in, f)
	o.State = o.Group + "-state"
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	b := backfill.Job{Name: "night", From: "earliest", To: "latest"}
	move := func() {
		commit := &kafka.OffsetCommitRequest{
			GroupID: o.Group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{in: {{Partition: 1, Offset: 100}}},
		}
		eventually(t, "the offset is committed", func() bool { // a broker may still look for the group's coordinator
			r, err := client.Kafka().OffsetCommit(ctx, commit)
			return err == nil && r.Topics[in][0].Error == nil
		})
	}
	move()
	if finished, err := fill(ctx, client, o, b); !errors.Is(err, backfill.ErrOffsetsOfOthers) {
		t.Errorf("another's offsets: finished %v, %v", finished, err)
	}
	o.Group += "2"
	planned := o
	planned.Bounded = true
	stage, err := New(client, planned)
	if err == nil {
		err = stage.prepare(ctx)
	}
	if err == nil {
		_, err = stage.backfill(b).Plan(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	move()
	if finished, err := fill(ctx, client, o, b); !errors.Is(err, backfill.ErrOffsetsOfOthers) {
		t.Errorf("offsets moved between two runs: finished %v, %v", finished, err)
	}
}

// A job whose range the input no longer holds to its end says so, instead of waiting for ever.
func TestBackfillBeyondTheInput(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(7)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Bounded = true
	write(t, client, f.records(in, 1, 30))
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	s.ranges = map[topic.TopicPartition]backfill.Range{{Topic: in}: {Topic: in, To: 40}}
	run(t, s)
	eventually(t, "a restart", func() bool { return s.metrics.restarts.Sum() > 0 })
	onceEach(t, collect(t, client, o.Out, count(30))) // what there is, is answered
}
