package pipeline

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
)

// remove deletes a topic and waits until it is gone.
func remove(t *testing.T, client *topic.Client, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := client.Kafka().DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{name}})
	if err != nil || answer.Errors[name] != nil {
		t.Fatal(err, answer)
	}
	eventually(t, "deleted", func() bool {
		_, err := client.ID(ctx, name)
		return err != nil
	})
}

// everything returns the records that a topic of one partition holds now.
func everything(t *testing.T, client *topic.Client, name string) (list []record.Raw) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for r, err := range client.All(ctx, topic.TopicPartition{Topic: name}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, *r)
	}
	return list
}

func remake(t *testing.T, client *topic.Client, name string, settings map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := client.Create(ctx, topic.Description{Name: name, Partitions: 1, Settings: settings}); err != nil {
		t.Fatal(err)
	}
}

// An input that is deleted, created again and grows beyond the old offset is answered from its start, whether
// the stage runs meanwhile or not. Streams keep their memory, and one that was idle at first is answered
// after the next restart too.
func TestInputMadeAnew(t *testing.T) {
	t.Parallel()
	for name, running := range map[string]bool{"while it runs": true, "while it does not": false} {
		t.Run(name, func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(81)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			o.StateInterval = 50 * time.Millisecond
			o.Episodes = brokertest.Topic(t, client, "episodes", 1, nil)
			feed := func(key string, n int) {
				records := f.records(in, 1, n)
				for i := range records {
					records[i].Key = []byte(key)
				}
				write(t, client, records)
			}
			// Records of the new topic that are read before it is recognised as new are answered twice.
			answered := func(key string, most int64, episodes int) {
				t.Helper()
				eventually(t, "answered", func() bool {
					of := 0
					for _, r := range everything(t, client, o.Episodes) {
						var e record.Episode
						if err := json.Unmarshal(r.Value, &e); err != nil {
							t.Fatal(err)
						}
						if e.Stream == key && e.LastOffset <= most {
							of++
						}
					}
					return of >= episodes
				})
			}
			stop := start(t, client, o)
			feed("early", 30)
			feed("late", 30)
			answered("early", 29, 3)
			answered("late", 59, 3)
			if !running {
				stop()
			}
			remove(t, client, in)
			remake(t, client, in, nil)
			feed("early", 80) // beyond the old offset
			if !running {
				stop = start(t, client, o)
			}
			answered("early", 79, 3+8)
			stop()
			stop = start(t, client, o)
			feed("late", 10)
			answered("late", 89, 3+1)
			stop()
			list, faults, err := admin.ReadState(context.Background(), client, o.Group+"-state", o.Group)
			if err != nil || len(faults) > 0 {
				t.Fatal(err, faults)
			}
			for _, r := range list {
				if want := map[string]int64{"early": 11, "late": 4}[r.Stream]; r.Memory.Episode < want {
					t.Errorf("stream %s remembers %d episodes of %d", r.Stream, r.Memory.Episode, want)
				}
			}
		})
	}
}

// If one of two inputs is deleted, the other is answered, in this run and the next. Requests for the deleted
// one do not create it. It is answered when it is back.
func TestInputDeleted(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(82)
	stays, goes := brokertest.Topic(t, client, "stays", 1, nil), brokertest.Topic(t, client, "goes", 1, nil)
	o := basics(client, stays, f)
	o.In = []string{stays, goes}
	said := &lines{}
	o.Log = slog.New(slog.NewTextHandler(said, nil))
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	o.Watch, o.Session, o.Rebalance = 500*time.Millisecond, 2*session, 2*session
	all := 0
	answered := func(in string) {
		t.Helper()
		write(t, client, f.records(in, 1, 10))
		all += 10
		read(t, client, o.Out, all)
	}
	stop := start(t, client, o)
	answered(stays)
	answered(goes)
	remove(t, client, goes)
	eventually(t, "missed", func() bool {
		answered(stays)
		return said.count("a topic is missing") > 0
	})
	answered(stays)
	stop()
	start(t, client, o)
	answered(stays)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := client.ID(ctx, goes); !topic.IsMissing(err) {
		t.Errorf("the deleted input: %v", err)
	}
	remake(t, client, goes, nil)
	answered(goes)
	answered(stays)
}

// A group's offset past the end of the log is not believed, as after a broker's crash it may be that of a
// topic that was deleted: no record is answered twice, and none is left out.
func TestOffsetPastTheEnd(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(83)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	stop := start(t, client, o)
	write(t, client, f.records(in, 1, 30))
	read(t, client, o.Out, 30)
	stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := client.Kafka().OffsetCommit(ctx, &kafka.OffsetCommitRequest{
		GroupID: o.Group, GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{in: {{Partition: 0, Offset: 1000}}},
	}); err != nil {
		t.Fatal(err)
	}
	write(t, client, f.records(in, 1, 10))
	start(t, client, o)
	onceEach(t, collect(t, client, o.Out, count(40)))
}

// If a log ends before positions in the state and its topic has the same ID, reading continues at its end, or
// at the first item that is not answered: brokers that lost records do not make the remaining ones new, and
// the next records, which have the lost ones' offsets, are answered.
func TestInputEndsEarlier(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]int{"where all is answered": 0, "with an open episode": 5} {
		t.Run(name, func(t *testing.T) {
			client := brokertest.Connect(t, brokertest.Brokers(t))
			f := newFeed(83)
			in := brokertest.Topic(t, client, "in", 1, nil)
			o := basics(client, in, f)
			o.State = o.Group + "-state"
			o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
			stop := start(t, client, o)
			write(t, client, f.records(in, 1, 30))
			read(t, client, o.Out, 30)
			stop()
			loader := state.NewLoader(o.Group, in)
			for _, r := range everything(t, client, o.State) {
				loader.Add(&r)
			}
			restored := loader.Restore()
			journal := *restored.Journal
			journal.Decided, journal.Rejected, journal.Episodes = record.Start(1000), 1000, nil
			if open == 0 {
				journal.From = journal.Decided
			} else {
				lost := record.Position{Offset: 999, Object: -1} // an answered episode of lost items
				journal.Episodes = []state.Episode{{
					Stream: record.StreamID{Name: "cam-0"}, First: record.Start(990), Last: lost, At: lost, Closed: "size",
				}}
			}
			writer := state.NewWriter(o.Group, in, o.State, 0, state.Owner{}, restored)
			write(t, client, writer.Commit(&journal, nil))
			write(t, client, f.records(in, 1, open))
			s, err := New(client, o)
			if err != nil {
				t.Fatal(err)
			}
			stop = run(t, s)
			eventually(t, "taken over", func() bool { return s.metrics.takeovers.Value(fromState) == 1 })
			write(t, client, f.records(in, 1, 10-open))
			collect(t, client, o.Out, count(40))
			stop()
			start(t, client, o) // what the next owner finds does not refer to lost records either
			write(t, client, f.records(in, 1, 10))
			onceEach(t, collect(t, client, o.Out, count(50)))
		})
	}
}

// A state topic that is deleted while the stage runs is created again, and the memory of all streams is saved
// to it, including idle ones.
func TestStateDeleted(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(85)
	o := basics(client, brokertest.Topic(t, client, "in", 1, nil), f)
	o.State, o.StateInterval = o.Group+"-state", 50*time.Millisecond
	o.Limits = consumer.Limits{Size: 10, Age: time.Hour, Memory: 64 << 20}
	feed := func(key string, n int) {
		records := f.records(o.In[0], 1, n)
		for i := range records {
			records[i].Key = []byte(key)
		}
		write(t, client, records)
	}
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, s)
	feed("quiet", 30)
	feed("busy", 30)
	read(t, client, o.Out, 60)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	remove(t, client, o.State)
	feed("busy", 30)
	eventually(t, "made again, with all streams", func() bool {
		list, _, err := admin.ReadState(ctx, client, o.State, o.Group)
		return err == nil && len(list) == 2
	})
	read(t, client, o.Out, 90)
	stop()
	list, faults, err := admin.ReadState(context.Background(), client, o.State, o.Group)
	if err != nil || len(faults) > 0 || len(list) != 2 {
		t.Fatal(err, faults, list)
	}
	for _, r := range list {
		if want := map[string]int64{"quiet": 3, "busy": 6}[r.Stream]; r.Memory.Episode != want {
			t.Errorf("stream %s remembers %d episodes of %d", r.Stream, r.Memory.Episode, want)
		}
	}
}
