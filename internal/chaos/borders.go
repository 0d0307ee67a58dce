package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The breakings of this file put something beside the stage that it could take for its own.

// stranger starts a consumer of another program in the stage's group, which reads and commits what it is given.
func stranger(ctx context.Context, b *bed) error {
	consumer, err := kgo.NewClient(
		kgo.SeedBrokers(b.client.Brokers()...), kgo.ConsumerGroup(groupName), kgo.ConsumeTopics(inTopic, besideTopic),
		kgo.ClientID("another program"), kgo.AutoCommitInterval(100*time.Millisecond),
	)
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
