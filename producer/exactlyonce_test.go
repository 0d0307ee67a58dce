package producer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// fixture holds the topics of a stage and a member of its group.
type fixture struct {
	t              *testing.T
	ctx            context.Context
	client         *topic.Client
	in, out, state string
	group          string
	delivery       *ExactlyOnce
	leave          func()
}

func newFixture(t *testing.T, brokers []string) *fixture {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	t.Cleanup(cancel)
	b := &fixture{
		t: t, ctx: ctx, client: brokertest.Connect(t, brokers), group: brokertest.Name("group"),
		leave: func() {},
	}
	b.in = brokertest.Topic(t, b.client, "in", 1, nil)
	b.out = brokertest.Topic(t, b.client, "out", 2, nil)
	b.state = brokertest.Topic(t, b.client, "state", 1, topic.StateSettings())
	b.delivery = &ExactlyOnce{Client: b.client, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	t.Cleanup(func() { b.leave() })
	return b
}

// join makes the fixture the group's only member and ends its previous membership.
func (b *fixture) join() *kafka.Generation {
	b.t.Helper()
	b.leave()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: b.group, Brokers: b.client.Brokers(), Topics: []string{b.in},
		Dialer: b.client.Dialer(), JoinGroupBackoff: 100 * time.Millisecond, SessionTimeout: 6 * time.Second,
		HeartbeatInterval: time.Second,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.leave = func() { group.Close() }
	for {
		generation, err := group.Next(b.ctx)
		if err == nil {
			return generation
		}
		if b.ctx.Err() != nil {
			b.t.Fatal(err)
		}
	}
}

// generationOf is the generation that kafka-go's group has given.
func generationOf(g *kafka.Generation) *topic.Generation {
	return &topic.Generation{Group: g.GroupID, ID: g.ID, MemberID: g.MemberID}
}

func (b *fixture) claim(g *kafka.Generation) (*exactlyOnce, int64) {
	b.t.Helper()
	c, offset, err := b.delivery.Claim(b.ctx, Claim{
		Group: b.group, Topic: b.in, Generation: generationOf(g), Out: []string{b.out, ""}, State: topic.TopicPartition{Topic: b.state},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return c.(*exactlyOnce), offset
}

func (b *fixture) results(from, to int) []record.Out {
	var all []record.Out
	for i := from; i < to; i++ {
		all = append(all, record.Out{
			Topic: b.out, Partition: int32(i % 2), Key: []byte("k"),
			Value: fmt.Append(nil, i),
		})
	}
	return all
}

func (b *fixture) snapshot(n int) []record.Out {
	return []record.Out{{Topic: b.state, Key: []byte("s"), Value: fmt.Append(nil, n)}}
}

// visible returns the values that a reader of committed records sees, sorted.
func (b *fixture) visible(name string, partitions int32) []string {
	b.t.Helper()
	var all []string
	for p := range partitions {
		end, err := b.client.Offset(b.ctx, name, p, topic.Latest, true)
		if err != nil {
			b.t.Fatal(err)
		}
		r := b.client.NewReader(topic.ReaderSettings{Topic: name, Partition: p})
		for r.Position() < end {
			batch, err := r.Read(b.ctx)
			if err != nil {
				b.t.Fatal(err)
			}
			for _, got := range batch.Records {
				all = append(all, string(got.Value))
			}
		}
	}
	slices.Sort(all)
	return all
}

// expect checks the committed values and offset. It polls, because the end of a transaction is acknowledged
// before all of it is visible.
func (b *fixture) expect(results, states []string, offset int64) {
	b.t.Helper()
	var gotResults, gotStates []string
	var gotOffset int64
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		gotResults, gotStates = b.visible(b.out, 2), b.visible(b.state, 1)
		var err error
		if gotOffset, err = b.client.Committed(b.ctx, b.group, b.in, 0); err != nil {
			b.t.Fatal(err)
		}
		if slices.Equal(gotResults, results) && slices.Equal(gotStates, states) && gotOffset == offset {
			return
		}
	}
	b.t.Fatalf("results %v, want %v; state %v, want %v; offset %d, want %d", gotResults, results, gotStates,
		states, gotOffset, offset)
}

// letter waits for the only dead letter.
func (b *fixture) letter(dead string) string {
	b.t.Helper()
	for ; ; time.Sleep(10 * time.Millisecond) {
		switch got := b.visible(dead, 1); {
		case len(got) == 1:
			return got[0]
		case len(got) > 1 || b.ctx.Err() != nil:
			b.t.Fatalf("%d dead letters", len(got))
		}
	}
}

func TestACommitIsSeenAsAWhole(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	c, offset := b.claim(b.join())
	if offset != -1 {
		t.Fatalf("a new group has committed %d", offset)
	}
	for i := range 3 {
		if err := c.Commit(b.ctx, &Commit{
			Records: b.results(3*i, 3*i+3), State: b.snapshot(i),
			Offset: int64(10 * i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Commit(b.ctx, &Commit{Offset: 33}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, []string{"0", "1", "2"}, 33)
	if err := c.Commit(b.ctx, &Commit{Offset: -1}); err != nil {
		t.Errorf("nothing to commit: %v", err)
	}
	if err := c.Commit(b.ctx, &Commit{Records: b.results(9, 10), Offset: -1}); !errors.Is(err, errNoOffset) {
		t.Errorf("records that the group could not refuse: %v", err)
	}
}

// A commit that fails halfway leaves nothing visible, and the partition resumes at the committed offset.
func TestAFailedCommitIsGivenUp(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	generation := b.join()
	c, _ := b.claim(generation)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(0, 2), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	tooLarge := record.Out{Topic: b.out, Partition: 1, Value: bytes.Repeat([]byte("x"), 2_000_000)}
	err := c.Commit(b.ctx, &Commit{Records: append(b.results(2, 4), tooLarge), State: b.snapshot(1), Offset: 4})
	if !errors.Is(err, kafka.MessageSizeTooLarge) {
		t.Fatal(err)
	}
	if again := c.Commit(b.ctx, &Commit{Records: b.results(2, 4), Offset: 4}); again == nil {
		t.Fatal("a broken transaction goes on")
	}
	if err := c.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1"}, nil, 2)
	next, offset := b.claim(generation)
	if offset != 2 {
		t.Errorf("the next claim begins at %d, want 2", offset)
	}
	if err := next.Commit(b.ctx, &Commit{
		Records: b.results(2, 4), State: b.snapshot(1),
		Offset: 4,
	}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "2", "3"}, []string{"1"}, 4)
}

// A dead letter that is too large is truncated until it fits, within the same transaction.
func TestADeadLetterTooLargeIsCut(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	dead := brokertest.Topic(t, b.client, "dead", 1, nil)
	c, _ := b.claim(b.join())
	large := &record.Raw{Topic: b.in, Offset: 1, Value: bytes.Repeat([]byte("x"), 2_500_000)}
	if err := c.Commit(b.ctx, &Commit{
		Records: []record.Out{record.DeadLetter(dead, large, "", 0)},
		Offset:  1,
	}); err != nil {
		t.Fatal(err)
	}
	b.expect(nil, nil, 1)
	if got := b.letter(dead); len(got) < 1_000_000 || !bytes.HasPrefix(large.Value, []byte(got)) {
		t.Errorf("a letter of %d bytes", len(got))
	}
}

// A result that the output refuses becomes a dead letter, in a topic that was not yet
// part of the transaction.
func TestARejectedResultIsADeadLetterOfTheSameTransaction(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	dead := brokertest.Topic(t, b.client, "dead", 1, nil)
	c, _ := b.claim(b.join())
	long := strings.Repeat("s", 2_000_000) // no part may be left out
	item := &record.Item{
		Source: record.Source{Topic: b.in, Offset: 7, Object: -1}, Stream: "s", Label: "kept",
		Vector: []float32{1, 2},
	}
	result := &record.Result{ID: item.Source.ID(), Stream: long}
	out := record.Out{
		Topic: b.out, Value: record.AppendResult(nil, result),
		Fallback: &record.ResultFallback{Item: item, Result: result, Dead: dead, Encode: record.AppendResult},
	}
	if err := c.Commit(b.ctx, &Commit{
		Records: append(b.results(0, 2), out), State: b.snapshot(0),
		Offset: 8,
	}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1"}, []string{"0"}, 8)
	if got := b.letter(dead); !strings.Contains(got, `"vector":[1,2]`) {
		t.Errorf("dead letter %.200s", got)
	}
}

func TestABatchSentTwiceIsThereOnce(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	c, _ := b.claim(b.join())
	tp := topic.TopicPartition{Topic: b.out, Partition: 0}
	b.add(c, tp)
	batch := topic.Encode(tp, []record.Out{{Value: []byte("once")}}, c.stamp(tp), "")
	var err error
	for sent := 0; sent < 3; {
		b.client.Send(b.ctx, c.identity.transaction, []*topic.EncodedBatch{batch})
		if err = batch.Err; err == nil || errors.Is(err, kafka.DuplicateSequenceNumber) {
			sent++
		} else if !topic.Temporary(err) {
			t.Fatal(err)
		}
	}
	c.sequences.advance(tp, 1, batch.Base)
	if err := c.Commit(b.ctx, &Commit{
		Records: []record.Out{{Topic: b.out, Value: []byte("and another")}},
		Offset:  1,
	}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"and another", "once"}, nil, 1)
}

func TestAGapInTheSequenceIsRefused(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	generation := b.join()
	c, _ := b.claim(generation)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(0, 1), Offset: 1}); err != nil {
		t.Fatal(err)
	}
	c.sequences.advance(topic.TopicPartition{Topic: b.out, Partition: 0}, 5, -1)
	if err := c.Commit(b.ctx, &Commit{Records: b.results(2, 3), Offset: 2}); !errors.Is(err,
		kafka.OutOfOrderSequenceNumber) {
		t.Fatalf("a gap in the sequence: %v", err)
	}
	if err := c.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0"}, nil, 1)
}

// An owner that is no longer a member cannot commit, although no other process has taken over its identity.
func TestAnOldGenerationIsRefused(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	old, _ := b.claim(b.join())
	if err := old.Commit(b.ctx, &Commit{Records: b.results(0, 1), Offset: 1}); err != nil {
		t.Fatal(err)
	}
	generation := b.join()
	err := old.Commit(b.ctx, &Commit{Records: b.results(1, 2), Offset: 2})
	if !errors.Is(err, ErrFenced) || !refusedByGroup(err) {
		t.Fatalf("an old generation: %v", err)
	}
	if err := old.Close(b.ctx); err != nil {
		t.Fatal(err)
	}
	now, offset := b.claim(generation)
	if offset != 1 {
		t.Errorf("the new owner begins at %d, want 1", offset)
	}
	if err := now.Commit(b.ctx, &Commit{Records: b.results(1, 2), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1"}, nil, 2)
	if _, _, err := b.delivery.Claim(b.ctx, Claim{
		Group: b.group, Topic: b.in,
		Generation: old.claim.Generation,
	}); !errors.Is(err, ErrFenced) {
		t.Errorf("a claim of an old generation: %v", err)
	}
}

// An owner whose identity is taken over during a transaction leaves nothing of it visible.
func TestAZombieIsRefused(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	zombie, _ := b.claim(b.join())
	if err := zombie.Commit(b.ctx, &Commit{Records: b.results(0, 1), Offset: 1}); err != nil {
		t.Fatal(err)
	}
	tp := topic.TopicPartition{Topic: b.out, Partition: 1}
	if err := zombie.addPartitions(b.ctx, []topic.TopicPartition{tp}); err != nil {
		t.Fatal(err)
	}
	half := topic.Encode(tp, []record.Out{{Value: []byte("half")}}, zombie.stamp(tp), "")
	for half.Err = kafka.LeaderNotAvailable; topic.Temporary(half.Err); {
		b.client.Send(b.ctx, zombie.identity.transaction, []*topic.EncodedBatch{half})
	}
	if half.Err != nil {
		t.Fatal(half.Err)
	}
	owner, offset := b.claim(b.join())
	if offset != 1 {
		t.Errorf("the owner begins at %d, want 1", offset)
	}
	b.client.Send(b.ctx, zombie.identity.transaction,
		[]*topic.EncodedBatch{topic.Encode(tp, []record.Out{{Value: []byte("late")}}, zombie.stamp(tp), "")})
	late := topic.Encode(tp, []record.Out{{Value: []byte("late")}}, zombie.stamp(tp), "")
	for late.Err = kafka.LeaderNotAvailable; topic.Temporary(late.Err); {
		b.client.Send(b.ctx, zombie.identity.transaction, []*topic.EncodedBatch{late})
	}
	if !fencedByIdentity(late.Err) {
		t.Errorf("a zombie's batch: %v", late.Err)
	}
	if err := zombie.end(b.ctx, true); !fencedByIdentity(err) {
		t.Errorf("a zombie ends its transaction: %v", err)
	}
	if err := zombie.Commit(b.ctx, &Commit{Records: b.results(1, 2), Offset: 2}); !errors.Is(err, ErrFenced) {
		t.Errorf("a zombie's commit: %v", err)
	}
	if err := owner.Commit(b.ctx, &Commit{Records: b.results(1, 2), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1"}, nil, 2)
}

// An owner that lost its identity, but not its membership of the group, may claim again: its transaction
// timed out, or a frozen predecessor woke up for a moment.
func TestALostIdentityIsNotTheEndOfAMember(t *testing.T) {
	b := newFixture(t, brokertest.Brokers(t))
	generation := b.join()
	first, _ := b.claim(generation)
	second, _ := b.claim(generation)
	if err := first.Commit(b.ctx, &Commit{Records: b.results(0, 1), Offset: 1}); !fencedByIdentity(err) ||
		errors.Is(err, ErrFenced) {
		t.Fatalf("a lost identity: %v", err)
	}
	if err := second.Commit(b.ctx, &Commit{Records: b.results(0, 1), Offset: 1}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0"}, nil, 1)
}

// Every request of a transaction fails with temporary errors, some of them after it was carried out; the
// outcome is the same.
func TestPassingFaultsAreWaitedFor(t *testing.T) {
	server := brokertest.Embedded(t)
	b := newFixture(t, []string{server.Address})
	generation := b.join()
	faults := server.Cluster.Fault(
		kfake.Fault{
			Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.ConcurrentTransactions,
			Count: 2,
		},
		kfake.Fault{Keys: []kmsg.Key{kmsg.InitProducerID}, TopLevel: true, Err: kerr.CoordinatorLoadInProgress},
		kfake.Fault{Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Err: kerr.ConcurrentTransactions, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.AddOffsetsToTxn}, TopLevel: true, Err: kerr.NotCoordinator},
		kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.CoordinatorNotAvailable},
		kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.RequestTimedOut}, // done, answer lost
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: b.out, Err: kerr.NotLeaderForPartition},
		// done, but not acknowledged
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: b.out, Err: kerr.RequestTimedOut, Count: 3},
		// as above
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: b.state, Err: kerr.NotEnoughReplicasAfterAppend},
		kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, TopLevel: true, Err: kerr.CoordinatorLoadInProgress, Count: 2},
		kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, TopLevel: true, Err: kerr.UnknownServerError}, // as Redpanda answers
		kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Group: b.group, Err: kerr.CoordinatorNotAvailable},
	)
	c, _ := b.claim(generation)
	for i := range 3 {
		if err := c.Commit(b.ctx, &Commit{
			Records: b.results(2*i, 2*i+2), State: b.snapshot(i),
			Offset: int64(2*i + 2),
		}); err != nil {
			t.Fatal(err)
		}
	}
	b.expect([]string{"0", "1", "2", "3", "4", "5"}, []string{"0", "1", "2"}, 6)
	if faults.Hits() < 16 {
		t.Errorf("%d faults hit", faults.Hits())
	}
}

// The coordinators are asked for with the first commit, not with each request, and again after an error.
func TestCoordinatorsAreRemembered(t *testing.T) {
	server := brokertest.Embedded(t)
	b := newFixture(t, []string{server.Address})
	c, _ := b.claim(b.join())
	var asked atomic.Int64
	server.Cluster.ControlKey(int16(kmsg.FindCoordinator), func(kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		asked.Add(1)
		return nil, nil, false
	})
	commit := func(i int) int64 {
		before := asked.Load()
		if err := c.Commit(b.ctx, &Commit{
			Records: b.results(2*i, 2*i+2), State: b.snapshot(i), Offset: int64(2*i + 2),
		}); err != nil {
			t.Fatal(err)
		}
		return asked.Load() - before
	}
	if n := commit(0); n != 2 {
		t.Errorf("the first commit asked %d times, for the coordinators of a transaction and of a group", n)
	}
	if n := commit(1); n != 0 {
		t.Errorf("the second commit asked %d times", n)
	}
	server.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, TopLevel: true, Err: kerr.NotCoordinator})
	if n := commit(2); n != 1 {
		t.Errorf("the commit whose coordinator had moved asked %d times", n)
	}
	b.expect([]string{"0", "1", "2", "3", "4", "5"}, []string{"0", "1", "2"}, 6)
}

// A transaction whose output is unavailable does not hold back readers of the partitions it shares with
// others: it is aborted and retried, and its records are visible once in the end.
func TestATransactionWhoseOutputIsAwayIsGivenUp(t *testing.T) {
	server := brokertest.Embedded(t)
	b := newFixture(t, []string{server.Address})
	c, _ := b.claim(b.join())
	if err := c.Commit(b.ctx, &Commit{Records: b.results(0, 2), State: b.snapshot(0), Offset: 2}); err != nil {
		t.Fatal(err)
	}
	away := server.Cluster.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: b.out, Err: kerr.NotLeaderForPartition, Count: -1,
	})
	givenUp := make(chan struct{}, 1)
	server.Cluster.ControlKey(int16(kmsg.InitProducerID), func(kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		select {
		case givenUp <- struct{}{}:
		default:
		}
		return nil, nil, false
	})
	committed := make(chan error, 1)
	go func() {
		committed <- c.Commit(b.ctx, &Commit{Records: b.results(2, 4), State: b.snapshot(1), Offset: 4})
	}()
	select {
	case <-givenUp: // while the output is still unavailable
	case err := <-committed:
		t.Fatalf("the commit has ended: %v", err)
	case <-b.ctx.Done():
		t.Fatal("the transaction stays open")
	}
	away.Remove()
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(b.ctx, &Commit{Records: b.results(4, 6), State: b.snapshot(2), Offset: 6}); err != nil {
		t.Fatal(err)
	}
	b.expect([]string{"0", "1", "2", "3", "4", "5"}, []string{"0", "1", "2"}, 6)
}
