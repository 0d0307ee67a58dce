package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// queryEnds queries the ends of the partitions, so that lag is known even of those that cannot be read, and
// whether the input topics were created again.
func (s *Stage) queryEnds(ctx context.Context) {
	partitions := s.progress.assigned()
	if len(partitions) == 0 {
		return
	}
	begin := time.Now()
	limited, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	stable, err := s.client.Ends(limited, partitions, s.options.Committed)
	ends := stable
	if err == nil && s.options.Committed {
		ends, err = s.client.Ends(limited, partitions, false)
	}
	if ctx.Err() != nil {
		return
	}
	s.contact.asked(err, begin)
	if err != nil {
		return
	}
	s.checkStateTopic(limited)
	ids := map[string]topic.ID{}
	now := time.Now()
	for _, tp := range partitions {
		id, asked := ids[tp.Topic]
		if !asked {
			id, _ = s.client.ID(limited, tp.Topic) // a missing topic has the zero ID and is waited for
			ids[tp.Topic] = id
		}
		end, known := ends[tp]
		decided, also := stable[tp]
		s.progress.of(tp, func(a *advance) {
			if id != (topic.ID{}) && a.input != (topic.ID{}) && id != a.input {
				select {
				case a.anew <- struct{}{}:
				default:
				}
			}
			if known && also {
				a.ends(decided, max(end-decided, 0), now)
			}
		})
	}
}

// checkStateTopic creates the state topic again if it was deleted. If its ID has changed, partitions save
// all streams again.
func (s *Stage) checkStateTopic(ctx context.Context) {
	id, err := s.client.ID(ctx, s.options.State)
	if topic.IsMissing(err) {
		s.log.Error("the state topic was deleted: it is made again, and streams are saved again",
			"topic", s.options.State)
		var partitions int
		if partitions, err = s.awaitAny(ctx); err == nil {
			err = s.client.Create(ctx, topic.Description{
				Name: s.options.State, Partitions: partitions, Settings: topic.StateSettings(),
			})
		}
		if err != nil {
			s.log.Warn("the state topic could not be made", "topic", s.options.State, "error", err)
			return
		}
		id, err = s.client.ID(ctx, s.options.State)
	}
	if err != nil {
		return
	}
	if s.stateID != (topic.ID{}) && s.stateID != id {
		s.statesMade.Add(1)
	}
	s.stateID = id
}

// behindTransaction is a partition whose records wait for the end of a transaction.
type behindTransaction struct {
	topic.TopicPartition
	lasting time.Duration
	offset  int64 // the transaction's first
	records int64 // from there on
	by      opener
}

// opener is the producer of a transaction that begins at an offset.
type opener struct {
	offset, producer int64
	known            bool
}

// behindTransactions lists the partitions whose records have waited for longer than limit.
func (p *progress) behindTransactions(now time.Time, limit time.Duration) []behindTransaction {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var list []behindTransaction
	for tp, a := range p.partitions {
		if lasting := now.Sub(a.stableAt); a.waiting > 0 && lasting >= limit {
			b := behindTransaction{TopicPartition: tp, lasting: lasting, offset: a.end - a.waiting, records: a.waiting}
			if a.opener.offset == b.offset {
				b.by = a.opener
			}
			list = append(list, b)
		}
	}
	return list
}

// openTransactions lists inputs whose records wait for the end of a transaction.
func (s *Stage) openTransactions(now time.Time) []Trouble {
	var list []Trouble
	for _, b := range s.progress.behindTransactions(now, s.options.StallAfter) {
		by := ""
		if b.by.known {
			by = fmt.Sprintf(", producer id %d", b.by.producer)
		}
		list = append(list, Trouble{
			Of: ofTransaction,
			What: fmt.Sprintf("%d records of %s/%d have waited for %v behind a transaction that has not ended",
				b.records, b.Topic, b.Partition, b.lasting.Round(time.Second)),
			Cause: fmt.Sprintf("the transaction begins at offset %d%s", b.offset, by),
			Do: fmt.Sprintf("end or restart its sender, or end it with kafka-transactions.sh abort "+
				"--topic %s --partition %d --start-offset %d; it goes on by itself", b.Topic, b.Partition, b.offset),
		})
	}
	return list
}

// askProducers finds the producers of the transactions that records wait for.
func (s *Stage) askProducers(ctx context.Context, now time.Time) {
	limited, cancel := context.WithTimeout(ctx, 2*time.Second) // for all of them: survey waits for this call
	defer cancel()
	for _, b := range s.progress.behindTransactions(now, s.options.StallAfter) {
		if limited.Err() != nil {
			return // the next call asks for the rest
		}
		if b.by.known {
			continue
		}
		if id, err := s.client.ProducerAt(limited, b.TopicPartition, b.offset); err == nil {
			s.progress.of(b.TopicPartition, func(a *advance) { a.opener = opener{b.offset, id, true} })
		}
	}
}
