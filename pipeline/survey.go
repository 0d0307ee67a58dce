package pipeline

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// survey reports the partitions' progress in metrics, and what stops the work in the log, each kind of trouble
// once a minute while it lasts.
func (s *Stage) survey(ctx context.Context, now time.Time) {
	const apart = 4500 * time.Millisecond // between queries of the brokers: every fifth tick
	if now.Sub(s.queried) >= apart {
		s.queried = now
		s.queryEnds(ctx)
		s.askProducers(ctx, now)
		if s.partitions.All() != nil {
			s.checkSettings(ctx, now)
		}
	}
	lasting, _ := s.brokers.CutOff(now)
	s.metrics.cutOff.Set(max(lasting, s.start.Lasting(now)).Seconds())
	s.metrics.progress(now)
	kinds := map[string]int{}
	list := s.troubles(now)
	for _, t := range list {
		kinds[t.Of]++
	}
	for _, t := range list { // of each kind the first
		s.warned.Once(t.Of, func(int) {
			s.log.Error(t.What, "cause", t.Cause, "do", t.Do, "of_its_kind", kinds[t.Of])
		})
	}
}

// queryEnds queries the ends of the partitions, so that lag is known even of those that cannot be read, and
// whether the input topics were created again.
func (s *Stage) queryEnds(ctx context.Context) {
	owned := s.partitions.All()
	if len(owned) == 0 {
		return
	}
	partitions := make([]topic.TopicPartition, len(owned))
	for i, p := range owned {
		partitions[i] = p.TopicPartition
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
	s.brokers.Asked(err, begin)
	if err != nil {
		return
	}
	s.store.Check(limited, s.largest)
	ids := map[string]topic.ID{}
	now := time.Now()
	for _, p := range owned {
		id, asked := ids[p.Topic]
		if !asked {
			id, _ = s.client.ID(limited, p.Topic) // a missing topic has the zero ID and is waited for
			ids[p.Topic] = id
		}
		p.Exists(id)
		end, known := ends[p.TopicPartition]
		decided, also := stable[p.TopicPartition]
		if known && also {
			p.Ends(decided, max(end-decided, 0), now)
		}
	}
}

// askProducers finds the producers of the transactions that records wait for.
func (s *Stage) askProducers(ctx context.Context, now time.Time) {
	limited, cancel := context.WithTimeout(ctx, 2*time.Second) // for all of them: survey waits for this call
	defer cancel()
	for _, p := range s.partitions.All() {
		offset, asked, open := p.OpenSince(now, s.options.StallAfter)
		if !open || asked {
			continue
		}
		if limited.Err() != nil {
			return // the next call asks for the rest
		}
		if id, err := s.client.ProducerAt(limited, p.TopicPartition, offset); err == nil {
			p.Producer(offset, id)
		}
	}
}
