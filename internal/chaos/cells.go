package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// cell is one way in which one thing that the stage needs fails.
type cell struct {
	resource, way string
	does          string // the stage, meanwhile
	told          string // what readyz says; "": it is no trouble of the stage's
	letter        bool   // a dead letter comes of it
	othersGoOn    bool   // another input is answered meanwhile
	answersLost   bool   // with their topic, so that some may be there again
	onceOnly      bool   // it is exactly once that needs it
	begin         func(context.Context, *bed) error
}

const stateTopicName = groupName + "-state"

// cells are the table. A cell that has no meaning is left out.
func cells() []cell {
	gone := "reads nothing and keeps what it has; brokers give its partitions to others after --session-timeout"
	waits := "keeps what is closed in bounded memory and tries again, ever more slowly"
	return []cell{
		{resource: "brokers", way: "connections hang", does: gone, told: "cut off for", begin: held},
		{resource: "brokers", way: "connections end instead of answering", does: gone, told: "cut off for", begin: silent},
		{resource: "group coordinator", way: "away", does: gone, told: "cut off for", begin: failing(kfake.Fault{
			Keys: []kmsg.Key{kmsg.JoinGroup, kmsg.Heartbeat}, TopLevel: true, Err: kerr.CoordinatorNotAvailable,
		})},
		{resource: "group coordinator", way: "denied", does: gone, told: "cut off for", begin: failing(kfake.Fault{
			Keys: []kmsg.Key{kmsg.JoinGroup, kmsg.Heartbeat}, TopLevel: true, Err: kerr.GroupAuthorizationFailed,
		})},
		{
			resource: "input", way: "a sender's transaction hangs", does: "answers up to the transaction and other inputs",
			told: "a transaction that has not ended", othersGoOn: true, begin: hangingSender,
		},
		{
			resource: "input", way: "READ denied", does: "goes on with other inputs, asks again every two seconds",
			told: inTopic + "/0 has not got on", othersGoOn: true, begin: failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Fetch}, Topic: inTopic, Err: kerr.TopicAuthorizationFailed,
			}),
		},
		{
			resource: "output", way: "WRITE denied", does: waits, told: "has not got on", begin: failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: outTopic, Err: kerr.TopicAuthorizationFailed,
			}),
		},
		{resource: "output", way: "refuses every size", does: waits, told: "has not got on", begin: limitedTo(outTopic, 80)},
		{resource: "output", way: "deleted, and made again later", does: waits, told: "has not got on", answersLost: true, begin: deleted(outTopic)},
		{
			resource: "state", way: "WRITE denied", does: waits, told: "has not got on", begin: failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: stateTopicName, Err: kerr.TopicAuthorizationFailed,
			}),
		},
		{
			resource: "state", way: "takes 20,000 bytes a record", does: "cuts snapshots and journals smaller",
			othersGoOn: true, begin: limitedTo(stateTopicName, 20_000),
		},
		{resource: "state", way: "takes nothing", does: waits, told: "has not got on", begin: limitedTo(stateTopicName, 80)},
		{
			resource: "dead letters", way: "WRITE denied", does: "keeps the letter; partitions without one go on",
			told: inTopic + "/0 has not got on", letter: true, othersGoOn: true,
			begin: both(rubbish, failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.Produce}, Topic: outTopic + "-dead", Err: kerr.TopicAuthorizationFailed,
			})),
		},
		{
			resource: "transaction coordinator", way: "denied", does: waits, told: "has not got on", onceOnly: true,
			begin: failing(kfake.Fault{
				Keys: []kmsg.Key{kmsg.AddPartitionsToTxn}, Err: kerr.TransactionalIDAuthorizationFailed,
			}),
		},
		{
			resource: "transaction coordinator", way: "away", does: waits, told: "has not got on", onceOnly: true,
			begin: failing(kfake.Fault{Keys: []kmsg.Key{kmsg.EndTxn}, TopLevel: true, Err: kerr.CoordinatorNotAvailable}),
		},
		{resource: "one sender", way: "rubbish", does: "writes a dead letter", letter: true, othersGoOn: true, begin: rubbish},
		{resource: "one sender", way: "a name of 600 KB", does: "writes a dead letter", letter: true, othersGoOn: true, begin: longName},
	}
}

// failing has brokers answer requests with an error until it is undone.
func failing(f kfake.Fault) func(context.Context, *bed) error {
	return func(_ context.Context, b *bed) error {
		f.Count = -1
		handle := b.server.Cluster.Fault(f)
		b.undo = func() error { handle.Remove(); return nil }
		return nil
	}
}

func held(_ context.Context, b *bed) error {
	b.network.freeze()
	b.undo = func() error { b.network.thaw(); return nil }
	return nil
}

// silent lets requests arrive and loses every answer.
func silent(_ context.Context, b *bed) error {
	const all = 1 << 30
	b.network.loseAnswers(all)
	b.undo = func() error { b.network.loseAnswers(-all); return nil }
	return nil
}

func limitedTo(name string, bytes int) func(context.Context, *bed) error {
	return func(_ context.Context, b *bed) error {
		b.undo = func() error { return limitTopic(b.client, name, 1<<20) }
		return limitTopic(b.client, name, bytes)
	}
}

func deleted(name string) func(context.Context, *bed) error {
	return func(ctx context.Context, b *bed) error {
		b.undo = func() error {
			err := b.client.Create(ctx, topic.Description{Name: name, Partitions: 1})
			b.mutex.Lock()
			b.reread() // a reader that met no error meanwhile would go on behind the end of the new topic
			b.mutex.Unlock()
			if errors.Is(err, topic.ErrExists) {
				return nil
			}
			return err
		}
		return removeTopic(ctx, b.client, name)
	}
}

func both(one, other func(context.Context, *bed) error) func(context.Context, *bed) error {
	return func(ctx context.Context, b *bed) error { return errors.Join(other(ctx, b), one(ctx, b)) }
}

func rubbish(ctx context.Context, b *bed) error {
	return b.client.Write(ctx, []record.Out{{Topic: inTopic, Partition: 0, Key: []byte(inTopic), Value: []byte("rubbish")}})
}

func longName(ctx context.Context, b *bed) error {
	value := raw(b.feed.vector(0))
	return b.client.Write(ctx, []record.Out{{
		Topic: inTopic, Partition: 0, Value: value, Key: []byte(strings.Repeat("k", 600_000)),
	}})
}

// hangingSender leaves a transaction open in the input.
func hangingSender(ctx context.Context, b *bed) error {
	sender, err := kgo.NewClient(kgo.SeedBrokers(b.server.Address), kgo.TransactionalID("hangs"),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		return err
	}
	if err := sender.BeginTransaction(); err != nil {
		return err
	}
	b.undo = func() error {
		err := sender.EndTransaction(context.WithoutCancel(ctx), kgo.TryAbort)
		sender.Close()
		return err
	}
	return sender.ProduceSync(ctx, &kgo.Record{Topic: inTopic, Value: raw(b.feed.vector(0))}).FirstErr()
}

// playTable plays every cell with both deliveries, several at once, prints what came of each, and writes the
// page. A cell without an answer is an error.
func playTable(ctx context.Context, page string, atOnce int) error {
	all := cells()
	outcomes := make([][2]outcome, len(all))
	slots := make(chan struct{}, atOnce)
	var players sync.WaitGroup
	for i := range all {
		for once := range 2 {
			if all[i].onceOnly && once == 0 {
				continue
			}
			players.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				o := playCell(ctx, &all[i], once == 1)
				outcomes[i][once] = o
				result := fmt.Sprintf("told after %.1f s, well again after %.1f s", o.told.Seconds(), o.well.Seconds())
				if o.err != nil {
					result = "NO ANSWER: " + o.err.Error()
				}
				fmt.Printf("%s, %s, exactly once %t: %s\n", all[i].resource, all[i].way, once == 1, result)
			})
		}
	}
	players.Wait()
	failed := 0
	for _, o := range outcomes {
		if o[0].err != nil || o[1].err != nil {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d cells have no answer", failed, len(all))
	}
	fmt.Printf("%d cells: 0 without an answer\n", len(all))
	if page == "" {
		return nil
	}
	return os.WriteFile(page, []byte(tablePage(all)), 0o644)
}

// tablePage is the page of what was played.
func tablePage(all []cell) string {
	var t strings.Builder
	t.WriteString(`# Failures

Reference, generated by ` + "`go run ./internal/chaos -table -page docs/failures.md`" + `, which plays every line on an embedded broker with both
deliveries: each is reported within a minute, nothing is lost, exactly once nothing is there twice, and the stage is well again without a restart.

| what fails | how | the stage meanwhile | ` + "`/readyz`" + ` 503 says | others go on |
|---|---|---|---|---|
`)
	for i := range all {
		c := &all[i]
		told, others := "-", "wait too"
		if c.told != "" {
			told = "`" + strings.ReplaceAll(c.told, inTopic+"/0", "TOPIC/PARTITION") + " ...`"
		} else if c.letter {
			told = "ready; the dead letter says why"
		}
		if c.othersGoOn {
			others = "yes"
		}
		fmt.Fprintf(&t, "| %s | %s | %s | %s | %s |\n", c.resource, c.way, c.does, told, others)
	}
	return t.String()
}
