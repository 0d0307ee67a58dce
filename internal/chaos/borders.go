package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The breakings of this file put something beside the stage that it could take for its own.

// stranger starts a consumer of another program in the stage's group, which reads and commits what it is given.
func stranger(ctx context.Context, b *bed) error { return strangerBy(ctx, b) }

// strangerFirst is stranger, once the group has given it partitions.
func strangerFirst(ctx context.Context, b *bed) error {
	given := make(chan struct{})
	once := sync.OnceFunc(func() { close(given) })
	err := strangerBy(ctx, b, kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { once() }))
	if err != nil {
		return err
	}
	select {
	case <-given:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// strangerOfNow is stranger by the group protocol of KIP-848, in which the brokers assign partitions.
func strangerOfNow(ctx context.Context, b *bed) error {
	//lint:ignore SA1029 franz-go looks for this key
	now := context.WithValue(context.Background(), "opt_in_kafka_next_gen_balancer_beta", true)
	return strangerBy(ctx, b, kgo.WithContext(now))
}

func strangerBy(ctx context.Context, b *bed, how ...kgo.Opt) error {
	consumer, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(b.client.Brokers()...), kgo.ConsumerGroup(groupName), kgo.ConsumeTopics(inTopic, besideTopic),
		kgo.ClientID("another program"), kgo.AutoCommitInterval(100 * time.Millisecond),
	}, how...)...)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		for ctx.Err() == nil {
			consumer.PollFetches(ctx) // an error is the group's refusal
		}
	}()
	b.undo = func() error {
		stop()
		<-polled
		consumer.Close()
		return nil
	}
	return nil
}

// neighbour starts a stage with a group and results of its own, whose state is in the same topic.
func neighbour(_ context.Context, b *bed) error {
	end := b.startAs("neighbour", nowTopic)
	b.undo = func() error { end(); return nil }
	return nil
}

// otherSettings are cells in which a topic of the stage has settings that somebody else chose: each topic with each.
func otherSettings() (all []cell) {
	loses := trouble{"loses what the stage needs", "settings"}
	topics := []struct {
		resource, name string
		compacted      bool
	}{
		{"input", inTopic, false},
		{"output", outTopic, false},
		{"dead letters", deadTopicName, false},
		{"review", reviewTopic, false},
		{"labels", labelsTopic, true},
		{"state", stateTopicName, true},
	}
	for _, t := range topics {
		own, other := "delete", "compact"
		if t.compacted {
			own, other = other, own
		}
		policy := cell{
			how: "cleanup.policy=" + other, begin: configured(t.name, "cleanup.policy", other, own), does: goesOnAsBefore, told: loses,
		}
		if t.resource == "input" {
			policy.told, policy.doubt = trouble{}, "can lose records before they are read"
		}
		policy.short = t.name == inTopic || t.name == outTopic || t.name == stateTopicName
		kept := policy
		kept.short = false
		kept.how, kept.begin = "cleanup.policy=compact,delete", configured(t.name, "cleanup.policy", "compact,delete", own)
		of := []cell{policy, kept}
		if t.resource == "input" {
			brief := policy
			brief.how, brief.begin = "retention.ms=600000", configured(t.name, "retention.ms", "600000", "604800000")
			of = append(of, brief)
		}
		if t.compacted {
			for _, setting := range []string{"delete.retention.ms", "retention.ms"} {
				brief := policy
				brief.how, brief.begin = setting+"=0", configured(t.name, setting, "0", "86400000")
				brief.told, brief.short, brief.unlisted = trouble{}, false, true
				if t.resource == "labels" && setting == "delete.retention.ms" {
					brief.doubt, brief.unlisted = "can stay in force", false
				}
				of = append(of, brief)
				brief.how, brief.atStart, brief.unlisted = brief.how+", while the stage is stopped", true, true
				of = append(of, brief)
			}
		}
		for _, harmless := range [][2]string{
			{"message.timestamp.type", "LogAppendTime"},
			{"compression.type", "zstd"},
			{"retention.bytes", "-1"},
			{"min.insync.replicas", "1"},
			{"segment.bytes", "1048576"},
		} {
			of = append(of, cell{
				how: harmless[0] + "=" + harmless[1], does: goesOnAsBefore, unlisted: true,
				begin: configured(t.name, harmless[0], harmless[1], ""),
			})
		}
		for _, c := range of {
			c.resource, c.way, c.othersGoOn = t.resource, "other settings", true
			all = append(all, c)
		}
	}
	return all
}

// configured changes a setting of a topic, and undoes it by another value; "": it stays.
func configured(name, setting, value, before string) breaking {
	return func(_ context.Context, b *bed) error {
		if before != "" {
			b.undo = func() error { return setTopic(b.client, name, setting, before) }
		}
		return setTopic(b.client, name, setting, value)
	}
}

// behind has the brokers refuse records whose time is more than an hour ahead of a clock two hours behind this one.
func behind(_ context.Context, b *bed) error {
	var over atomic.Bool
	b.server.Cluster.ControlKey(int16(kmsg.Produce), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if over.Load() {
			return nil, nil, false
		}
		b.server.Cluster.KeepControl()
		request := r.(*kmsg.ProduceRequest)
		theirs := time.Now().Add(-2 * time.Hour).UnixMilli()
		last, latest := theirs+time.Hour.Milliseconds(), int64(0)
		for _, t := range request.Topics {
			for _, p := range t.Partitions {
				latest = max(latest, int64(binary.BigEndian.Uint64(p.Records[35:]))) // the batch's latest time
			}
		}
		if latest <= last {
			return nil, nil, false
		}
		reason := fmt.Sprintf("Timestamp %d is out of range. The timestamp should be within [%d, %d]", latest,
			theirs-math.MaxInt64, last)
		return refuse(request, kerr.InvalidTimestamp.Code, reason), nil, true
	})
	b.undo = func() error { over.Store(true); return nil }
	return nil
}

// refuse answers every partition of a request with a code and its reason.
func refuse(request *kmsg.ProduceRequest, code int16, reason string) kmsg.Response {
	answer := request.ResponseKind().(*kmsg.ProduceResponse)
	for _, t := range request.Topics {
		refused := kmsg.NewProduceResponseTopic()
		refused.Topic, refused.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			one, why := kmsg.NewProduceResponseTopicPartition(), kmsg.NewProduceResponseTopicPartitionErrorRecord()
			one.Partition, one.BaseOffset, one.ErrorCode = p.Partition, -1, code
			why.ErrorMessage = &reason
			one.ErrorRecords = append(one.ErrorRecords, why)
			refused.Partitions = append(refused.Partitions, one)
		}
		answer.Topics = append(answer.Topics, refused)
	}
	return answer
}

// throttled answers each fetch of the input with a time to wait only, as brokers do beyond a quota.
func throttled(_ context.Context, b *bed) error {
	var over atomic.Bool
	b.server.Cluster.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		if over.Load() {
			return nil, nil, false
		}
		b.server.Cluster.KeepControl()
		request := r.(*kmsg.FetchRequest)
		if len(request.Topics) != 1 || request.Topics[0].Topic != inTopic {
			return nil, nil, false
		}
		answer := request.ResponseKind().(*kmsg.FetchResponse)
		answer.ThrottleMillis = 200
		return answer, nil, true
	})
	b.undo = func() error { over.Store(true); return nil }
	return nil
}
