package producer

import (
	"strconv"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// The next owner aborts a transaction that nothing else would ever end, and none of it is visible. A real
// Kafka is made to let a transaction hang by a batch whose partition the coordinator does not know. The
// embedded broker refuses such a batch, so there the transaction is one that is still open.
func TestAHangingTransactionIsGivenUp(t *testing.T) {
	b := newBench(t, brokertest.Brokers(t))
	generation := b.join()
	c, _ := b.claim(generation)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(0, 2), State: b.snapshot(1), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	tp := topic.TopicPartition{Topic: b.state, Partition: 0}
	if brokertest.Real() {
		verifyPartitions(b, "false")
		defer verifyPartitions(b, "true")
		c.sender.Enlist = nil
	}
	for ; ; time.Sleep(20 * time.Millisecond) { // the brokers have not applied the new setting yet
		err := c.sender.Write(b.ctx, append(b.snapshot(2), b.results(8, 9)...))
		if err == nil {
			break
		}
		if b.ctx.Err() != nil || !brokertest.Real() {
			t.Fatal(err)
		}
	}
	if brokertest.Real() {
		c, _ = b.claim(generation)
	}
	if committed, end := b.ends(tp); committed >= end {
		t.Fatalf("nothing hangs: what is committed ends at %d, the partition at %d", committed, end)
	}
	// The result too would be committed with the next transaction in its partition.
	partitions := []topic.TopicPartition{tp}
	for p := range int32(2) {
		partitions = append(partitions, topic.TopicPartition{Topic: b.out, Partition: p})
	}
	if err := c.GiveUpHanging(b.ctx, partitions); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(b.ctx, &Commit{Records: b.results(2, 4), State: b.snapshot(3), Offset: 4}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "2", "3"}, []string{"1", "3"}, 4)
	if committed, end := b.ends(tp); committed != end {
		t.Errorf("what is committed ends at %d, the partition at %d", committed, end)
	}
}

// ends returns the last stable offset of a partition and its end offset.
func (b *bench) ends(tp topic.TopicPartition) (committed, end int64) {
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
func verifyPartitions(b *bench, value string) {
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
