package topic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
)

// Sender writes records to their partitions, in order within each, and resends what was not acknowledged.
// A record that brokers reject for good is replaced by its Fallback's record. It is not safe for
// concurrent use.
type Sender struct {
	Client      *Client
	Log         *slog.Logger // nil: the client's
	Transaction string       // the transactional id; "": none
	// Origin is the partition for records without a key, modulo the number of partitions. Set it to the input
	// partition of the records' sources, to keep the order of its streams and still spread the load.
	Origin int32
	// Compression returns the codec of a topic. nil: no compression.
	Compression func(topic string) Compression
	// Stamp returns the identity for the next batch of a partition. It is called once for each batch, however
	// often the batch is sent. nil: no identity.
	Stamp func(TopicPartition) Stamp
	// Sent is called once for each written batch of n records. base is the offset of its first record, -1 if the
	// broker did not report it. nil: not called.
	Sent func(tp TopicPartition, n int, base int64)
	// Enlist is called with the partitions before records are written to them. nil: not called.
	Enlist func(context.Context, []TopicPartition) error
	// Patient says whether to retry after an error, given how long the outage has lasted. nil: retry if
	// Temporary, for missing topics up to half a minute.
	Patient func(err error, lasting time.Duration) bool

	replaced int       // records since the last log message
	told     time.Time // time of that message
	waited   time.Time // when a wait for the brokers' quota was last logged
}

// Queue holds the records that remain to be written, cut into batches, by partition.
type Queue map[TopicPartition][]*queuedBatch

// queuedBatch is the records of one batch, and how far it is.
type queuedBatch struct {
	records []record.Out
	batch   *EncodedBatch // nil: not encoded yet
	broken  int           // connections that broke while it was sent
	fitting int           // rejections for its size although it is within the topic's limit
	again   bool          // send it again, whatever the error
	retimed int           // refusals for the records' times
	stale   bool          // the batch must be encoded again
}

// partitions returns the partitions that q has records for.
func (q Queue) partitions() []TopicPartition { return slices.Collect(maps.Keys(q)) }

// Write calls Queue and Send.
func (s *Sender) Write(ctx context.Context, records []record.Out) error {
	q, err := s.Queue(ctx, records)
	if err != nil {
		return err
	}
	return s.Send(ctx, q)
}

// Queue distributes records over the partitions, and enlists these. It retries while Patient allows it.
func (s *Sender) Queue(ctx context.Context, records []record.Out) (Queue, error) {
	if len(records) == 0 {
		return nil, nil
	}
	outage := s.outage(records[0].Topic)
	again := func(err error) bool { return s.patient(err, outage.Lasting()) }
	var q Queue
	err := outage.Retry(ctx, again, func() (err error) {
		q, err = s.Client.Spread(ctx, records, s.Origin)
		return err
	})
	if err == nil && s.Enlist != nil {
		err = s.Enlist(ctx, q.partitions())
	}
	return q, err
}

// Send writes q, one batch a partition at a time. It returns when all of q is acknowledged, or with an error
// that Patient does not wait for, or when ctx ends; after an error some of q may have been written.
func (s *Sender) Send(ctx context.Context, q Queue) error {
	var outage *Outage
	for len(q) > 0 {
		batches, err := s.next(ctx, q)
		if err != nil {
			return err
		}
		throttled, err := s.waitForQuota(ctx, batches)
		if err != nil {
			return err
		}
		s.Client.Send(ctx, s.Transaction, batches)
		throttled.Over()
		var failed error
		for _, b := range batches {
			p := q[b.TopicPartition][0]
			err := s.outcome(ctx, q, p)
			if err != nil && !p.again && !s.patient(err, outage.Lasting()) {
				return err
			}
			if err != nil {
				failed = err
			}
			if err == nil && b.Err == nil {
				batchMemory.Put(&b.Data)
			}
		}
		if failed == nil {
			outage.Over()
			continue
		}
		if outage == nil {
			outage = s.outage(batches[0].Topic)
		}
		if err := outage.Wait(ctx, failed); err != nil {
			return err
		}
	}
	return nil
}

// outcome handles the result of a sent batch: it removes the batch from q, or replaces it there, or returns
// its error.
func (s *Sender) outcome(ctx context.Context, q Queue, p *queuedBatch) error {
	b := p.batch
	p.again = false
	// DuplicateSequenceNumber: the batch was written before, and the acknowledgement was lost.
	if b.Err == nil || errors.Is(b.Err, kafka.DuplicateSequenceNumber) {
		if s.Sent != nil {
			base := b.Base
			if b.Err != nil {
				base = -1
			}
			s.Sent(b.TopicPartition, len(p.records), base)
		}
		q.pop(b.TopicPartition)
		return nil
	}
	if p.tooMuch() {
		b.Err = &Refused{"write", b.Topic, b.Partition, kafka.MessageSizeTooLarge}
	}
	if errors.Is(b.Err, kafka.InvalidTimestamp) {
		s.retime(ctx, p)
	}
	if CauseOf(b.Err) == Rejected {
		if replaced, err := s.replace(ctx, q, p); replaced || err != nil {
			return err
		}
	}
	return b.Err
}

// next returns the first batch of each partition. A batch that is too large for a request, or for the known
// limit of its topic, is replaced before it is sent.
func (s *Sender) next(ctx context.Context, q Queue) ([]*EncodedBatch, error) {
	batches := make([]*EncodedBatch, 0, len(q))
	for _, tp := range q.partitions() {
		// q[tp] may become empty. Records that move to another topic are sent in the next round.
		for len(q[tp]) > 0 && (q[tp][0].batch == nil || q[tp][0].stale) {
			p := q[tp][0]
			b := s.encode(tp, p.records)
			p.batch, p.stale = b, false
			if b.Data == nil || s.tooLarge(ctx, b, p.records) {
				b.Err = &Refused{"write", tp.Topic, tp.Partition, kafka.MessageSizeTooLarge}
				replaced, err := s.replace(ctx, q, p)
				if err != nil {
					return nil, err
				}
				if replaced {
					continue
				}
				if b.Data == nil {
					return nil, b.Err
				}
			}
		}
		if len(q[tp]) > 0 {
			batches = append(batches, q[tp][0].batch)
		}
	}
	return batches, nil
}

// encode returns the batch of records, without Data if it is too large for a request.
func (s *Sender) encode(tp TopicPartition, records []record.Out) *EncodedBatch {
	if len(records) == 1 && sizeAtMost(&records[0]) > requestLimit {
		return &EncodedBatch{TopicPartition: tp}
	}
	stamp := Anonymous
	if s.Stamp != nil {
		stamp = s.Stamp(tp)
	}
	how := Compression("")
	if s.Compression != nil {
		how = s.Compression(tp.Topic)
	}
	return encode(tp, records, stamp, how, s.Client.clock.now())
}

// tooLarge says whether a large record with a fallback exceeds the known limit of its topic. Sending it
// anyway would cost the brokers as much as accepting it.
func (s *Sender) tooLarge(ctx context.Context, b *EncodedBatch, records []record.Out) bool {
	size := len(b.Data) - 4 - BatchHead
	if len(records) != 1 || records[0].Fallback == nil || size <= BatchLimit {
		return false
	}
	limit := s.Client.messageLimit(ctx, b.Topic, time.Minute)
	return limit >= leastLimit && size > limit
}

// retime has a batch that was refused for the times of its records encoded anew, with the time at which it is sent
// again. The times say nothing that the records do not hold themselves, so no record is rejected for them.
func (s *Sender) retime(ctx context.Context, p *queuedBatch) {
	s.Client.readClock(ctx, p.batch.Topic, p.batch.reason)
	p.records = slices.Clone(p.records) // of the caller
	for i := range p.records {
		p.records[i].Time = time.Time{}
	}
	p.retimed++
	p.again = p.retimed <= retimedTries
	p.stale = true
}

// retimedTries is how often a batch is sent again at once with new times; then it waits as in an outage.
const retimedTries = 2

// brokenTries is how often the connection may break on a large batch before the batch counts as rejected: a
// broker closes the connection without an error if a request exceeds socket.request.max.bytes.
const brokenTries = 4

// tooMuch says whether the batch is likely to be larger than a broker accepts as a request, after brokenTries
// broken connections.
func (p *queuedBatch) tooMuch() bool {
	if len(p.batch.Data) <= BatchLimit || !brokenConnection(p.batch.Err) {
		return false
	}
	p.broken++
	return p.broken >= brokenTries
}

// fittingTries is how often a record that is within its topic's limit is sent again after a rejection for its
// size, before it is made smaller: the limit may have been raised since the rejection.
const fittingTries = 4

// leastLimit is the size that any record needs. A topic with a lower limit is taken as closed for a while:
// the sender waits, and does not make records smaller.
const leastLimit = 256

// replace handles p, the first batch of its partition, after a permanent rejection. A batch of several
// records is halved, to find the rejected one. A single record is replaced by its Fallback's record. False:
// there is no replacement.
func (s *Sender) replace(ctx context.Context, q Queue, p *queuedBatch) (bool, error) {
	b := p.batch
	if n := len(p.records) / 2; n > 0 {
		halves := []*queuedBatch{{records: p.records[:n]}, {records: p.records[n:]}}
		q[b.TopicPartition] = append(halves, q[b.TopicPartition][1:]...)
		return true, nil
	}
	rejected := p.records[0]
	if rejected.Fallback == nil {
		if forSize(b.Err) {
			s.Client.refuse(b.Topic, sizeAtMost(&rejected))
		}
		return false, nil
	}
	limit := record.NotForSize
	if forSize(b.Err) {
		size := sizeAtMost(&rejected)
		limit = s.Client.messageLimit(ctx, b.Topic, time.Minute)
		if limit >= size || limit > 0 && limit < leastLimit { // the limit may have changed
			limit = s.Client.messageLimit(ctx, b.Topic, 0)
		}
		switch {
		case limit >= size && size <= requestLimit && p.broken == 0 && p.fitting < fittingTries:
			p.fitting++
			p.again = true
			return false, nil
		case limit >= size:
			limit = size / 2 // another limit than the topic's is in the way
		case limit > 0 && limit < leastLimit:
			return false, nil
		}
	}
	instead, ok := rejected.Fallback.Instead(rejected, b.Err, limit)
	if !ok {
		return false, nil
	}
	s.tell(&rejected, &instead, b.Err)
	if instead.Topic == b.Topic {
		instead.Partition = b.Partition // a shortened key must not move it to another partition
		q[b.TopicPartition][0] = &queuedBatch{records: []record.Out{instead}}
		return true, nil
	}
	moved, err := s.Queue(ctx, []record.Out{instead})
	if err != nil {
		return false, err
	}
	q.pop(b.TopicPartition)
	for tp, batches := range moved {
		q[tp] = append(q[tp], batches...)
	}
	return true, nil
}

// tell logs replaced records, at most once a minute.
func (s *Sender) tell(rejected, instead *record.Out, why error) {
	s.replaced++
	if time.Since(s.told) < time.Minute {
		return
	}
	s.log().Warn("a record was rejected for good; something smaller, or a dead letter, is written instead",
		"topic", rejected.Topic, "key", fmt.Sprintf("%.64q", rejected.Key), "bytes", len(rejected.Value), "instead",
		instead.Topic, "records", s.replaced, "error", why)
	s.replaced, s.told = 0, time.Now()
}

func (q Queue) pop(tp TopicPartition) {
	if q[tp] = q[tp][1:]; len(q[tp]) == 0 {
		delete(q, tp)
	}
}

func (s *Sender) log() *slog.Logger {
	if s.Log != nil {
		return s.Log
	}
	return s.Client.log
}

func (s *Sender) outage(name string) *Outage { return s.Client.Outage(s.log(), "writing to "+name) }

func (s *Sender) patient(err error, lasting time.Duration) bool {
	if s.Patient != nil {
		return s.Patient(err, lasting)
	}
	return Temporary(err) && !(IsMissing(err) && lasting > 30*time.Second)
}
