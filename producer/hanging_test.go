package producer

import (
	"bytes"
	"context"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/addpartitionstotxn"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// A transaction that was ended in some partitions only, as its broker was killed meanwhile, hangs in the others. The next
// owner ends it there as its coordinator has decided: nothing is answered twice, and nothing is lost.
func TestATransactionThatWasEndedInPart(t *testing.T) {
	out := func(p int32) topic.TopicPartition { return topic.TopicPartition{Topic: "out", Partition: p} }
	state := topic.TopicPartition{Topic: "state"}
	for _, play := range []struct {
		name   string
		commit bool
		ended  []topic.TopicPartition // that have the end; of topics "out" and "state"
		taken  bool                   // an owner has taken over in between, and was gone before it ended anything
		again  bool                   // the next owner's first request to take over is carried out, but it hears nothing of it
		seen   []string               // results of the transaction, "2" and "3", that a reader of committed records gets
		known  bool                   // the state and offset of the transaction are there
	}{
		{"committed in all results", true, []topic.TopicPartition{out(0), out(1)}, false, false, []string{"2", "3"}, true},
		{"committed in some results", true, []topic.TopicPartition{out(1)}, false, false, []string{"2", "3"}, true},
		{"committed in the state", true, []topic.TopicPartition{state}, false, false, []string{"2", "3"}, true},
		{"committed in all but the group", true, []topic.TopicPartition{out(0), out(1), state}, false, false, []string{"2", "3"}, true},
		{"aborted in all but the group", false, []topic.TopicPartition{out(0), out(1), state}, false, false, nil, false},
		{"committed nowhere yet", true, nil, false, false, []string{"2", "3"}, true},
		{"committed in some results, taken over twice", true, []topic.TopicPartition{out(1)}, false, true, []string{"2", "3"}, true},
		{"aborted in all results", false, []topic.TopicPartition{out(0), out(1)}, false, false, nil, false},
		{"aborted in some results", false, []topic.TopicPartition{out(0)}, false, false, nil, false},
		{"aborted in the state", false, []topic.TopicPartition{state}, false, false, nil, false},
		{"unknown", true, []topic.TopicPartition{out(0)}, true, false, []string{"2"}, false}, // repeated, not lost
	} {
		t.Run(play.name, func(t *testing.T) {
			h := newHanging(t)
			if err := h.owner.Commit(h.ctx, &Commit{Records: h.results(0, 2), State: h.snapshot(1), Offset: 2}); err != nil {
				t.Fatal(err)
			}
			for i, at := range play.ended {
				play.ended[i].Topic = map[string]string{"out": h.out, "state": h.state}[at.Topic]
			}
			h.endInPart(play.commit, play.ended, append(h.results(2, 4), h.snapshot(2)...), 4)
			if play.taken {
				if _, err := h.owner.takeOver(h.ctx); err != nil {
					t.Fatal(err)
				}
			}
			if play.again {
				network := brokertest.NewLate()
				client, err := topic.Connect(topic.Settings{Brokers: h.client.Brokers(), ClientID: "test", Dial: network.Dial})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(client.Close)
				h.delivery.Client = client
				network.Hold(kmsg.InitProducerID, 1, kmsg.DescribeTransactions)
			}
			next, offset := h.claim(h.generation)
			results, states := append([]string{"0", "1"}, play.seen...), []string{"1"}
			want := int64(2)
			if play.known {
				states, want = append(states, "2"), 4
			}
			if offset != want {
				t.Errorf("the next owner begins at %d, want %d", offset, want)
			}
			h.expect(results, states, want)
			if open, err := h.client.OffsetIsOpen(h.ctx, h.group, topic.TopicPartition{Topic: h.in}); err != nil || open {
				t.Errorf("the group's offset is open: %v, %v", open, err)
			}
			for _, tp := range []topic.TopicPartition{{Topic: h.state}, {Topic: h.out}, {Topic: h.out, Partition: 1}} {
				if committed, end := h.ends(tp); committed != end {
					t.Errorf("%s: what is committed ends at %d, the partition at %d", tp, committed, end)
				}
			}
			err := next.Commit(h.ctx, &Commit{Records: h.results(4, 6), State: h.snapshot(3), Offset: 6})
			if err != nil {
				t.Fatal(err)
			}
			h.expect(append(results, "4", "5"), append(states, "3"), 6)
		})
	}
}

// An owner that goes on ends its transaction that was ended in part too, before it writes again, if anything tells that a
// broker may have been killed: the end of a transaction that it gives up would take the earlier one along.
func TestAnOwnerEndsItsTransactionThatWasEndedInPart(t *testing.T) {
	for name, sign := range map[string]func(h *hangingFixture){
		"a request has had no answer":  func(h *hangingFixture) { h.owner.unanswered.Store(true) },
		"the coordinator has moved":    func(h *hangingFixture) { h.failing(kafka.NotCoordinatorForGroup, 0) },
		"a new coordinator reads":      func(h *hangingFixture) { h.failing(kafka.GroupLoadInProgress, 0) },
		"the coordinator is away":      func(h *hangingFixture) { h.failing(io.EOF, 0) },
		"the end takes long, it seems": func(h *hangingFixture) { h.failing(kafka.ConcurrentTransactions, 2500*time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHanging(t)
			h.endInPart(true, []topic.TopicPartition{{Topic: h.out}}, append(h.results(0, 2), h.snapshot(1)...), 2)
			sign(h)
			tooLarge := record.Out{Topic: h.out, Partition: 1, Value: bytes.Repeat([]byte("x"), 2_000_000)}
			if err := h.owner.Commit(h.ctx, &Commit{Records: []record.Out{tooLarge}, State: h.snapshot(2), Offset: 3}); err == nil {
				t.Fatal("no error")
			}
			if err := h.owner.Close(h.ctx); err != nil {
				t.Fatal(err)
			}
			h.expect([]string{"0", "1"}, []string{"1"}, 2)
		})
	}
}

// A partition of the results whose leader is away when the next owner comes is waited for: the transaction may hang there.
func TestATransactionHangsWhereNoLeaderIs(t *testing.T) {
	h := embeddedHanging(t)
	h.endInPart(true, []topic.TopicPartition{{Topic: h.out}, {Topic: h.state}}, append(h.results(0, 2), h.snapshot(1)...), 2)
	h.server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.ListOffsets}, Topic: h.out, Partitions: []int32{1}, Err: kerr.LeaderNotAvailable, Count: 2,
	})
	if _, offset := h.claim(h.generation); offset != 2 {
		t.Errorf("the next owner begins at %d", offset)
	}
	h.expect([]string{"0", "1"}, []string{"1"}, 2)
}

// What another has open stays open.
func TestTransactionsOfOthersAreLeftAlone(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	generation := b.join()
	id, _, err := takeOver(b.ctx, b.client, brokertest.Name("other"), transactionTimeout, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := &transactions{}
	other.begin(b.client, id, 0, nil)
	if err := other.sender.Write(b.ctx, append(b.results(7, 9), b.snapshot(7)...)); err != nil {
		t.Fatal(err)
	}
	c, _ := b.claim(generation)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(0, 2), State: b.snapshot(1), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	if err := other.end(b.ctx, true); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "7", "8"}, []string{"1", "7"}, 2)
}

// hangingFixture is a fixture with an owner whose transaction will be ended in part. The embedded broker plays that. A real
// Kafka is brought to it by batches and an offset of which the coordinator does not know.
type hangingFixture struct {
	*fixture
	server     *broker.Server // nil: a real Kafka
	generation *kafka.Generation
	owner      *exactlyOnce
}

func newHanging(t *testing.T) *hangingFixture {
	if !brokertest.Real() {
		return embeddedHanging(t)
	}
	h := &hangingFixture{fixture: newFixture(t, brokertest.Brokers(t))}
	verifyPartitions(h.fixture, "false")
	t.Cleanup(func() { verifyPartitions(h.fixture, "true") })
	return h.owned()
}

func embeddedHanging(t *testing.T) *hangingFixture {
	server := brokertest.Embedded(t)
	h := &hangingFixture{fixture: newFixture(t, []string{server.Address}), server: server}
	return h.owned()
}

func (h *hangingFixture) owned() *hangingFixture {
	h.generation = h.join()
	h.owner, _ = h.claim(h.generation)
	return h
}

// endInPart makes a transaction of the owner that only some partitions get the end of.
func (h *hangingFixture) endInPart(commit bool, ended []topic.TopicPartition, records []record.Out, offset int64) {
	h.t.Helper()
	c := h.owner
	if h.server != nil {
		brokertest.Hang(h.server.Cluster, h.client, ended...)
		if err := c.addOffsets(h.ctx); err != nil {
			h.t.Fatal(err)
		}
	} else {
		c.sender.Enlist = nil
		if len(ended) > 0 {
			h.add(c, ended...)
		} else {
			h.add(c, topic.TopicPartition{Topic: h.in})
		}
	}
	for ; ; time.Sleep(20 * time.Millisecond) { // the brokers have not applied the new setting yet
		err := c.sender.Write(h.ctx, records)
		if err == nil {
			err = c.putOffset(h.ctx, offset)
		}
		if err == nil {
			break
		}
		if h.ctx.Err() != nil || h.server != nil {
			h.t.Fatal(err)
		}
	}
	if err := c.end(h.ctx, commit); err != nil {
		h.t.Fatal(err)
	}
	c.sender.Enlist = c.addPartitions
}

// failing has the owner's requests to add partitions fail once, and then for a while.
func (h *hangingFixture) failing(with error, lasting time.Duration) {
	h.owner.kafka = &kafka.Client{Addr: h.owner.kafka.Addr, Transport: &failing{
		RoundTripper: h.owner.kafka.Transport, with: with, lasting: lasting,
	}}
}

type failing struct {
	kafka.RoundTripper
	with    error
	lasting time.Duration
	since   time.Time
}

func (f *failing) RoundTrip(ctx context.Context, to net.Addr, m kafka.Request) (kafka.Response, error) {
	if _, adds := m.(*addpartitionstotxn.Request); adds && (f.since.IsZero() || time.Since(f.since) < f.lasting) {
		if f.since.IsZero() {
			f.since = time.Now()
		}
		return nil, f.with
	}
	return f.RoundTripper.RoundTrip(ctx, to, m)
}

// add adds partitions to a transaction, which may have to wait for the end of the last one.
func (b *fixture) add(c *exactlyOnce, partitions ...topic.TopicPartition) {
	b.t.Helper()
	if err := b.client.Outage(c.log, "adding").Retry(b.ctx, nil, func() error { return c.addPartitions(b.ctx, partitions) }); err != nil {
		b.t.Fatal(err)
	}
}

// ends returns the last stable offset of a partition and its end offset.
func (b *fixture) ends(tp topic.TopicPartition) (committed, end int64) {
	b.t.Helper()
	committed, err := b.client.Offset(b.ctx, tp.Topic, tp.Partition, topic.Latest, true)
	if err != nil {
		b.t.Fatal(err)
	}
	end, err = b.client.Offset(b.ctx, tp.Topic, tp.Partition, topic.Latest, false)
	if err != nil {
		b.t.Fatal(err)
	}
	return committed, end
}

// verifyPartitions sets whether the brokers of a real Kafka ask the coordinator before they write a
// batch of a transaction.
func verifyPartitions(b *fixture, value string) {
	b.t.Helper()
	k := b.client.Kafka()
	cluster, err := k.Metadata(b.ctx, &kafka.MetadataRequest{Addr: k.Addr})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, broker := range cluster.Brokers {
		answer, err := k.IncrementalAlterConfigs(b.ctx, &kafka.IncrementalAlterConfigsRequest{
			Addr: k.Addr,
			Resources: []kafka.IncrementalAlterConfigsRequestResource{{
				ResourceType: kafka.ResourceTypeBroker, ResourceName: strconv.Itoa(broker.ID),
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
					Name: "transaction.partition.verification.enable", Value: value,
					ConfigOperation: kafka.ConfigOperationSet,
				}},
			}},
		})
		if err == nil {
			err = answer.Resources[0].Error
		}
		if err != nil {
			b.t.Fatal(err)
		}
	}
}
