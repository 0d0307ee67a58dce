package producer

import (
	"context"
	"sync"
)

// offsets commits the offsets of one generation's partitions with one request at a time; those that arrive
// meanwhile go together in the next. kafka-go has one connection for each generation, and concurrent
// callers that wait for answers take turns at reading it without a pause, which costs more than all the
// rest of a commit.
type offsets struct {
	commit func(map[string]map[int]int64) error

	mutex   sync.Mutex
	next    *offsetBatch // collects offsets while a request is in flight; nil: empty
	sending bool
}

// offsetBatch is the content of one request.
type offsetBatch struct {
	offsets map[string]map[int]int64
	count   int
	errs    map[string]map[int]error // of the refused ones; set before done is closed
	done    chan struct{}
}

// put commits one partition's offset and returns the outcome, or ctx's error if that ends first; the offset
// may still be committed then. At most one call at a time is allowed for a partition.
func (o *offsets) put(ctx context.Context, topic string, partition int, offset int64) error {
	o.mutex.Lock()
	if o.next == nil {
		o.next = &offsetBatch{offsets: map[string]map[int]int64{}, done: make(chan struct{})}
	}
	b := o.next
	if b.offsets[topic] == nil {
		b.offsets[topic] = map[int]int64{}
	}
	b.offsets[topic][partition] = offset
	b.count++
	if !o.sending {
		o.sending = true
		go o.send()
	}
	o.mutex.Unlock()
	select {
	case <-b.done:
		return b.errs[topic][partition]
	case <-ctx.Done():
		return ctx.Err()
	}
}

// send commits batches until none is left.
func (o *offsets) send() {
	for {
		o.mutex.Lock()
		b := o.next
		if o.next = nil; b == nil {
			o.sending = false
		}
		o.mutex.Unlock()
		if b == nil {
			return
		}
		// kafka-go returns one error for a whole request. After an error each partition is committed separately: a
		// deleted topic must not block the others.
		err := o.commit(b.offsets)
		if err != nil {
			b.errs = map[string]map[int]error{}
			for topic, partitions := range b.offsets {
				b.errs[topic] = map[int]error{}
				for partition, offset := range partitions {
					alone := err
					if b.count > 1 {
						alone = o.commit(map[string]map[int]int64{topic: {partition: offset}})
					}
					if alone != nil {
						b.errs[topic][partition] = alone
					}
				}
			}
		}
		close(b.done)
	}
}
