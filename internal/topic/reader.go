package topic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
)

// ReaderSettings configures a Reader.
type ReaderSettings struct {
	Topic     string
	Partition int32
	Offset    int64 // where to start; Client.Offset finds the ends of the log
	End       int64 // that the log is known to have had: if it ends before, Read fails; 0: not known
	// Uncommitted also returns records of open and aborted transactions. Without it a reader never passes the
	// last stable offset.
	Uncommitted bool
	MaxBytes    int // of one fetch; default 1 MiB
	// MaxRecord bounds the inflated bytes of a compressed record. A larger one is Rejected. Default 16 MiB.
	MaxRecord int
	MaxWait   time.Duration // how long Read waits at the end of the log; default 500 ms
}

// Batch is the result of one Read.
type Batch struct {
	// Records in order. Their keys, values and headers' values are parts of one buffer, which stays in memory as
	// long as any of them is referenced: copy those that are kept for long.
	Records []record.Raw
	// Next is the reader's position after the batch. It moves over gaps (compaction, transaction markers,
	// aborted records), so a bounded read ends when Next reaches its end, whether there is a record or not.
	Next int64
	// HighWatermark is the end of the replicated records. LastStable is the end for readers of committed
	// records: the start of the oldest open transaction, else HighWatermark. -1: not reported by the broker.
	HighWatermark, LastStable int64

	buffer []byte
	spent  bool
}

// Spent says that nothing references the records of a batch from Client.Batches, nor a part of them: their memory is that of
// the next batch.
func (b *Batch) Spent() { b.spent = true }

// Before drops the records from an offset on.
func (b *Batch) Before(end int64) {
	n := len(b.Records)
	for n > 0 && b.Records[n-1].Offset >= end {
		n--
	}
	b.Records = b.Records[:n]
}

// undecided says whether an open transaction blocks the reader.
func (b *Batch) undecided() bool { return b.Next == b.LastStable && b.LastStable < b.HighWatermark }

// Reader reads one partition in order. It is not safe for concurrent use.
type Reader struct {
	client   *Client
	settings ReaderSettings
	decoder  decoder
	position int64
	maxBytes int
	outage   *Outage
	spare    []byte
	records  []record.Raw
	answer   *fetched  // that holds the decoder's open batch; nil: none is open
	told     time.Time // when throttling was last logged
	near     int32     // the replica that the leader names for this client's rack; -1: none
	nearTo   time.Time // until then
	leaderTo time.Time // until then only the leader is read, as a replica has failed
}

// NewReader returns a reader at s.Offset, without contacting brokers.
func (c *Client) NewReader(s ReaderSettings) *Reader {
	if s.MaxBytes <= 0 {
		s.MaxBytes = 1 << 20
	}
	if s.MaxWait <= 0 {
		s.MaxWait = 500 * time.Millisecond
	}
	return &Reader{
		client: c, settings: s, position: s.Offset, maxBytes: s.MaxBytes, near: -1,
		decoder: decoder{topic: s.Topic, partition: s.Partition, maxRecord: s.MaxRecord},
		outage:  c.Outage(nil, fmt.Sprintf("reading %s/%d", s.Topic, s.Partition)),
	}
}

// Position is the offset at which the next Read starts.
func (r *Reader) Position() int64 { return r.position }

// Recycle gives a batch's memory to the next Read. Nothing may reference its records any more, nor a part
// of them.
func (r *Reader) Recycle(b *Batch) {
	if cap(b.buffer) > cap(r.spare) {
		r.spare = b.buffer
	}
	if cap(b.Records) > cap(r.records) {
		clear(b.Records)
		r.records = b.Records[:0]
	}
	b.buffer, b.Records = nil, nil
}

// Read returns the next records. At the end of the log it waits up to MaxWait, then returns an empty batch
// and no error. While brokers are away, a leader moves or they throttle it, it retries until ctx ends, and logs that.
// Other errors are final for this position: *OutOfRange, missing rights, ErrCorrupt, and a topic that is
// missing for half a minute.
func (r *Reader) Read(ctx context.Context) (*Batch, error) {
	var throttled *Throttled
	for {
		b, err := r.read(ctx)
		if err == nil && b.Next >= b.HighWatermark && b.HighWatermark < r.settings.End && len(b.Records) == 0 {
			err = r.outside(ctx, r.settings.End)
		}
		switch {
		case err == nil:
			if r.settings.Uncommitted || !b.undecided() {
				r.outage.Over()
			} else {
				r.outage.note(&Undecided{Topic: r.settings.Topic, Partition: r.settings.Partition, Offset: b.LastStable})
			}
			return b, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(err, &throttled):
			if err := r.client.throttled(ctx, throttled, r.outage, &r.told); err != nil {
				return nil, err
			}
			continue
		case errors.Is(err, kafka.OffsetOutOfRange):
			if err = r.outside(ctx, r.position); !Temporary(err) {
				return nil, err
			}
		case !Temporary(err), IsMissing(err) && r.outage.Lasting() > 30*time.Second:
			return nil, err
		}
		if err := r.outage.Wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

func (r *Reader) read(ctx context.Context) (*Batch, error) {
	s := &r.settings
	if a := r.answer; a != nil {
		records, next := r.decoder.more(r.position, r.records[:0])
		return r.batch(a, records, next), nil
	}
	buffer := r.spare
	r.spare = nil // the exchange owns it until the answer
	now := time.Now()
	if now.After(r.nearTo) {
		r.near = -1
	}
	rack := r.client.rack
	if now.Before(r.leaderTo) {
		rack = ""
	}
	a, err := r.client.fetch(ctx, fetchSettings{
		at: TopicPartition{s.Topic, s.Partition}, position: r.position, maxBytes: r.maxBytes, wait: s.MaxWait,
		committed: !s.Uncommitted, buffer: buffer, rack: rack, replica: r.near,
	})
	throttled := (*Throttled)(nil)
	if err != nil && r.near >= 0 && ctx.Err() == nil && !errors.As(err, &throttled) {
		// Only the leader's refusal counts: another replica may be away, behind, or not one any more.
		r.near, r.leaderTo = -1, now.Add(nearFor)
		return r.read(ctx)
	}
	if err != nil {
		return nil, err
	}
	if to := a.PreferredReadReplica; to >= 0 && rack != "" && to != r.near {
		r.near, r.nearTo, r.spare = to, now.Add(nearFor), a.body
		return r.read(ctx)
	}
	gone := a.AbortedTransactions
	if s.Uncommitted {
		gone = nil // Redpanda lists them all the same
	}
	records, next, err := r.decoder.decode(a.RecordBatches, gone, r.position, r.records[:0])
	if err != nil {
		return nil, err
	}
	if next == r.position && len(a.RecordBatches) > 0 {
		if r.maxBytes >= maxAnswer/2 {
			return nil, fmt.Errorf("%w: %s/%d at %d: a batch larger than %d bytes", ErrCorrupt, s.Topic, s.Partition,
				r.position, r.maxBytes)
		}
		r.maxBytes *= 2 // not even one batch fits
		r.spare = a.body
		return r.read(ctx)
	}
	r.maxBytes = s.MaxBytes
	return r.batch(a, records, next), nil
}

// nearFor is how long a replica is read before the leader is asked again which one is near, and how long only the
// leader is read after a replica has failed.
const nearFor = 5 * time.Minute

// batch moves the position to next and returns the batch of the records before it. While the decoder's batch
// is open, several batches share the answer's buffer, which therefore must not be recycled.
func (r *Reader) batch(a *fetched, records []record.Raw, next int64) *Batch {
	r.position, r.records, r.answer = next, nil, nil
	if r.decoder.open != nil {
		r.answer, a.body = a, nil
	}
	b := &Batch{
		Records: records, Next: next, HighWatermark: a.HighWatermark, LastStable: a.LastStableOffset, buffer: a.body,
	}
	if len(records) == 0 {
		r.Recycle(b)
	}
	return b
}

// outside returns the error for an offset that the leader's answer puts outside the log. Right after a leader
// has moved, the new one may not know yet how far the log is replicated, and reject a valid position near the
// end. That is a temporary error, recognised by asking for the ends of the log.
func (r *Reader) outside(ctx context.Context, offset int64) error {
	s := &r.settings
	first, end, err := r.client.Bounds(ctx, s.Topic, s.Partition, false)
	if err != nil {
		return err
	}
	if offset >= first && offset <= end {
		return &Refused{"read", s.Topic, s.Partition, kafka.OffsetNotAvailable}
	}
	return &OutOfRange{Topic: s.Topic, Partition: s.Partition, Offset: offset, First: first, End: end}
}
