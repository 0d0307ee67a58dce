package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// disturbFor does one harm after another until playing ends. It completes a harm that has begun.
func (h *hostile) disturbFor(playing, ctx context.Context) error {
	harms := []func(context.Context) error{
		h.refuseOutput, h.refuseLetters, h.loseOutput, h.remakeBeside, h.growInput, h.growLabels,
		func(context.Context) error { return h.killOther() }, h.loseBroker, h.sendBomb, h.sendLarge, h.teach,
		h.sendMany,
	}
	var order []int // each harm once, in random order, before any repeats
	for {
		select {
		case <-playing.Done():
			return ctx.Err()
		case <-time.After(h.spacing()):
		}
		if len(order) == 0 {
			order = h.random.Perm(len(harms))
		}
		if err := harms[order[0]](ctx); err != nil {
			return fmt.Errorf("harm %d: %w", order[0], err)
		}
		order = order[1:]
	}
}

// spacing returns the time between harms. Short runs have as many as long ones; in long runs none comes
// twice a minute.
func (h *hostile) spacing() time.Duration {
	const most = 40 * time.Second
	mean := min(h.long/30, most)
	return mean/2 + time.Duration(h.random.Int64N(int64(mean)))
}

// outage runs do while something that every answer needs is away. Items that wait meanwhile may wait
// that much longer.
func (h *hostile) outage(what string, do func(long time.Duration) error) error {
	long := min(h.long/60, 20*time.Second)
	long = long/2 + time.Duration(h.random.Int64N(int64(long)))
	h.h.note("%s, for %v", what, long.Round(time.Millisecond))
	h.waits.begin()
	defer h.waits.over()
	err := do(long)
	h.h.note("over: %s", what)
	return err
}

// refuseOutput makes every result too large for its topic, which acts like a full disk.
func (h *hostile) refuseOutput(context.Context) error { return h.refuse(outTopic) }

func (h *hostile) refuseLetters(context.Context) error { return h.refuse(outTopic + "-dead") }

func (h *hostile) refuse(name string) error {
	return h.outage(name+" refuses everything", func(long time.Duration) error {
		if err := limitTopic(h.client, name, 200); err != nil {
			return err
		}
		time.Sleep(long)
		return limitTopic(h.client, name, usualMessage)
	})
}

// loseOutput deletes the output and creates it again. Everything in it has been read before, and nothing
// is written meanwhile.
func (h *hostile) loseOutput(ctx context.Context) error {
	return h.outage("the output is deleted", func(long time.Duration) error {
		if err := limitTopic(h.client, outTopic, 200); err != nil {
			return err
		}
		time.Sleep(2 * time.Second) // writes in flight arrive
		if err := h.drained(ctx); err != nil {
			return err
		}
		h.reading()
		if err := removeTopic(ctx, h.client, outTopic); err != nil {
			return err
		}
		time.Sleep(long)
		// The limit is set explicitly, because Kafka 4.3, when restarted, gives a topic the settings of
		// its deleted namesake.
		limit := map[string]string{maxMessage: strconv.Itoa(usualMessage)}
		if err := h.remake(ctx, topic.Description{
			Name: outTopic, Partitions: scenarioPartitions,
			Settings: limit,
		}); err != nil {
			return err
		}
		h.waits.rewind()
		return h.read(ctx)
	})
}

// remakeBeside deletes the second input and creates it again. Its unanswered items are gone; everything in
// the new topic must be answered.
func (h *hostile) remakeBeside(ctx context.Context) error {
	h.beside.Lock()
	defer h.beside.Unlock()
	return h.outage("the second input is deleted", func(long time.Duration) error {
		if err := removeTopic(ctx, h.client, besideTopic); err != nil {
			return err
		}
		h.waits.forget(besideTopic)
		time.Sleep(long)
		large := map[string]string{maxMessage: strconv.Itoa(hostileInput), "retention.ms": "-1"}
		return h.remake(ctx, topic.Description{Name: besideTopic, Partitions: 2, Settings: large})
	})
}

// growInput adds a partition to the input, up to twice the initial number.
func (h *hostile) growInput(ctx context.Context) error {
	n := int(h.scenario.partitions.Load()) + 1
	if n > 2*scenarioPartitions {
		return nil
	}
	h.h.note("the input grows to %d partitions", n)
	h.scenario.partitions.Store(int32(n))
	return h.client.Grow(ctx, inTopic, n)
}

func (h *hostile) growLabels(ctx context.Context) error {
	if h.partitions == 4 {
		return nil
	}
	h.partitions++
	h.h.note("the labels topic grows to %d partitions", h.partitions)
	return h.client.Grow(ctx, labelsTopic, h.partitions)
}

// loseBroker kills a broker for a while.
func (h *hostile) loseBroker(ctx context.Context) error {
	return h.outage("a broker is killed", func(long time.Duration) error {
		b := h.random.IntN(len(h.cluster.Brokers()))
		if err := h.cluster.Kill(b); err != nil {
			return err
		}
		time.Sleep(long / 2)
		return h.cluster.Restart(ctx, b)
	})
}

// bombSize is far more than a stage decodes, but a few kilobytes when compressed.
const bombSize = 192 << 20

// sendBomb sends a record that inflates excessively. It bypasses Sender, which would refuse it.
func (h *hostile) sendBomb(ctx context.Context) error {
	h.h.note("a record that inflates to %d MiB is sent", bombSize>>20)
	position := topic.TopicPartition{Topic: inTopic, Partition: int32(h.random.IntN(scenarioPartitions))}
	for began := time.Now(); ; time.Sleep(time.Second) {
		b := topic.Encode(position, h.make.bomb(bombSize), topic.Anonymous, "zstd")
		h.client.Send(ctx, "", []*topic.EncodedBatch{b})
		if b.Err == nil {
			h.bombs = append(h.bombs, fmt.Sprintf("%s/%d/%d", position.Topic, position.Partition, b.Base))
			return nil
		}
		if time.Since(began) > 30*time.Second {
			return b.Err
		}
	}
}

// sendLarge sends an incompressible record that is larger than a stage decodes.
func (h *hostile) sendLarge(ctx context.Context) error {
	h.h.note("a record of 24 MiB is sent")
	return h.client.Write(ctx, h.make.noise(24<<20))
}

// sendMany sends records of new streams and models, one each.
func (h *hostile) sendMany(ctx context.Context) error {
	const n = 300
	h.h.note("%d streams and as many models appear", n)
	for range n / 50 {
		records, items := h.make.strangers(50)
		h.waits.sent(items, inTopic)
		if err := h.sender.Write(ctx, records); err != nil {
			return err
		}
	}
	return nil
}
