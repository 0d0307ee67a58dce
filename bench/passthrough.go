package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// passThrough measures the best that kafka-go can do: one connection reads each partition of a consumer
// group and writes one batch after another as read, with values of the results' size, and commits offsets
// ten times a second. It returns records per second and, if waits is not nil, adds the time from each
// record's read to its acknowledgement.
//
// In transactions each batch read is one commit, with its offset.
func (k *kafkaBench) passThrough(ctx context.Context, waits *[]float64, rate float64,
	transactions bool,
) (float64, error) {
	in, n, fed, err := k.source(ctx, rate)
	if err != nil {
		return 0, err
	}
	k.runs++
	out := fmt.Sprintf("passed-%d", k.runs)
	if err := k.client.Create(ctx, topic.Description{Name: out, Partitions: streamPartitions}); err != nil {
		return 0, err
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: out, Brokers: k.client.Brokers(), Dialer: k.client.Dialer(), Topics: []string{in},
		StartOffset: kafka.FirstOffset, HeartbeatInterval: 2 * time.Second, SessionTimeout: 10 * time.Second,
		JoinGroupBackoff: 200 * time.Millisecond,
	})
	if err != nil {
		return 0, err
	}
	var generation *kafka.Generation
	for generation == nil {
		if generation, err = group.Next(ctx); ctx.Err() != nil {
			return 0, errors.Join(ctx.Err(), group.Close())
		}
	}
	running, stop := context.WithCancel(ctx)
	failed := make(chan error, streamPartitions)
	collected := &waitsOf{list: waits}
	for _, p := range generation.Assignments[in] {
		generation.Start(func(ended context.Context) {
			if err := k.pass(running, generation, in, out, p, collected, transactions); err != nil &&
				running.Err() == nil {
				failed <- err
			}
			<-ended.Done()
		})
	}
	measured := make(chan struct{})
	var speed float64
	go func() {
		defer close(measured)
		speed, _, err = k.rateOf(running, out, n)
	}()
	select {
	case <-measured:
	case broken := <-failed:
		stop()
		<-measured
		err = broken
	}
	stop()
	if err := errors.Join(err, group.Close(), fed()); err != nil {
		return 0, err
	}
	return speed, k.drop(ctx, append(paced(in, k.in), out)...)
}

// pass copies one partition.
func (k *kafkaBench) pass(ctx context.Context, generation *kafka.Generation, in, out string,
	p kafka.PartitionAssignment, waits *waitsOf, transactions bool,
) error {
	conn, err := k.client.Dialer().DialLeader(ctx, "tcp", k.client.Brokers()[0], in, p.ID)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Seek(max(p.Offset, 0), kafka.SeekAbsolute); err != nil {
		return err
	}
	value := bytes.Repeat([]byte{'x'}, k.out)
	committed := time.Now()
	var committer producer.Committer
	if transactions {
		delivery := &producer.ExactlyOnce{Client: k.client, Prefix: "passthrough", Log: k.log}
		if committer, _, err = delivery.Claim(ctx, producer.Claim{
			Group: out, Topic: in, Partition: int32(p.ID),
			Generation: &topic.Generation{Group: out, ID: generation.ID, MemberID: generation.MemberID},
		}); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			return err
		}
		batch := conn.ReadBatchWith(kafka.ReadBatchConfig{
			MinBytes: 1, MaxBytes: 1 << 20,
			MaxWait: 500 * time.Millisecond,
		})
		var records []kafka.Record
		var together []record.Out
		for {
			m, err := batch.ReadMessage()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, kafka.RequestTimedOut) &&
					!errors.Is(err, os.ErrDeadlineExceeded) {
					return errors.Join(err, batch.Close())
				}
				break
			}
			if transactions {
				together = append(together, record.Out{Topic: out, Partition: int32(p.ID), Key: m.Key, Value: value})
			} else {
				records = append(records, kafka.Record{Key: kafka.NewBytes(m.Key), Value: kafka.NewBytes(value)})
			}
		}
		read := time.Now()
		offset := batch.Offset()
		if err := batch.Close(); err != nil && !errors.Is(err, kafka.RequestTimedOut) && !errors.Is(err, io.EOF) {
			return err
		}
		if len(together) > 0 {
			if err := committer.Commit(ctx, &producer.Commit{Records: together, Offset: offset}); err != nil {
				return err
			}
			waits.add(time.Since(read).Seconds(), len(together))
		}
		if len(records) == 0 {
			continue
		}
		answer, err := k.client.Kafka().Produce(ctx, &kafka.ProduceRequest{
			Topic: out, Partition: p.ID,
			RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
		})
		if err == nil {
			err = answer.Error
		}
		if err != nil {
			return err
		}
		waits.add(time.Since(read).Seconds(), len(records))
		if time.Since(committed) > 100*time.Millisecond {
			committed = time.Now()
			if err := generation.CommitOffsets(map[string]map[int]int64{in: {p.ID: offset}}); err != nil {
				return err
			}
		}
	}
	return nil
}

// waitsOf collects durations of records from several goroutines.
type waitsOf struct {
	mutex sync.Mutex
	list  *[]float64
}

func (w *waitsOf) add(seconds float64, n int) {
	if w.list == nil {
		return
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for range n {
		*w.list = append(*w.list, seconds)
	}
}
