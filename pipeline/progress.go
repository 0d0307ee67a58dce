package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// progress follows how the partitions of this process get on, from the day the group assigns them: over all the restarts
// that something may force upon them. It is what tells a stage that waits from one that is stuck.
type progress struct {
	mutex      sync.Mutex
	partitions map[topic.Place]*advance
}

// advance is how far one partition has come.
type advance struct {
	since     time.Time // when it last got on, or had nothing to do
	commit    time.Time // when an offset was last committed, or the partition assigned
	assigned  time.Time
	took      time.Duration // from the assignment until new records were answered; 0: not yet
	committed int64         // offset; -1: not known
	end       int64         // of the input; -1: not known
	input     topic.ID      // as it was taken over
	anew      chan struct{} // told when the topic is another one
	doing     string
	cause     error     // of the last failure, while it lasts
	reads     []reading // records read and not committed, oldest first
}

// reading says that records below next were read at a time.
type reading struct {
	next int64
	at   time.Time
}

func newProgress() *progress { return &progress{partitions: map[topic.Place]*advance{}} }

// of changes what is known of a partition, if it is assigned.
func (p *progress) of(place topic.Place, change func(*advance)) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if a := p.partitions[place]; a != nil {
		change(a)
	}
}

func (p *progress) assign(place topic.Place, now time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.partitions[place] = &advance{since: now, commit: now, assigned: now, committed: -1, end: -1, doing: "taking over"}
}

func (p *progress) release(place topic.Place) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	delete(p.partitions, place)
}

// moved notes that the partition got on, or has nothing to do.
func (a *advance) moved(now time.Time) { a.since, a.cause = now, nil }

// read notes that records below next were read. Reads within a second count as one.
func (a *advance) read(next, end int64, now time.Time) {
	a.end = end
	if n := len(a.reads); n > 0 && (next <= a.reads[n-1].next || now.Sub(a.reads[n-1].at) < time.Second) {
		a.reads[n-1].next = max(a.reads[n-1].next, next)
		return
	}
	if next > a.committed {
		a.reads = append(a.reads, reading{next, now})
	}
}

// acknowledged notes a commit of the offset.
func (a *advance) acknowledged(offset int64, now time.Time) {
	a.committed, a.commit = offset, now
	for len(a.reads) > 0 && a.reads[0].next <= offset {
		a.reads = a.reads[1:]
	}
}

// unacknowledged is how long ago the oldest record was read whose offset is not committed.
func (a *advance) unacknowledged(now time.Time) time.Duration {
	if len(a.reads) == 0 {
		return 0
	}
	return now.Sub(a.reads[0].at)
}

// stuck is a partition that has not got on for some time although there is something to do.
type stuck struct {
	topic.Place
	lasting time.Duration
	doing   string
	cause   error
}

// stuck lists the partitions that have not got on for longer than limit, the longest first.
func (p *progress) stuck(now time.Time, limit time.Duration) []stuck {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var list []stuck
	for place, a := range p.partitions {
		if lasting := now.Sub(a.since); lasting >= limit {
			list = append(list, stuck{place, lasting, a.doing, a.cause})
		}
	}
	slices.SortFunc(list, func(a, b stuck) int {
		return cmp.Or(cmp.Compare(b.lasting, a.lasting), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

func (s stuck) String() string {
	return fmt.Sprintf("%s/%d has not got on for %v while %s", s.Topic, s.Partition, s.lasting.Round(time.Second), s.doing)
}

// survey shows how the partitions get on until ctx ends: in metrics, and once a minute in the log while one is stuck.
func (s *Stage) survey(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	const apart = 5 // seconds from one look at the brokers to the next
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if n%apart == 0 {
				s.lookAtEnds(ctx)
			}
			s.metrics.progress(s.progress, now)
			if list := s.progress.stuck(now, s.options.StallAfter); len(list) > 0 {
				s.warned.once("stuck", func(int) { s.sayStuck(list) })
			}
			if t, ok := s.metrics.rejecting.trouble(now, s.options.StallAfter); ok {
				s.warned.once("rejecting", func(int) { s.log.Error(t.What, "last", t.Cause, "do", t.Do) })
			}
		}
	}
}

// sayStuck says which partitions are stuck, why, and what may be done.
func (s *Stage) sayStuck(list []stuck) {
	names := make([]string, 0, min(len(list), 5))
	for _, one := range list[:cap(names)] {
		names = append(names, fmt.Sprintf("%s/%d", one.Topic, one.Partition))
	}
	longest := list[0]
	failing, cause := s.failing(longest)
	s.log.Error("partitions do not get on although there is something to do", "partitions", len(list), "names", strings.Join(names, " "),
		"for", longest.lasting.Round(time.Second), "doing", failing, "error", cause, "do", remedy(cause))
}

// remedy is what a person can do about an error that keeps a partition from getting on.
func remedy(err error) string {
	if err == nil {
		return "look at the CPU and at slow solves: slkstream_solve_seconds"
	}
	var open *topic.Undecided
	if errors.As(err, &open) {
		return fmt.Sprintf("if it lasts longer than its timeout, end it with "+
			"kafka-transactions.sh abort --topic %s --partition %d --start-offset %d",
			open.Topic, open.Partition, open.Offset)
	}
	switch topic.CauseOf(err) {
	case topic.Away:
		return "see that the brokers run, can be reached and have the topic's leaders; it goes on by itself"
	case topic.Denied:
		return "give the rights that slkstream check names, or make the topic; it goes on by itself"
	case topic.Rejected:
		return "raise max.message.bytes or message.timestamp limits of the topic; it goes on by itself"
	}
	return "report it with this line"
}

// lookAtEnds asks where the partitions end, so that lag is known of those too that cannot be read.
func (s *Stage) lookAtEnds(ctx context.Context) {
	s.progress.mutex.Lock()
	places := make([]topic.Place, 0, len(s.progress.partitions))
	for place := range s.progress.partitions {
		places = append(places, place)
	}
	s.progress.mutex.Unlock()
	ids := map[string]topic.ID{}
	for _, place := range places {
		id, asked := ids[place.Topic]
		if !asked {
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			id, _ = s.client.ID(limited, place.Topic) // one that is missing is waited for
			cancel()
			ids[place.Topic] = id
		}
		s.progress.of(place, func(a *advance) {
			if id == (topic.ID{}) || a.input == (topic.ID{}) || id == a.input {
				return
			}
			select {
			case a.anew <- struct{}{}:
			default:
			}
		})
		limited, cancel := context.WithTimeout(ctx, 2*time.Second)
		end, err := s.client.Offset(limited, place.Topic, place.Partition, topic.Latest, s.options.Committed)
		cancel()
		if err != nil {
			continue // whoever reads the partition says what is wrong
		}
		s.progress.of(place, func(a *advance) { a.end = end })
	}
}
