package pipeline

import (
	"context"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/producer"
)

// A partition continues from memory only if nothing shows that it had another owner in between.
func TestOutdated(t *testing.T) {
	p := owned(&Stage{}, nil)
	p.input = topic.ID{1}
	begin(t, p, 30, nil)
	p.ledger.Begin(record.Start(20))
	for name, c := range map[string]struct {
		in        input
		committed int64
	}{
		"":                              {input{topic.ID{1}, 0, 40}, 20},
		"another owner's offset":        {input{topic.ID{1}, 0, 40}, 25},
		"an offset moved back":          {input{topic.ID{1}, 0, 40}, 0},
		"no offset":                     {input{topic.ID{1}, 0, 40}, -1},
		"another input":                 {input{topic.ID{3}, 0, 40}, 20},
		"retention beyond what is next": {input{topic.ID{1}, 31, 40}, 20},
		"an input that is short":        {input{topic.ID{1}, 0, 29}, 20},
	} {
		if why := p.outdated(c.in, c.committed); (why == "") != (name == "") {
			t.Errorf("%q: %q", name, why)
		}
	}
}

// owned is a partition that a stage owns, with nothing in it.
func owned(s *Stage, committer producer.Committer) *partition {
	s.options.Log, s.watch = quiet(), new(health.Watch)
	s.answers = answering.Settings{Pool: answering.NewPool(0), Known: new(answering.Known), Budget: budget.New(0)} // nobody works
	s.intake = &intake.Settings{Labels: labels.New(labels.Options{})}
	s.ledger = s.committing()
	at := topic.TopicPartition{Topic: "in"}
	writer := state.NewWriter("group", "in", "state", 0, state.Owner{Generation: 1}, state.NewLoader("group", "in").Restore())
	p := newPartition(s.ownership(consumer.Assignment{TopicPartition: at}, &store.Partition{Writer: writer}), committer)
	p.afterCommit, p.progress = func() {}, s.watch.Partitions.Assign(at, time.Now())
	return p
}

// begin has a partition begin at an offset, or with what a journal says of episodes that are to be learned again.
func begin(t *testing.T, p *partition, offset int64, r *state.Restored) {
	t.Helper()
	if r == nil {
		r = new(state.Restored)
	}
	if _, err := p.intake.Begin(t.Context(), r, offset, intake.Input{End: 99}); err != nil {
		t.Fatal(err)
	}
}

// Revoked partitions are kept if the group assigns them again, and each is taken once.
func TestRevokedPartitionsAreHeldUntilTheNextGeneration(t *testing.T) {
	var s Stage
	tp := func(n int32) topic.TopicPartition { return topic.TopicPartition{Topic: "in", Partition: n} }
	for n := range int32(3) {
		s.revoked.Store(tp(n), &partition{})
	}
	take := func(tp topic.TopicPartition) bool {
		_, kept := s.revoked.LoadAndDelete(tp)
		return kept
	}
	s.keepRevoked([]topic.TopicPartition{tp(0), tp(2), tp(7)})
	if !take(tp(0)) || take(tp(0)) || take(tp(1)) || take(tp(7)) {
		t.Error("not the partitions that were given back")
	}
	s.keepRevoked(nil)
	if take(tp(2)) {
		t.Error("a partition is held that belongs to another")
	}
}

// A partition may be kept only if its state in the topic equals its memory.
func TestWritten(t *testing.T) {
	fresh := func() *partition { return owned(&Stage{metrics: newMetrics(new(health.Watch))}, lasting{}) }
	if !fresh().written() {
		t.Error("an idle partition is not written")
	}
	for name, change := range map[string]func(*partition){
		"replaying": func(p *partition) {
			begin(t, p, 0, &state.Restored{Journal: &state.Journal{From: record.Start(0), Decided: record.Start(9)}})
		},
		"relearning": func(p *partition) {
			begin(t, p, 0, &state.Restored{
				Journal: &state.Journal{From: record.Start(0), Decided: record.Start(0)}, Relearn: make([]state.Episode, 1),
			})
		},
		"solving":     func(p *partition) { p.answering.Save(new(answering.Stream)) },
		"unanswered":  func(p *partition) { p.ledger.Expect(jobOf(0, nil)) },
		"in flight":   func(p *partition) { p.ledger.Expect(jobOf(1, p.stage.intake.Labels.Current())) },
		"uncommitted": func(p *partition) { p.ledger.Write(make([]record.Out, 1)) },
		"writing": func(p *partition) {
			p.ledger.Write(make([]record.Out, 1))
			p.commit(true)
		},
	} {
		p := fresh()
		if change(p); p.written() {
			t.Errorf("%s counts as written", name)
		}
		p.abandon()
	}
}

// jobOf answers an episode of so many bytes, or, with labels, replays it.
func jobOf(bytes int64, replay *labels.Version) *answering.Job {
	return &answering.Job{Closed: intake.Closed{Episode: &consumer.Episode{Bytes: bytes}, Replay: replay}}
}

// lasting is a committer whose commits do not end before their context.
type lasting struct{ producer.Committer }

func (lasting) Commit(ctx context.Context, _ *producer.Commit) error {
	<-ctx.Done()
	return ctx.Err()
}

// Members come and go while a stage stays. The partitions that stay with it are not restored. All answers
// equal those of an undisturbed stage, and with exactly-once delivery each is written once.
func TestPartitionsThatStayAreKept(t *testing.T) {
	t.Parallel()
	for name, once := range map[string]bool{"at least once": false, "exactly once": true} {
		t.Run(name, func(t *testing.T) {
			brokers := brokertest.Brokers(t)
			client := brokertest.Connect(t, brokers)
			f := newFeed(71)
			f.support() // as child.options draws its own first
			const streams, part = 10, 300
			c := child{
				Brokers: brokers, In: brokertest.Topic(t, client, "in", 4, nil), Out: brokertest.Topic(t, client, "out", 2, nil), Group: brokertest.Name("group"),
				Seed: 71, Limits: consumer.Limits{Size: 20, Age: 5 * time.Second, Memory: 64 << 20}, Session: 6 * time.Second, StateInterval: 300 * time.Millisecond,
				ExactlyOnce: once,
			}
			o := c.options(client)
			o.HandOver = 5 * time.Second
			s, err := New(client, o)
			if err != nil {
				t.Fatal(err)
			}
			stopSteady := run(t, s)
			until := func(what string, done func() bool) {
				t.Helper()
				for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
					if time.Now().After(end) {
						t.Fatal("never: ", what)
					}
				}
			}
			taken := func(s *Stage) float64 { return s.metrics.takeovers.Sum() }
			until("the first takes over", func() bool { return taken(s) >= 4 })
			n := 0
			feed := func() {
				write(t, client, f.records(c.In, streams, part))
				n += part
			}
			kept := func() bool { return s.metrics.takeovers.Value(fromMemory) >= 2 }
			for round := 0; round < 3 || !kept(); round++ {
				if round == 20 {
					t.Fatal("no partition is ever kept")
				}
				feed()
				other, err := New(client, o)
				if err != nil {
					t.Fatal(err)
				}
				stop := run(t, other)
				until("another takes over", func() bool { return taken(other) > 0 })
				feed()
				stop()
			}
			write(t, client, markers(c.In, streams))
			got := collect(t, client, c.Out, count(n))
			stopSteady()
			t.Logf("%v kept, %v restored", s.metrics.takeovers.Value(fromMemory), s.metrics.takeovers.Value(fromState))
			calm := c
			calm.Out, calm.Group = brokertest.Topic(t, client, "out", 2, nil), brokertest.Name("group")
			start(t, client, calm.options(client))
			if repeats := compare(t, got, collect(t, client, calm.Out, count(n)), n); once && repeats > 0 {
				t.Errorf("%d answers are there twice", repeats)
			}
		})
	}
}
