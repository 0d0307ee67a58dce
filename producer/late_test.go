package producer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// A request that its sender has sent again, and that a broker carries out only then, at any place among the
// requests that follow, changes nothing: no transaction is ended by the end of another, no offset is set back, and
// every record is there once. A delayed end is the one that KIP-890 describes. Where each end raises the epoch the same
// holds for requests that were answered, and that a broker carries out a second time; older brokers cannot tell these.
func TestALateRequestDoesNoHarm(t *testing.T) {
	for _, play := range []late{
		{kmsg.EndTxn, 200, true, false, false},
		{kmsg.Produce, 50, true, false, false},
		{kmsg.AddPartitionsToTxn, 50, true, false, false},
		{kmsg.AddOffsetsToTxn, 50, true, false, false},
		{kmsg.TxnOffsetCommit, 50, true, false, false},
		{kmsg.InitProducerID, 50, true, false, false},
		{kmsg.EndTxn, 200, true, true, false},
		{kmsg.Produce, 50, true, true, false},
		{kmsg.AddPartitionsToTxn, 50, true, true, false},
		{kmsg.AddOffsetsToTxn, 50, true, true, false},
		{kmsg.TxnOffsetCommit, 50, true, true, false},
		{kmsg.EndTxn, 50, true, false, true},
		{kmsg.TxnOffsetCommit, 25, true, false, true},
		{kmsg.Produce, 50, false, false, false},
		{kmsg.OffsetCommit, 6, false, false, false},
	} {
		t.Run(
			fmt.Sprintf("%s,exactly-once=%v,twice=%v,older=%v", play.key.Name(), play.exactlyOnce, play.twice, play.older),
			func(t *testing.T) {
				t.Parallel() // it waits more than it computes
				play.run(t)
			},
		)
	}
}

// late holds requests of one kind, each at a random place.
type late struct {
	key         kmsg.Key
	places      int
	exactlyOnce bool
	twice       bool // the request is answered, and carried out again later
	older       bool // by an embedded broker that ends transactions without raising the epoch
}

func (l late) run(t *testing.T) {
	network := brokertest.NewLate()
	var brokers []string
	if l.older {
		brokers = []string{brokertest.Embedded(t, kfake.MaxVersions(kversion.V3_9_0())).Address}
	} else {
		brokers = brokertest.Brokers(t)
	}
	b := newFixture(t, brokers)
	b.out = brokertest.Topic(t, b.client, "out", 2, map[string]string{"max.message.bytes": "1500"})
	client, err := topic.Connect(topic.Settings{Brokers: b.client.Brokers(), ClientID: "test", Dial: network.Dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	client.RecordLimit(b.ctx, b.out) // from now on the client knows how small the batches must be
	b.client = client
	var delivery Delivery = &ExactlyOnce{Client: client, Log: slog.New(slog.DiscardHandler)}
	if !l.exactlyOnce {
		delivery = &AtLeastOnce{Client: client, Log: slog.New(slog.DiscardHandler)}
	}
	next, delivered, claims := 0, 0, 0
	var generation *kafka.Generation
	var member context.Context // ends with the generation
	join := func() {
		ctx, cancel := context.WithCancel(b.ctx)
		generation, member = b.join(), ctx
		generation.Start(func(ended context.Context) {
			<-ended.Done()
			cancel()
		})
	}
	join()
	var c Committer
	claim := func() {
		var offset int64
		if c, offset, err = delivery.Claim(b.ctx, Claim{Group: b.group, Topic: b.in, Generation: generationOf(generation)}); err != nil {
			t.Fatal(err)
		}
		if offset > int64(next) && !l.exactlyOnce {
			t.Errorf("offset %d is committed, of %d that are written", offset, next)
		}
		next = int(max(offset, 0))
		claims++
	}
	claim()
	random := rand.New(rand.NewPCG(1, uint64(l.key)))
	for range l.places {
		hold := network.Hold
		if l.twice {
			hold = network.Copy
		}
		hold(l.key, 1+random.IntN(24), kmsg.InitProducerID, kmsg.AddPartitionsToTxn, kmsg.Produce,
			kmsg.AddOffsetsToTxn, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.OffsetCommit)
		for range 1 + random.IntN(4) {
			if l.key == kmsg.InitProducerID && random.IntN(2) == 0 {
				claim()
			}
			const records = 12 // three batches for each partition
			err := c.Commit(member, &Commit{
				Records: b.large(next, next+records), State: b.snapshot(next), Offset: int64(next + records),
			})
			if err == nil {
				next += records
				continue
			}
			if !l.exactlyOnce { // the generation's connection is broken, and ended with it
				join()
			}
			claim() // as the stage does, from the committed offset
		}
		done, err := network.Deliver()
		if err != nil {
			t.Fatal(err)
		}
		if done {
			delivered++
		}
		if random.IntN(3) == 0 {
			err, before := c.Close(member), next
			if claim(); next != before && err == nil {
				t.Errorf("offset %d is committed, after a commit of %d", next, before)
			}
		}
	}
	t.Logf("%d of %d requests delivered late, %d claims, %d records", delivered, l.places, claims, next)
	if delivered < l.places/2 {
		t.Errorf("only %d of %d requests were delivered late", delivered, l.places)
	}
	claim() // which waits until all partitions have the end of the last transaction
	seen := make([]int, next)
	for _, value := range b.visible(b.out, 2) {
		i, err := strconv.Atoi(value[:8])
		if err != nil {
			t.Fatal(err)
		}
		if i < next {
			seen[i]++
		} else if l.exactlyOnce {
			t.Errorf("result %d, of %d", i, next)
		}
	}
	missing, repeated := 0, 0
	for _, n := range seen {
		if n == 0 {
			missing++
		}
		if n > 1 {
			repeated++
		}
	}
	if missing > 0 || repeated > 0 && l.exactlyOnce {
		t.Errorf("of %d results %d are missing and %d repeated", next, missing, repeated)
	}
}

// large returns results of which two fit into a batch.
func (b *fixture) large(from, to int) []record.Out {
	var all []record.Out
	for i := from; i < to; i++ {
		all = append(all, record.Out{
			Topic: b.out, Partition: int32(i % 2), Key: []byte("k"),
			Value: append(fmt.Appendf(nil, "%08d", i), bytes.Repeat([]byte("x"), 600)...),
		})
	}
	return all
}
