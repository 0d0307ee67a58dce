package producer

import (
	"context"
	"sync"
)

// offsets commits the offsets of one generation's partitions with one request at a time: what comes meanwhile
// goes together in the next. kafka-go has one connection a generation, and callers that wait on it for
// answers at once take turns at reading it without a pause, which costs more than all else there is to a
// commit.
type offsets struct {
	commit func(map[string]map[int]int64) error

	mutex   sync.Mutex
	next    *offsetBatch // gathers while one is on its way; nil: empty
	sending bool
}

// offsetBatch is what goes in one request.
type offsetBatch struct {
	offsets map[string]map[int]int64
	count   int
	errs    map[string]map[int]error // of those that were refused, once done is closed
	done    chan struct{}
}

// put commits one partition's offset and returns what became of it, or ctx's error if that ends first; the
// commit may be made then all the same. One call for a partition at a time.
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

// send commits batches until there is none.
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
		// kafka-go tells one error of a whole request. Where there is one, each partition is asked for by itself: a
		// topic that is gone must not hold up the others.
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
