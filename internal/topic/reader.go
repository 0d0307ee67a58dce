package topic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
)

// ReaderSettings says what a Reader reads.
type ReaderSettings struct {
	Topic     string
	Partition int32
	Offset    int64 // where to start; see Client.Offset for the ends of the log
	// Uncommitted also delivers records of transactions that are still open or were given up. Without it a
	// reader never passes the last stable offset.
	Uncommitted bool
	MaxBytes    int // of one fetch; default 1 MiB
	// bytes of a compressed record that are inflated; a larger one is Rejected; default 16 MiB
	MaxRecord int
	MaxWait   time.Duration // how long Read waits for a record at the end of the log; default 500 ms
}

// Batch is what one Read got.
type Batch struct {
	// Records in order. Their keys, values and headers' values are parts of one buffer, which lives as long as
	// any of them is referenced: copy what is kept for long.
	Records []record.Raw
	// Next is where the reader stands now. It moves over gaps (compaction, transactions' markers and what they
	// gave up), so that a bounded read ends when Next reaches its end, whether a record was there or not.
	Next int64
	// HighWatermark is the end of what is replicated, LastStable the end of what is decided, LogStart the oldest
	// offset kept. -1 where the broker did not say.
	HighWatermark, LastStable, LogStart int64

	buffer []byte
}

// Undecided says whether a transaction that has not ended is what comes next.
func (b *Batch) Undecided() bool { return b.Next == b.LastStable && b.LastStable < b.HighWatermark }

// Reader reads one partition in order. One goroutine uses it.
type Reader struct {
	client   *Client
	settings ReaderSettings
	decoder  decoder
	position int64
	maxBytes int
	outage   *Outage
	spare    []byte
	records  []record.Raw
	answer   *fetchAnswer // of which the decoder holds a part that is not decoded yet; nil: none
}

// NewReader returns a reader that stands at s.Offset; nothing is asked of the brokers yet.
func (c *Client) NewReader(s ReaderSettings) *Reader {
	if s.MaxBytes <= 0 {
		s.MaxBytes = 1 << 20
	}
	if s.MaxWait <= 0 {
		s.MaxWait = 500 * time.Millisecond
	}
	return &Reader{
		client: c, settings: s, position: s.Offset, maxBytes: s.MaxBytes,
		decoder: decoder{topic: s.Topic, partition: s.Partition, maxRecord: s.MaxRecord},
		outage:  c.Outage(nil, fmt.Sprintf("reading %s/%d", s.Topic, s.Partition)),
	}
}

// Position is the offset of the next record wanted.
func (r *Reader) Position() int64 { return r.position }

// Recycle hands a batch back whose records are no longer referenced by anything, not even a part of one, so
// that its memory serves the next Read.
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

// Read gets the next records. At the end of the log it waits, MaxWait at most, and then returns an empty
// batch and no error. While brokers are away or a leader moves it waits for as long as ctx lasts, and says so
// once. Other errors are final for this position: *OutOfRange, missing rights, ErrCorrupt, and a topic that
// is unknown for half a minute.
func (r *Reader) Read(ctx context.Context) (*Batch, error) {
	for {
		b, err := r.read(ctx)
		switch {
		case err == nil:
			r.outage.Over()
			if !r.settings.Uncommitted && b.Undecided() { // for whoever asks why nothing gets on
				r.outage.Note(&Undecided{Topic: r.settings.Topic, Partition: r.settings.Partition, Offset: b.LastStable})
			}
			return b, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, kafka.OffsetOutOfRange):
			if err = r.outOfRange(ctx); !Temporary(err) {
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
	if r.decoder.pending() {
		if b, err := r.decoded(r.answer); err != nil || b.Next > r.position {
			return r.moved(b), err
		}
	}
	request := &fetchRequest{
		ctx: ctx, clientID: r.client.clientID, topic: s.Topic, partition: s.Partition, position: r.position,
		maxBytes: int32(r.maxBytes), wait: s.MaxWait, committed: !s.Uncommitted, buffer: r.spare,
	}
	r.spare = nil // the exchange owns it until it is answered
	message, err := r.client.transport.RoundTrip(ctx, r.client.kafka.Addr, request)
	if err != nil {
		return nil, fmt.Errorf("read %s/%d at %d: %w", s.Topic, s.Partition, r.position, err)
	}
	a := message.(*fetchAnswer)
	if a.code != 0 {
		r.spare = a.body
		return nil, &Refused{"read", s.Topic, s.Partition, a.code}
	}
	r.decoder.load(a.batches, a.gone)
	b, err := r.decoded(a)
	if err != nil {
		return nil, err
	}
	if b.Next == r.position && len(a.batches) > 0 {
		if r.maxBytes >= maxAnswer/2 {
			return nil, fmt.Errorf("%w: %s/%d at %d: a batch larger than %d bytes", ErrCorrupt, s.Topic, s.Partition,
				r.position, r.maxBytes)
		}
		r.maxBytes *= 2 // not one whole batch fits
		r.spare = a.body
		return r.read(ctx)
	}
	r.maxBytes = s.MaxBytes
	return r.moved(b), nil
}

// decoded is what the next call of the decoder makes of an answer. Where something is left of it, records of
// several batches are parts of its memory, which therefore serves nothing else.
func (r *Reader) decoded(a *fetchAnswer) (*Batch, error) {
	records, next, err := r.decoder.next(r.position, r.records[:0])
	r.records = nil
	if err != nil {
		return nil, err
	}
	r.answer = nil
	if r.decoder.pending() {
		r.answer, a.body = a, nil
	}
	return &Batch{
		Records: records, Next: next, HighWatermark: a.highWatermark, LastStable: a.lastStable,
		LogStart: a.logStart, buffer: a.body,
	}, nil
}

// moved is b, after which the reader stands; nil where there is none.
func (r *Reader) moved(b *Batch) *Batch {
	if b == nil {
		return nil
	}
	r.position = b.Next
	if len(b.Records) == 0 {
		r.Recycle(b)
	}
	return b
}

// outOfRange finds out what the log holds. A position at or past the end right after a leader moved may be
// the new leader's delay in learning how far the log is replicated; that is no fault, and told apart by
// asking.
func (r *Reader) outOfRange(ctx context.Context) error {
	s := &r.settings
	first, err := r.client.Offset(ctx, s.Topic, s.Partition, Earliest, false)
	if err != nil {
		return err
	}
	end, err := r.client.Offset(ctx, s.Topic, s.Partition, Latest, false)
	if err != nil {
		return err
	}
	if r.position >= first && r.position <= end {
		return &Refused{"read", s.Topic, s.Partition, kafka.OffsetNotAvailable}
	}
	return &OutOfRange{Topic: s.Topic, Partition: s.Partition, Offset: r.position, First: first, End: end}
}
