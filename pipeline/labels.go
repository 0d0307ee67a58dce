package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/solver/stream"
)

// labels follows the labels topic for the whole process: what it says is held once, however many streams
// answer by it.
type labels struct {
	client  *topic.Client
	topic   string // "": there is none
	dead    string
	decode  record.Options
	support []stream.Example
	most    int                        // examples of the topic that are in force, the latest; 0: all
	shown   func(inForce, leftOut int) // told of each view of the topic; nil: nobody is
	warned  warnings
	log     *slog.Logger
	current atomic.Pointer[view]
	fixed   bool // of a backfill: what is current stays
	agreed  agreed
	watch   time.Duration // how often the topic is looked at for new partitions
}

// view is what the labels topic said at one moment. It is never changed, only replaced.
type view struct {
	labels *stream.Labels
	// next holds, of each partition of the topic, the offset of the first record that the view does not know.
	next       []int64
	resets     []reset
	dimensions map[string]labelledDimension // of the examples, by model
}

// reset is an order to forget, at its place in the labels topic: a stream obeys it once, before the first
// episode that it answers by a view which knows the order.
type reset struct {
	partition int
	offset    int64
	record.Reset
}

// after tells whether the order is news to a stream that last answered by a view of these offsets.
func (r reset) after(next []int64) bool {
	return r.partition >= len(next) || r.offset >= next[r.partition]
}

func newLabels(client *topic.Client, name, dead string, decode record.Options, support []stream.Example, log *slog.Logger) *labels {
	decode.StreamBy = ""
	l := &labels{client: client, topic: name, dead: dead, decode: decode, support: support, log: log, watch: 5 * time.Second}
	l.agreed.changed = make(chan struct{}, 1)
	l.current.Store(l.begin(0).view())
	return l
}

// follow reads the topic to its end, calls ready, and goes on reading until ctx ends.
func (l *labels) follow(ctx context.Context, ready func()) error {
	if l.topic == "" || l.fixed {
		ready()
		<-ctx.Done()
		return nil
	}
	for {
		err := l.read(ctx, ready)
		if ctx.Err() != nil {
			return nil
		}
		var gone *topic.OutOfRange
		if errors.Is(err, errGrown) {
			l.log.Info("the labels topic has more partitions: reading it again from its start", "topic", l.topic)
			continue
		}
		if !errors.As(err, &gone) {
			return fmt.Errorf("labels topic %s: %w", l.topic, err)
		}
		l.log.Warn("the labels topic was made anew: reading it from its start", "topic", l.topic, "was", gone.Offset, "end", gone.End)
	}
}

// partitions waits until the topic is there and says how many it has.
func (l *labels) partitions(ctx context.Context) (int, error) {
	return waitFor(ctx, l.client, l.log, "looking for the labels topic "+l.topic, func() (int, error) {
		n, err := l.client.Partitions(ctx, l.topic)
		if err == nil && n == 0 {
			err = kafka.UnknownTopicOrPartition
		}
		return n, err
	})
}

// read follows the topic once from its start; it returns when reading fails for good or the topic has grown.
func (l *labels) read(ctx context.Context, ready func()) error {
	n, err := l.partitions(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b := l.begin(n)
	type part struct {
		partition int
		batch     *topic.Batch
		err       error
	}
	parts := make(chan part)
	first := make([]int64, n)
	for p := range n {
		first[p], err = waitFor(ctx, l.client, l.log, "reading the labels topic "+l.topic, func() (int64, error) {
			return l.client.Offset(ctx, l.topic, int32(p), topic.Earliest, false)
		})
		if err != nil {
			return err
		}
		go func() {
			reader := l.client.NewReader(topic.ReaderSettings{Topic: l.topic, Partition: int32(p), Offset: first[p]})
			for {
				batch, err := reader.Read(ctx)
				select {
				case parts <- part{p, batch, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
	}
	copy(b.next, first)
	decoder, err := record.NewDecoder(l.decode)
	if err != nil {
		return err
	}
	behind := n
	atEnd := make([]bool, n)
	publish := time.NewTimer(time.Hour)
	defer publish.Stop()
	grown := time.NewTicker(l.watch)
	defer grown.Stop()
	changed, pause := false, 20*time.Millisecond // many at once are one change
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-publish.C:
			begin := time.Now()
			l.show(b)
			pause = max(20*time.Millisecond, 20*time.Since(begin)) // however many there are, a twentieth of a core
			changed = false
		case <-grown.C:
			if now, err := l.client.Partitions(ctx, l.topic); err == nil && now > n {
				return errGrown
			}
		case <-l.agreed.changed:
			l.writeLetters(ctx, b.misfits(l))
		case part := <-parts:
			if part.err != nil {
				return part.err
			}
			letters, err := l.take(ctx, b, decoder, part.partition, part.batch)
			if err != nil {
				return err
			}
			if len(part.batch.Records) > 0 && behind == 0 && !changed {
				changed = true
				publish.Reset(pause)
			}
			if !atEnd[part.partition] && part.batch.Next >= part.batch.LastStable {
				atEnd[part.partition] = true
				if behind--; behind == 0 {
					l.show(b)
					l.log.Info("labels read", "topic", l.topic, "examples", len(b.words)+len(b.support))
					ready()
				}
			}
			l.writeLetters(ctx, letters)
		}
	}
}

// show makes what the book says now current.
func (l *labels) show(b *book) {
	l.current.Store(b.view())
	if l.shown != nil {
		l.shown(b.inForce, b.leftOut)
	}
	if b.leftOut == 0 {
		return
	}
	l.warned.once("most", func(int) {
		l.log.Warn("the labels topic holds more examples than --max-labels: the oldest are not in force", "topic", l.topic, "most", l.most, "leftOut", b.leftOut)
	})
}

// take takes in a batch and returns the dead letters of what cannot be used.
func (l *labels) take(ctx context.Context, b *book, decoder *record.Decoder, partition int, batch *topic.Batch) (letters []record.Out, err error) {
	for i := range batch.Records {
		r := &batch.Records[i]
		what, err := decoder.DecodeLabel(ctx, r)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			l.log.Warn("a record of the labels topic cannot be used", "topic", l.topic, "partition", partition, "offset", r.Offset, "error", err)
			letters = append(letters, record.DeadLetter(l.dead, r, err.Error(), 0))
			continue
		}
		w := b.apply(partition, r.Offset, r.Time, what)
		if letter, bad := l.misfit(w); bad {
			letters = append(letters, letter)
		}
	}
	b.next[partition] = batch.Next
	return letters, nil
}

// writeLetters writes dead letters. Every process reads the topic to its end when it starts, so that a letter
// may be there more than once; what a topic refuses for good is said, and keeps no label from taking effect.
func (l *labels) writeLetters(ctx context.Context, letters []record.Out) {
	for i := range letters {
		if err := l.client.Write(ctx, letters[i:i+1]); err != nil && ctx.Err() == nil {
			l.log.Error("a dead letter of the labels topic cannot be written", "topic", l.dead, "error", err)
		}
	}
}

// at is the view that ended at these offsets, read again from the topic unless it is the current one: what a
// stream has to learn again, it learns by the labels that it answered with.
func (l *labels) at(ctx context.Context, next []int64) (*view, error) {
	now := l.current.Load()
	if l.topic == "" || slices.Equal(now.next, next) {
		return now, nil
	}
	b := l.begin(len(next))
	decoder, err := record.NewDecoder(l.decode)
	if err != nil {
		return nil, err
	}
	for p, end := range next {
		_, err := readTo(ctx, l.client, l.topic, int32(p), end, func(batch *topic.Batch, _, _ int64) error {
			_, err := l.take(ctx, b, decoder, p, batch)
			return err
		})
		if err != nil {
			return nil, err
		}
		b.next[p] = end
	}
	return b.view(), nil
}

// fix makes one view the only one: nothing is followed.
func (l *labels) fix(v *view) {
	l.current.Store(v)
	l.fixed = true
}
