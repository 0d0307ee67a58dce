package producer

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// outbox writes records to their partitions, in order within each, and sends again whatever was not acknowledged.
type outbox struct {
	client      *topic.Client
	log         *slog.Logger
	dead        string // the topic whose records may be cut when they are refused for their size
	transaction string // "": none

	// stamp gives the next batch for a place its identity; it is asked once a batch, however often that is sent.
	stamp func(topic.Place) topic.Stamp
	// sent is told of a batch of n records that is written, and written once.
	sent func(place topic.Place, n int)
	// patient says whether to wait for an error to go away.
	patient func(error) bool
}

// queue is what remains to be written, cut into batches.
type queue map[topic.Place][][]record.Out

// sort spreads records over the partitions.
func (o *outbox) sort(ctx context.Context, records []record.Out) (queue, error) {
	if len(records) == 0 {
		return nil, nil
	}
	outage := topic.NewOutage(o.log, "writing to "+records[0].Topic)
	for {
		q, err := o.client.Spread(ctx, records)
		if err == nil {
			return q, nil
		}
		if !o.patient(err) {
			return nil, err
		}
		if err := outage.Wait(ctx, err); err != nil {
			return nil, err
		}
	}
}

// places are the partitions that q goes to.
func (q queue) places() []topic.Place { return slices.Collect(maps.Keys(q)) }

// send writes q, one batch a partition at a time, and returns when all of it is acknowledged, an error is not one to wait
// for, or ctx ends.
func (o *outbox) send(ctx context.Context, q queue) error {
	encoded := map[topic.Place]*topic.EncodedBatch{}
	var outage *topic.Outage
	for len(q) > 0 {
		batches := make([]*topic.EncodedBatch, 0, len(q))
		for place, pieces := range q {
			if encoded[place] == nil {
				encoded[place] = topic.Encode(place, pieces[0], o.stamp(place))
			}
			batches = append(batches, encoded[place])
		}
		o.client.Send(ctx, o.transaction, batches)
		var failed error
		for _, b := range batches {
			switch {
			case b.Err == nil, errors.Is(b.Err, kafka.DuplicateSequenceNumber): // the acknowledgement of an earlier sending was lost
				o.sent(b.Place, len(q[b.Place][0]))
				delete(encoded, b.Place)
				if q[b.Place] = q[b.Place][1:]; len(q[b.Place]) == 0 {
					delete(q, b.Place)
				}
			case errors.Is(b.Err, kafka.MessageSizeTooLarge):
				smaller, ok := o.smaller(q[b.Place])
				if !ok && !o.patient(b.Err) {
					return b.Err
				}
				if ok {
					q[b.Place] = smaller
					delete(encoded, b.Place)
				} else {
					failed = b.Err
				}
			case !o.patient(b.Err):
				return b.Err
			default:
				failed = b.Err
			}
		}
		if failed == nil {
			if outage != nil {
				outage.Over()
			}
			continue
		}
		if outage == nil {
			outage = topic.NewOutage(o.log, "writing to "+batches[0].Topic)
		}
		if err := outage.Wait(ctx, failed); err != nil {
			return err
		}
	}
	return nil
}

// smaller takes a batch that was refused for its size apart; a single dead letter is cut to half. It tells whether there
// was anything to make smaller.
func (o *outbox) smaller(pieces [][]record.Out) ([][]record.Out, bool) {
	first := pieces[0]
	if n := len(first) / 2; n > 0 {
		return append([][]record.Out{first[:n], first[n:]}, pieces[1:]...), true
	}
	cut, ok := Cut(first[0], o.dead)
	if !ok {
		return pieces, false
	}
	return append([][]record.Out{{cut}}, pieces[1:]...), true
}

// Cut halves the value of a dead letter that the broker has refused for its size, and says so in a header. Any other
// record, and one with nothing left to cut, stays as it is.
func Cut(letter record.Out, dead string) (record.Out, bool) {
	if letter.Topic != dead || len(letter.Value) == 0 {
		return letter, false
	}
	letter.Value = letter.Value[:len(letter.Value)/2]
	for _, h := range letter.Headers {
		if h.Key == record.TruncatedHeader {
			return letter, true
		}
	}
	letter.Headers = append(letter.Headers[:len(letter.Headers):len(letter.Headers)], record.Header{Key: record.TruncatedHeader, Value: []byte("true")})
	return letter, true
}
