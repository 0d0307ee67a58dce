package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// breaking breaks one thing for a cell and stores in the bed how to undo it.
type breaking = func(context.Context, *bed) error

// failing makes brokers answer requests with an error until it is undone.
func failing(f kfake.Fault) breaking {
	return func(_ context.Context, b *bed) error {
		f.Count = -1
		handle := b.server.Cluster.Fault(f)
		b.undo = func() error { handle.Remove(); return nil }
		return nil
	}
}

// denied removes a right: from the stage's address on a real broker, or by the answers of an embedded one.
func denied(kind kafka.ResourceType, name string, what kafka.ACLOperationType, f kfake.Fault) breaking {
	return func(ctx context.Context, b *bed) error {
		if b.cluster == nil {
			return failing(f)(ctx, b)
		}
		b.undo = func() error { return b.allow(context.WithoutCancel(ctx), kind, name, what) }
		return b.access(ctx, kind, name, what, kafka.ACLPermissionTypeDeny, stageAddress)
	}
}

func deniedWriting(name string) breaking {
	return denied(kafka.ResourceTypeTopic, name, kafka.ACLOperationTypeWrite, kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: name, Err: kerr.TopicAuthorizationFailed,
	})
}

func deniedReading(name string) breaking {
	return denied(kafka.ResourceTypeTopic, name, kafka.ACLOperationTypeRead, kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: name, Err: kerr.TopicAuthorizationFailed,
	})
}

// deniedMaking denies the right to create a topic. The right to create all topics covers it.
func deniedMaking(name string) breaking {
	return both(denied(kafka.ResourceTypeTopic, name, kafka.ACLOperationTypeCreate, kfake.Fault{
		Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: name, Err: kerr.TopicAuthorizationFailed,
	}), denied(kafka.ResourceTypeCluster, "kafka-cluster", kafka.ACLOperationTypeCreate, kfake.Fault{
		Keys: []kmsg.Key{kmsg.CreateTopics}, Topic: name, Err: kerr.TopicAuthorizationFailed,
	}))
}

// stageAddress is the address of the stage's connections to a real broker, so that it has rights of its own.
const stageAddress = "127.0.0.2"

// access creates an ACL rule for an address.
func (b *bed) access(ctx context.Context, kind kafka.ResourceType, name string, what kafka.ACLOperationType,
	permission kafka.ACLPermissionType, address string,
) error {
	k := b.client.Kafka()
	answer, err := k.CreateACLs(ctx, &kafka.CreateACLsRequest{Addr: k.Addr, ACLs: []kafka.ACLEntry{{
		ResourceType: kind, ResourceName: name, ResourcePatternType: kafka.PatternTypeLiteral,
		Principal: "User:*", Host: address, Operation: what, PermissionType: permission,
	}}})
	if err == nil {
		err = errors.Join(answer.Errors...)
	}
	return err
}

// allow deletes a rule of denied.
func (b *bed) allow(ctx context.Context, kind kafka.ResourceType, name string,
	what kafka.ACLOperationType,
) error {
	k := b.client.Kafka()
	_, err := k.DeleteACLs(ctx, &kafka.DeleteACLsRequest{Addr: k.Addr, Filters: []kafka.DeleteACLsFilter{{
		ResourceTypeFilter: kind, ResourceNameFilter: name, ResourcePatternTypeFilter: kafka.PatternTypeLiteral,
		PrincipalFilter: "User:*", HostFilter: stageAddress, Operation: what,
		PermissionType: kafka.ACLPermissionTypeDeny,
	}}})
	return err
}

func refused(_ context.Context, b *bed) error {
	b.network.refuseAll(true)
	b.undo = func() error { b.network.refuseAll(false); return nil }
	return nil
}

func killed(ctx context.Context, b *bed) error {
	b.later = true
	b.undo = func() error { return b.cluster.Restart(ctx, 0) }
	return b.cluster.Kill(0)
}

func held(_ context.Context, b *bed) error {
	b.network.freeze()
	b.undo = func() error { b.network.thaw(); return nil }
	return nil
}

// silent delivers requests and loses every answer.
func silent(_ context.Context, b *bed) error {
	const all = 1 << 30
	b.network.loseAnswers(all)
	b.undo = func() error { b.network.loseAnswers(-all); return nil }
	return nil
}

func slowed(_ context.Context, b *bed) error {
	b.network.slow(100 * time.Millisecond)
	b.undo = func() error { b.network.slow(0); return nil }
	return nil
}

func mute(keys ...kmsg.Key) breaking {
	return func(_ context.Context, b *bed) error {
		b.network.muteAll(keys...)
		b.undo = func() error { b.network.muteAll(); return nil }
		return nil
	}
}

func limitedTo(name string, bytes int) breaking {
	return func(_ context.Context, b *bed) error {
		b.undo = func() error { return limitTopic(b.client, name, 1<<20) }
		return limitTopic(b.client, name, bytes)
	}
}

func deleted(name string, partitions int) breaking {
	return func(ctx context.Context, b *bed) error {
		b.undo = func() error { return b.make(ctx, name, partitions) }
		return removeTopic(ctx, b.client, name)
	}
}

// deletedAlone deletes a topic that the stage makes again.
func deletedAlone(name string) breaking {
	return func(ctx context.Context, b *bed) error { return removeTopic(ctx, b.client, name) }
}

func madeAgain(name string, partitions int) breaking {
	return func(ctx context.Context, b *bed) error {
		if err := removeTopic(ctx, b.client, name); err != nil {
			return err
		}
		return b.make(ctx, name, partitions)
	}
}

// make creates a topic that was deleted, unless the stage has created it already.
func (b *bed) make(ctx context.Context, name string, partitions int) error {
	var settings map[string]string
	if name == stateTopicName || name == labelsTopic {
		settings = topic.StateSettings()
	}
	for {
		err := b.client.Create(ctx, topic.Description{Name: name, Partitions: partitions, Settings: settings})
		if name == outTopic {
			b.reread() // a reader that met no error would continue beyond the new topic's end
		}
		if err == nil || !errors.Is(err, topic.ErrExists) || ctx.Err() != nil {
			return err
		}
		if _, err := b.client.ID(ctx, name); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond) // the old topic is still being deleted
	}
}

// both breaks other, then one, and undoes both in the same order.
func both(one, other breaking) breaking {
	return func(ctx context.Context, b *bed) error {
		err := other(ctx, b)
		undo := b.undo
		b.undo = nil
		err = errors.Join(err, one(ctx, b))
		if first, second := undo, b.undo; first != nil {
			b.undo = func() error {
				err := first()
				if second != nil {
					err = errors.Join(err, second())
				}
				return err
			}
		}
		return err
	}
}

// refilled creates an input again and fills it beyond the offsets that were committed.
func refilled(name string) breaking {
	return func(ctx context.Context, b *bed) error {
		if err := madeAgain(name, 1)(ctx, b); err != nil {
			return err
		}
		const n = 60
		b.more = n
		return b.send(ctx, name, n)
	}
}

// sent sends one record to the input.
func sent(makes func(*bed) record.Out) breaking {
	return func(ctx context.Context, b *bed) error {
		out := makes(b)
		out.Topic = inTopic
		if out.Key == nil {
			out.Key = []byte(inTopic)
		}
		return b.client.Write(ctx, []record.Out{out})
	}
}

func rubbish(ctx context.Context, b *bed) error {
	return sent(func(*bed) record.Out { return record.Out{Value: []byte("rubbish")} })(ctx, b)
}

func largeRubbish(ctx context.Context, b *bed) error {
	value := bytes.Repeat([]byte("rubbish "), 60_000)
	return sent(func(*bed) record.Out { return record.Out{Value: value} })(ctx, b)
}

func longName(b *bed) record.Out {
	return record.Out{Value: raw(b.feed.vector(0)), Key: []byte(strings.Repeat("k", 600_000))}
}

func otherDimension(b *bed) record.Out {
	return record.Out{Value: append(raw(b.feed.vector(0)), 0, 0, 128, 63)}
}

// bombBatch is a batch of a few kilobytes with twelve records of 16 MiB. Making it takes more memory than a
// stage, which is given back.
var bombBatch = sync.OnceValue(func() *topic.EncodedBatch {
	out := make([]record.Out, 12)
	zeros := make([]byte, 16<<20)
	for i := range out {
		out[i] = record.Out{Topic: inTopic, Key: []byte(inTopic), Value: zeros}
	}
	defer debug.FreeOSMemory()
	return topic.Encode(topic.TopicPartition{Topic: inTopic}, out, topic.Anonymous, "zstd")
})

func bomb(ctx context.Context, b *bed) error {
	batch := *bombBatch()
	for batch.Err = kafka.LeaderNotAvailable; topic.Temporary(batch.Err); {
		b.client.Send(ctx, "", []*topic.EncodedBatch{&batch})
	}
	return batch.Err
}

func oneOffStreams(ctx context.Context, b *bed) error {
	const n = 2000
	out := make([]record.Out, n)
	for i := range out {
		out[i] = record.Out{Topic: inTopic, Key: fmt.Append(nil, "once-", i), Value: raw(b.feed.vector(0))}
	}
	b.more = n
	return b.client.Write(ctx, out)
}

// forgedID sends an item that claims to repeat the first one.
func forgedID(ctx context.Context, b *bed) error {
	b.more = 1
	return sent(func(b *bed) record.Out {
		first := record.Header{Key: "slkstream-id", Value: []byte(inTopic + "/0/0")}
		return record.Out{Value: raw(b.feed.vector(0)), Headers: []record.Header{first}}
	})(ctx, b)
}

func centuryOff(ctx context.Context, b *bed) error {
	b.more = 2
	for _, year := range []int{1926, 2126} {
		err := sent(func(b *bed) record.Out {
			at := record.AppendTime(nil, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
			return record.Out{
				Key: fmt.Append(nil, year), Value: raw(b.feed.vector(0)),
				Headers: []record.Header{{Key: record.TimeHeader, Value: at}},
			}
		})(ctx, b)
		if err != nil {
			return err
		}
	}
	return nil
}

// written sends one record to the labels topic.
func written(makes func(*bed) record.Out) breaking {
	return func(ctx context.Context, b *bed) error {
		out := makes(b)
		out.Topic = labelsTopic
		out.Headers = []record.Header{{Key: "content-type", Value: []byte("application/json")}}
		return b.client.Write(ctx, []record.Out{out})
	}
}

func rubbishLabel(*bed) record.Out {
	return record.Out{Key: []byte("rubbish"), Value: []byte("{rubbish")}
}

func longLabel(b *bed) record.Out {
	value, _ := json.Marshal(example{"long", strings.Repeat("k", 600_000), b.feed.vector(0)}) // finite numbers
	return record.Out{Key: []byte("long"), Value: value}
}

// hangingSender leaves a transaction open in a topic.
func hangingSender(name string) breaking {
	return func(ctx context.Context, b *bed) error {
		sender, err := kgo.NewClient(kgo.SeedBrokers(b.client.Brokers()...), kgo.TransactionalID("hangs"),
			kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionTimeout(10*time.Minute))
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
		hanging := &kgo.Record{Topic: name, Key: []byte(name), Value: raw(b.feed.vector(0))}
		return sender.ProduceSync(ctx, hanging).FirstErr()
	}
}

// allowAll allows everyone everything that is not denied.
func allowAll(ctx context.Context, brokers []string) error {
	client, err := topic.Connect(topic.Settings{Brokers: brokers, ClientID: "chaos"})
	if err != nil {
		return err
	}
	defer client.Close()
	b := &bed{client: client}
	for _, kind := range []kafka.ResourceType{
		kafka.ResourceTypeTopic, kafka.ResourceTypeGroup, kafka.ResourceTypeTransactionalID,
		kafka.ResourceTypeCluster,
	} {
		name := "*"
		if kind == kafka.ResourceTypeCluster {
			name = "kafka-cluster"
		}
		all, allow := kafka.ACLOperationTypeAll, kafka.ACLPermissionTypeAllow
		err = errors.Join(err, b.access(ctx, kind, name, all, allow, "*"))
	}
	return err
}
