package producer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/segmentio/kafka-go"

	"slkstream/internal/record"
	"slkstream/internal/topic"
)

// AtLeastOnce promises that every answer is in the output, and that whatever is there twice is there with the same id.
// A commit is written in the order records, state, offset, each acknowledged by all replicas in sync before the next
// begins: wherever it is cut short, what was not written is answered again.
type AtLeastOnce struct {
	Client *topic.Client
	Dead   string // the topic whose records may be cut when they are refused for size; see Options of the pipeline
	Log    *slog.Logger
}

// Claim implements Delivery. There is nobody to fence but by the group: an earlier owner's offsets are refused by its
// generation, and its state stands under its own keys.
func (d *AtLeastOnce) Claim(ctx context.Context, c Claim) (Committer, int64, error) {
	offset, err := d.Client.Committed(ctx, c.Group, c.Topic, c.Partition)
	if err != nil {
		return nil, 0, err
	}
	return &atLeastOnce{AtLeastOnce: d, claim: c}, offset, nil
}

type atLeastOnce struct {
	*AtLeastOnce
	claim Claim
}

func (a *atLeastOnce) Commit(ctx context.Context, c *Commit) error {
	if err := a.write(ctx, c.Records); err != nil {
		return err
	}
	if err := a.write(ctx, c.State); err != nil {
		return err
	}
	if c.Offset < 0 {
		return nil
	}
	return a.offset(ctx, c.Offset)
}

func (a *atLeastOnce) Close(context.Context) error { return nil }

// offset commits within the generation, so that the group refuses it once the partition is another member's.
func (a *atLeastOnce) offset(ctx context.Context, offset int64) error {
	outage := topic.NewOutage(a.Log, fmt.Sprintf("committing the offset of %s/%d", a.claim.Topic, a.claim.Partition))
	for {
		done := make(chan error, 1) // kafka-go gives up after its timeout, but does not know ctx
		go func() {
			done <- a.claim.Generation.CommitOffsets(map[string]map[int]int64{a.claim.Topic: {int(a.claim.Partition): offset}})
		}()
		var err error
		select {
		case err = <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err == nil {
			outage.Over()
			return nil
		}
		if errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.RebalanceInProgress) {
			return fmt.Errorf("commit offset %d of %s/%d: %w: %w", offset, a.claim.Topic, a.claim.Partition, ErrFenced, err)
		}
		if err := outage.Wait(ctx, err); err != nil {
			return err
		}
	}
}

// write writes records for as long as ctx lasts, whatever is in the way: a topic that refuses them today may take them
// tomorrow, and what is not written may not be passed over. Only what was not acknowledged is sent again.
func (a *atLeastOnce) write(ctx context.Context, records []record.Out) error {
	if len(records) == 0 {
		return nil
	}
	outage := topic.NewOutage(a.Log, "writing to "+records[0].Topic)
	var queues map[topic.Place][][]record.Out
	for {
		var err error
		if queues, err = a.Client.Spread(ctx, records); err == nil {
			break
		}
		if err := outage.Wait(ctx, err); err != nil {
			return err
		}
	}
	encoded := map[topic.Place]*topic.EncodedBatch{}
	for len(queues) > 0 {
		batches := make([]*topic.EncodedBatch, 0, len(queues))
		for place, pieces := range queues {
			if encoded[place] == nil {
				encoded[place] = topic.Encode(place, pieces[0], topic.Anonymous)
			}
			batches = append(batches, encoded[place])
		}
		a.Client.Send(ctx, "", batches)
		var failed error
		for _, b := range batches {
			switch {
			case b.Err == nil:
				delete(encoded, b.Place)
				if queues[b.Place] = queues[b.Place][1:]; len(queues[b.Place]) == 0 {
					delete(queues, b.Place)
				}
			case errors.Is(b.Err, kafka.MessageSizeTooLarge):
				delete(encoded, b.Place)
				var smaller bool
				if queues[b.Place], smaller = a.smaller(queues[b.Place]); !smaller {
					failed = b.Err
				}
			default:
				failed = b.Err
			}
		}
		if failed == nil {
			outage.Over()
		} else if err := outage.Wait(ctx, failed); err != nil {
			return err
		}
	}
	return nil
}

// smaller takes a batch that was refused for its size apart; a single dead letter is cut to half. It tells whether there
// was anything to make smaller.
func (a *atLeastOnce) smaller(pieces [][]record.Out) ([][]record.Out, bool) {
	first := pieces[0]
	if n := len(first) / 2; n > 0 {
		return append([][]record.Out{first[:n], first[n:]}, pieces[1:]...), true
	}
	cut, ok := Cut(first[0], a.Dead)
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
