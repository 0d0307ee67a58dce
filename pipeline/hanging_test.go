package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// A partition whose state ends in a transaction that another owner has open is restored once that has ended, and
// reports what it waits for until then.
func TestStateEndsInAHangingTransaction(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(91)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 10, Age: 5 * time.Second, Memory: 64 << 20}
	o.State, o.StallAfter = brokertest.Topic(t, client, "state", 1, topic.StateSettings()), time.Millisecond
	end := leaveOpen(t, client, record.Out{Topic: o.State, Key: []byte("k"), Value: []byte("v")})
	o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	write(t, client, append(f.records(in, 2, 40), markers(in, 2)...))
	eventually(t, "told", func() bool {
		return strings.Contains(s.Metrics().Ready(), "--topic "+o.State+" --partition 0 --start-offset 0")
	})
	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	collect(t, client, o.Out, count(40))
}

// A transaction of which only the results got the end, as its broker was killed meanwhile, is ended in the state too by
// the next owner: no item is answered twice, and streams know what they were taught.
func TestResultsThatAreThereWithoutTheirState(t *testing.T) {
	t.Parallel()
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	f := newFeed(92)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 10, Age: 5 * time.Second, Memory: 64 << 20}
	o.Out, o.Dead = brokertest.Topic(t, client, "out", 2, nil), brokertest.Topic(t, client, "dead", 1, nil)
	o.State = brokertest.Topic(t, client, "state", 1, topic.StateSettings())
	delivery := &hanging{Delivery: &producer.ExactlyOnce{Client: client, Log: o.Log}}
	delivery.before = func() {
		brokertest.Hang(server.Cluster, client, topic.TopicPartition{Topic: o.Out}, topic.TopicPartition{Topic: o.Out, Partition: 1})
	}
	o.Delivery, o.Eager = delivery, false
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	write(t, client, append(f.records(in, 2, 40), markers(in, 2)...))
	collect(t, client, o.Out, count(40))
	delivery.armed.Store(true)
	write(t, client, append(f.records(in, 2, 40), markers(in, 2)...))
	collect(t, client, o.Out, count(80))
	write(t, client, append(f.records(in, 2, 20), markers(in, 2)...))
	all := collect(t, client, o.Out, count(100))
	if delivery.claims.Load() < 2 {
		t.Fatal("no transaction hung")
	}
	onceEach(t, all)
	for _, name := range []string{o.Out, o.Dead} {
		if !slices.Contains(delivery.claim.Load().Out, name) {
			t.Errorf("an owner does not say that it writes to %s: %v", name, delivery.claim.Load().Out)
		}
	}
}

// hanging is a delivery whose owner is gone after a commit with records that it was armed for.
type hanging struct {
	producer.Delivery
	before func() // that commit
	armed  atomic.Bool
	claims atomic.Int32
	claim  atomic.Pointer[producer.Claim] // the last
}

func (h *hanging) Claim(ctx context.Context, c producer.Claim) (producer.Committer, int64, error) {
	inner, offset, err := h.Delivery.Claim(ctx, c)
	h.claims.Add(1)
	h.claim.Store(&c)
	return &hangingCommitter{inner, h}, offset, err
}

type hangingCommitter struct {
	producer.Committer
	*hanging
}

func (h *hangingCommitter) Commit(ctx context.Context, c *producer.Commit) error {
	if len(c.Records) == 0 || !h.armed.CompareAndSwap(true, false) {
		return h.Committer.Commit(ctx, c)
	}
	h.before()
	c.Stated = nil
	return errors.Join(h.Committer.Commit(ctx, c), errors.New("killed"))
}

// leaveOpen writes a record in a transaction that stays open until end is called.
func leaveOpen(t *testing.T, client *topic.Client, r record.Out) (end func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	k, id := client.Kafka(), brokertest.Name("transaction")
	var mine *kafka.ProducerSession
	eventually(t, "a transactional id", func() bool {
		answer, err := k.InitProducerID(ctx, &kafka.InitProducerIDRequest{
			Addr: k.Addr, TransactionalID: id, TransactionTimeoutMs: 60_000, ProducerID: -1, ProducerEpoch: -1,
		})
		if err == nil && answer.Error == nil {
			mine = answer.Producer
		}
		return mine != nil
	})
	writer := topic.Sender{
		Client: client, Transaction: id,
		Stamp: func(topic.TopicPartition) topic.Stamp {
			return topic.Stamp{Producer: int64(mine.ProducerID), Epoch: int16(mine.ProducerEpoch), Transactional: true}
		},
		Enlist: func(ctx context.Context, partitions []topic.TopicPartition) error {
			_, err := k.AddPartitionsToTxn(ctx, &kafka.AddPartitionsToTxnRequest{
				Addr: k.Addr, TransactionalID: id, ProducerID: mine.ProducerID, ProducerEpoch: mine.ProducerEpoch,
				Topics: map[string][]kafka.AddPartitionToTxn{r.Topic: {{Partition: int(partitions[0].Partition)}}},
			})
			return err
		},
	}
	if err := writer.Write(ctx, []record.Out{r}); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		_, err := k.EndTxn(ctx, &kafka.EndTxnRequest{
			Addr: k.Addr, TransactionalID: id, ProducerID: mine.ProducerID, ProducerEpoch: mine.ProducerEpoch,
		})
		return err
	}
}
