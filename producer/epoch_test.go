package producer

import (
	"errors"
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// Each end of a transaction raises the epoch: the end of an earlier one is refused, and what it would have ended goes on.
// Brokers that do not speak that keep the epoch.
func TestEachEndRaisesTheEpoch(t *testing.T) {
	brokers := brokertest.Brokers(t)
	older := brokertest.Embedded(t, kfake.MaxVersions(kversion.V3_9_0()))
	for name, of := range map[string]struct {
		brokers []string
		raised  int16
	}{"raised": {brokers, 1}, "kept": {[]string{older.Address}, 0}} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, of.brokers)
			c, _ := b.claim(b.join())
			for i := range 3 {
				was := c.identity
				if err := c.Commit(b.ctx, &Commit{Records: b.results(2*i, 2*i+2), State: b.snapshot(i), Offset: int64(2*i + 2)}); err != nil {
					t.Fatal(err)
				}
				if c.identity.producer != was.producer || c.identity.epoch != was.epoch+of.raised {
					t.Errorf("after %v the producer is %v", was, c.identity)
				}
				if end, ok := c.StateEnd(); !ok || end < int64(i+1) {
					t.Errorf("the state ends at %d, %v", end, ok)
				}
				if of.raised == 0 {
					continue
				}
				late := topic.Stamp{Producer: was.producer, Epoch: was.epoch}
				b.add(c, topic.TopicPartition{Topic: b.out})
				if _, err := c.coordinators.End(b.ctx, was.transaction, late, true, was.ending); !fencedByIdentity(err) {
					t.Errorf("the end of an earlier transaction is answered by %v", err)
				}
			}
			b.expect([]string{"0", "1", "2", "3", "4", "5"}, []string{"0", "1", "2"}, 6)
		})
	}
}

// When the epochs of a producer are used up, about once an hour, the next transaction is another producer's.
func TestTheEpochsAreUsedUp(t *testing.T) {
	b := newFixture(t, []string{brokertest.Embedded(t).Address})
	c, _ := b.claim(b.join())
	b.add(c, topic.TopicPartition{Topic: b.out})
	c.identity.epoch, c.sender.Enlist = math.MaxInt16-1, nil // which the broker takes from a batch
	if err := c.sender.Write(b.ctx, b.results(0, 1)); err != nil {
		t.Fatal(err)
	}
	first := c.identity
	if err := c.end(b.ctx, true); err != nil {
		t.Fatal(err)
	}
	if c.identity.producer == first.producer || c.identity.epoch != 0 {
		t.Fatalf("after %v the producer is %v", first, c.identity)
	}
	c.sender.Enlist = c.addPartitions
	if err := c.Commit(b.ctx, &Commit{Records: b.results(1, 5), State: b.snapshot(0), Offset: 5}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "2", "3", "4"}, []string{"0"}, 5)
}

// An owner whose brokers no longer speak how it ends transactions begins again, and ends them as they do.
func TestBrokersAreSetBack(t *testing.T) {
	server := brokertest.Embedded(t)
	b := newFixture(t, []string{server.Address})
	generation := b.join()
	c, _ := b.claim(generation)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(0, 2), State: b.snapshot(0), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	lower := kmsg.NewPtrUpdateFeaturesRequest()
	feature := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	feature.Feature, feature.MaxVersionLevel, feature.UpgradeType = "transaction.version", 1, 2
	lower.FeatureUpdates = append(lower.FeatureUpdates, feature)
	answer, err := b.client.Ask(b.ctx, lower, 1, "")
	if err != nil || answer.(*kmsg.UpdateFeaturesResponse).ErrorCode != 0 {
		t.Fatal(err, answer)
	}
	server.Cluster.ControlKey(int16(kmsg.EndTxn), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		return nil, errors.New("cut"), r.GetVersion() >= topic.EndRaisesEpoch
	})
	err = c.Commit(b.ctx, &Commit{Records: b.results(2, 4), State: b.snapshot(1), Offset: 4})
	if !errors.Is(err, errVersionLowered) {
		t.Fatal(err)
	}
	if err := c.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	c, _ = b.claim(generation)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(2, 4), State: b.snapshot(1), Offset: 4}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "2", "3"}, []string{"0", "1"}, 4)
}

// After the highest number comes zero: a batch across the end of the numbers is one batch.
func TestNumbersBeginAgain(t *testing.T) {
	at, s := topic.TopicPartition{Topic: "out"}, sequences{}
	for i, n := range []int{math.MaxInt32, 3, 1} { // numbers up to MaxInt32-1; MaxInt32, 0 and 1; 2
		if want := []int32{0, math.MaxInt32, 2}[i]; s[at].next != want {
			t.Fatalf("batch %d begins at %d, want %d", i, s[at].next, want)
		}
		s.advance(at, n, int64(i))
	}
}
