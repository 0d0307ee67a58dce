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

// Sender writes records to their partitions, in order within each, and sends again whatever was not
// acknowledged. A record that brokers reject for good is replaced by what its Fallback says. One goroutine
// uses it.
type Sender struct {
	Client      *Client
	Log         *slog.Logger // nil: the client's
	Transaction string       // the transactional id; "": none
	// Origin is the partition that records without a key go to, modulo how many there are. Who gives the input
	// partition that the records answer keeps the order of its streams and still spreads the load.
	Origin int32
	// Compression says how the records of a topic are compressed. nil: not at all.
	Compression func(topic string) Compression
	// Stamp gives the next batch for a partition its identity; it is asked once a batch, however often that is
	// sent. nil: none.
	Stamp func(TopicPartition) Stamp
	// Sent is told of a batch of n records that is written, and written once, and of the offset of its first
	// record, -1 where the broker did not say. nil: nobody is.
	Sent func(tp TopicPartition, n int, base int64)
	// Enlist is called with partitions before anything is written to them for the first time. nil: nobody is.
	Enlist func(context.Context, []TopicPartition) error
	// Patient says whether to wait for an error to go away that has lasted so long. nil: Temporary, and for
	// topics that nobody knows half a minute.
	Patient func(err error, lasting time.Duration) bool

	replaced int       // records since the log was told
	told     time.Time // when it was
}

// Queue is what remains to be written, cut into batches.
type Queue map[TopicPartition][][]record.Out

// Partitions are those that q goes to.
func (q Queue) Partitions() []TopicPartition { return slices.Collect(maps.Keys(q)) }

// Write is Queue and Send.
func (s *Sender) Write(ctx context.Context, records []record.Out) error {
	q, err := s.Queue(ctx, records)
	if err != nil {
		return err
	}
	return s.Send(ctx, q)
}

// Queue spreads records over the partitions, and enlists these.
func (s *Sender) Queue(ctx context.Context, records []record.Out) (Queue, error) {
	if len(records) == 0 {
		return nil, nil
	}
	outage := s.outage(records[0].Topic)
	for {
		q, err := s.Client.Spread(ctx, records, s.Origin)
		if err == nil {
			if s.Enlist != nil {
				err = s.Enlist(ctx, q.Partitions())
			}
			return q, err
		}
		if err := s.pause(ctx, outage, err); err != nil {
			return nil, err
		}
	}
}

// Send writes q, one batch a partition at a time, and returns when all of it is acknowledged, an error is not
// one to wait for, or ctx ends. Some of q may have been written then.
func (s *Sender) Send(ctx context.Context, q Queue) error {
	encoded := map[TopicPartition]*EncodedBatch{}
	var outage *Outage
	for len(q) > 0 {
		batches, err := s.next(ctx, q, encoded)
		if err != nil {
			return err
		}
		s.Client.Send(ctx, s.Transaction, batches)
		var failed error
		for _, b := range batches {
			err := s.outcome(ctx, q, b)
			if err != nil && !b.again && !s.patient(err, outage.Lasting()) {
				return err
			}
			if err != nil {
				failed = err
			}
			if err == nil {
				delete(encoded, b.TopicPartition) // written, or replaced
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

// outcome takes in what became of a batch that was sent: it leaves q, or is replaced in it, or its error is
// returned.
func (s *Sender) outcome(ctx context.Context, q Queue, b *EncodedBatch) error {
	b.again = false
	// the acknowledgement of an earlier sending was lost
	if b.Err == nil || errors.Is(b.Err, kafka.DuplicateSequenceNumber) {
		if s.Sent != nil {
			base := b.Base
			if b.Err != nil {
				base = -1
			}
			s.Sent(b.TopicPartition, len(q[b.TopicPartition][0]), base)
		}
		q.pop(b.TopicPartition)
		return nil
	}
	if s.tooMuch(b) {
		b.Err = &Refused{"write", b.Topic, b.Partition, kafka.MessageSizeTooLarge}
	}
	if CauseOf(b.Err) == Rejected {
		if replaced, err := s.replace(ctx, q, b); replaced || err != nil {
			return err
		}
	}
	return b.Err
}

// next are the batches that are first of their partitions. One that no request can hold, or that its topic is
// known not to take, is replaced before it is sent.
func (s *Sender) next(ctx context.Context, q Queue,
	encoded map[TopicPartition]*EncodedBatch,
) ([]*EncodedBatch, error) {
	batches := make([]*EncodedBatch, 0, len(q))
	for _, tp := range q.Partitions() {
		// It may become empty: what has moved to another topic comes with the next round.
		for encoded[tp] == nil && len(q[tp]) > 0 {
			b := s.encode(tp, q[tp][0])
			if b.Data == nil || s.tooLarge(ctx, b, q[tp][0]) {
				b.Err = &Refused{"write", tp.Topic, tp.Partition, kafka.MessageSizeTooLarge}
				replaced, err := s.replace(ctx, q, b)
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
			encoded[tp] = b
		}
		if encoded[tp] != nil {
			batches = append(batches, encoded[tp])
		}
	}
	return batches, nil
}

// encode is the batch of records, without data where no request can hold it.
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
	return Encode(tp, records, stamp, how)
}

// tooLarge says whether a large record that has a fallback is known to be more than its topic takes: to send
// megabytes to be told that costs the brokers as much as to take them.
func (s *Sender) tooLarge(ctx context.Context, b *EncodedBatch, records []record.Out) bool {
	size := len(b.Data) - 4 - batchHead
	if len(records) != 1 || records[0].Fallback == nil || size <= BatchLimit {
		return false
	}
	limit := s.Client.messageLimit(ctx, b.Topic, time.Minute)
	return limit >= leastLimit && size > limit
}

// brokenTries is how often a connection may break on a batch of one large record before the record counts as
// rejected: a broker says of a request beyond its socket's limit only that.
const brokenTries = 4

// tooMuch says whether a batch breaks every connection it is sent over because it is larger than a broker's
// socket takes.
func (s *Sender) tooMuch(b *EncodedBatch) bool {
	if len(b.Data) <= BatchLimit || !brokenConnection(b.Err) {
		return false
	}
	b.broken++
	return b.broken >= brokenTries
}

// fittingTries is how often a record is rejected for its size, although its topic says that it takes that
// much, before it is made smaller: the limit may have been raised since the rejection.
const fittingTries = 4

// leastLimit is what any record needs. A topic that takes less is to take nothing for a while: it is waited
// for, and no record gives anything up for it.
const leastLimit = 256

// replace deals with the first batch of b's partition, which is rejected for good. One of many records is
// taken apart, to find out which it is; a single one gives way to what its Fallback says. False: there is
// nothing to write instead.
func (s *Sender) replace(ctx context.Context, q Queue, b *EncodedBatch) (bool, error) {
	first := q[b.TopicPartition][0]
	if n := len(first) / 2; n > 0 {
		q[b.TopicPartition] = append([][]record.Out{first[:n], first[n:]}, q[b.TopicPartition][1:]...)
		return true, nil
	}
	rejected := first[0]
	if errors.Is(b.Err, kafka.InvalidTimestamp) && !rejected.Time.IsZero() {
		rejected.Time = time.Time{} // now, which every topic takes
		q[b.TopicPartition][0] = []record.Out{rejected}
		return true, nil
	}
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
		if limit >= size || limit > 0 && limit < leastLimit { // it may have been changed
			limit = s.Client.messageLimit(ctx, b.Topic, 0)
		}
		switch {
		case limit >= size && size <= requestLimit && b.broken == 0 && b.fitting < fittingTries:
			b.fitting++
			b.again = true
			return false, nil
		case limit >= size:
			limit = size / 2 // it is not the topic's limit that it meets
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
		instead.Partition = b.Partition // a key that was cut must not move it
		q[b.TopicPartition][0] = []record.Out{instead}
		return true, nil
	}
	moved, err := s.Queue(ctx, []record.Out{instead})
	if err != nil {
		return false, err
	}
	q.pop(b.TopicPartition)
	for tp, pieces := range moved {
		q[tp] = append(q[tp], pieces...)
	}
	return true, nil
}

// tell writes a warning for the first record that was replaced, and then at most one a minute.
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

// pause waits before the next try, or returns err if it is not one to wait for.
func (s *Sender) pause(ctx context.Context, outage *Outage, err error) error {
	if !s.patient(err, outage.Lasting()) {
		return err
	}
	return outage.Wait(ctx, err)
}
