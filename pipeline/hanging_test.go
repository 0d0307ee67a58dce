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

// A partition whose state ends in an open transaction is restored: the new owner aborts the transaction, and
// reports what it waits for until then. It aborts it in the output's partitions too: results that lack their
// marker would be committed with its own, after they were answered again.
func TestStateEndsInAHangingTransaction(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	f := newFeed(91)
	in := brokertest.Topic(t, client, "in", 1, nil)
	o := basics(client, in, f)
	o.Limits = consumer.Limits{Size: 10, Age: 5 * time.Second, Memory: 64 << 20}
	o.State, o.StallAfter = brokertest.Topic(t, client, "state", 1, topic.StateSettings()), time.Millisecond
	delivery := &hanging{Delivery: &producer.ExactlyOnce{Client: client, Log: o.Log}}
	delivery.end = leaveOpen(t, client, record.Out{Topic: o.State, Key: []byte("k"), Value: []byte("v")})
	o.Delivery = delivery
	s, err := New(client, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	write(t, client, append(f.records(in, 2, 40), markers(in, 2)...))
	eventually(t, "told", func() bool {
		return strings.Contains(s.Metrics().Ready(), "--topic "+o.State+" --partition 0 --start-offset 0")
	})
	collect(t, client, o.Out, count(40))
	if asked := delivery.asked.Load(); asked != 1 {
		t.Errorf("asked %d times to give up what hangs", asked)
	}
	for _, name := range []string{o.State, o.Out, o.Dead} {
		if !slices.Contains(delivery.partitions, topic.TopicPartition{Topic: name}) {
			t.Errorf("what hangs in %s is not given up: %v", name, delivery.partitions)
		}
	}
}

// hanging is a delivery whose commit sessions abort hanging transactions with end, because the embedded
// broker cannot make a hanging transaction that an ordinary abort would end.
type hanging struct {
	producer.Delivery
	end        func(context.Context) error
	asked      atomic.Int32
	partitions []topic.TopicPartition // of the last call
}

func (h *hanging) Claim(ctx context.Context, c producer.Claim) (producer.Committer, int64, error) {
	inner, offset, err := h.Delivery.Claim(ctx, c)
	return &hangingCommitter{inner, h}, offset, err
}

type hangingCommitter struct {
	producer.Committer
	*hanging
}

func (h *hangingCommitter) GiveUpHanging(ctx context.Context, partitions []topic.TopicPartition) error {
	h.asked.Add(1)
	h.partitions = partitions
	return errors.Join(h.Committer.GiveUpHanging(ctx, partitions), h.end(ctx))
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
