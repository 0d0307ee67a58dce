package producer

import (
	"context"
	"sync"

	"github.com/slkstream/slkstream/internal/topic"
)

// offsets commits the offsets of one generation's partitions with one request at a time; those that arrive
// meanwhile go together in the next.
type offsets struct {
	commit func(map[string]map[int]int64) error

	mutex   sync.Mutex
	next    *offsetBatch // collects offsets while a request is in flight; nil: empty
	sending bool
}

// offsetBatch is the content of one request.
type offsetBatch struct {
	offsets map[topic.TopicPartition]int64
	errs    map[topic.TopicPartition]error // of the refused ones; set before done is closed
	done    chan struct{}
}

// put commits one partition's offset and returns the outcome, or ctx's error if that ends first; the offset
// may still be committed then. At most one call at a time is allowed for a partition.
func (o *offsets) put(ctx context.Context, tp topic.TopicPartition, offset int64) error {
	o.mutex.Lock()
	if o.next == nil {
		o.next = &offsetBatch{
			map[topic.TopicPartition]int64{}, map[topic.TopicPartition]error{}, make(chan struct{}),
		}
	}
	b := o.next
	b.offsets[tp] = offset
	if !o.sending {
		o.sending = true
		go o.send()
	}
	o.mutex.Unlock()
	select {
	case <-b.done:
		return b.errs[tp]
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send commits batches until none is left.
func (o *offsets) send() {
	for {
		o.mutex.Lock()
		b := o.next
		o.next, o.sending = nil, b != nil
		o.mutex.Unlock()
		if b == nil {
			return
		}
		// There is one error for a whole request. After an error each partition is committed separately: a deleted
		// topic must not block the others.
		if err := o.commit(b.request()); err != nil {
			for tp, offset := range b.offsets {
				if len(b.offsets) > 1 {
					err = o.commit(map[string]map[int]int64{tp.Topic: {int(tp.Partition): offset}})
				}
				b.errs[tp] = err
			}
		}
		close(b.done)
	}
}

// request returns the offsets by topic and partition.
func (b *offsetBatch) request() map[string]map[int]int64 {
	topics := map[string]map[int]int64{}
	for tp, offset := range b.offsets {
		if topics[tp.Topic] == nil {
			topics[tp.Topic] = map[int]int64{}
		}
		topics[tp.Topic][int(tp.Partition)] = offset
	}
	return topics
}
