package pipeline

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
)

// retired tracks evicted streams until their state is deleted.
type retired struct {
	at      time.Time // when silent streams were last searched for
	leaving []leaving // streams whose state must still be deleted
}

// leaving is an evicted stream whose state holds its last answered position only.
type leaving struct {
	key  record.Stream
	last record.Position
}

// retire evicts streams that have been silent for longer than StateTTL, by event time, so that eviction is a
// function of the input. If there are too many streams, those worth least go.
func (p *partition) retire(now time.Time) {
	o := &p.stage.options
	if p.ledger.commits.sending != nil || !p.intake.caughtUp() || p.intake.replay.left > 0 {
		return
	}
	if over := len(p.answering.streams) - o.MaxStreams; over > 0 {
		list := p.leastWorth(func(s *liveStream) float64 { return s.worth(p.intake.position.Offset) })
		most := over + o.MaxStreams/20 - (len(p.answering.streams) - len(list))
		p.giveUp(list[:max(0, min(most, len(list)))], "too-many",
			"streams given up, the shortest and longest silent first: there are more than a partition remembers")
	}
	if now.Sub(p.answering.retired.at) < min(10*time.Second, max(o.StateTTL, time.Second)) {
		return
	}
	p.answering.retired.at = now
	from := p.restart().From
	p.forget(from)
	if o.StateTTL == 0 {
		return
	}
	for key, s := range p.answering.streams {
		if s.unsaved || !s.quiet() || !from.After(s.learned) || p.intake.buffer.High().Sub(s.learnedTime) < o.StateTTL {
			continue
		}
		if !p.session.Forget(key) {
			continue
		}
		delete(p.answering.streams, key)
		p.drop(s)
		p.ledger.commits.next.forgotten = true
		p.stage.metrics.retired.Add(1, "silent")
		p.log.Info("stream retired: silent for longer than state-ttl", "stream", key.Name, "model", key.Model, "last", s.learnedTime)
	}
}

// quiet says whether no worker has, or will have, a job of the stream. Only then may it be evicted.
func (s *liveStream) quiet() bool { return !s.saving && s.pending == 0 }

// worth orders streams by what eviction would lose: the square of their episodes, divided by the records
// since their last one. A stream that was taught counts a hundredfold, because people's labels do not come
// back. So keys that come once evict each other, not a long-lived camera that pauses.
func (s *liveStream) worth(now int64) float64 {
	weight := float64(max(s.episodes*s.episodes, 1))
	if s.taught {
		weight *= 100
	}
	return weight / float64(max(now-s.learned.Offset, 1))
}

// leastWorth returns the quiet streams, those of least worth first.
func (p *partition) leastWorth(worth func(*liveStream) float64) []*liveStream {
	list := slices.Collect(maps.Values(p.answering.streams))
	// Busy streams are left out, because workers change their memory. If they are worth least,
	// their eviction waits.
	list = slices.DeleteFunc(list, func(s *liveStream) bool { return !s.quiet() })
	slices.SortFunc(list, func(a, b *liveStream) int {
		return cmp.Or(cmp.Compare(worth(a), worth(b)),
			cmp.Compare(a.learned.Offset, b.learned.Offset), cmp.Compare(a.learned.Object, b.learned.Object))
	})
	return list
}

// giveUp evicts quiet streams. An empty snapshot replaces their memory at once. It tells the next owner which
// items were answered, and is deleted when no item of the stream will be read again and no journal names it.
func (p *partition) giveUp(list []*liveStream, reason, why string) {
	if len(list) == 0 {
		return
	}
	for _, s := range list {
		p.ledger.commits.next.snapshots = append(p.ledger.commits.next.snapshots, &state.Snapshot{
			Stream: s.Key, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime,
		})
		s.gone = true
		delete(p.answering.streams, s.Key)
		p.drop(s)
		p.answering.retired.leaving = append(p.answering.retired.leaving, leaving{s.Key, s.learned})
	}
	p.stage.metrics.retired.Add(float64(len(list)), reason)
	p.intake.warned.Once("streams "+reason, func(times int) {
		p.log.Warn(why, "streams", len(list), "most", p.stage.options.MaxStreams, "times", times)
	})
}

// forget deletes the state of evicted streams.
func (p *partition) forget(from record.Position) {
	left := p.answering.retired.leaving[:0]
	for _, l := range p.answering.retired.leaving {
		switch {
		case p.answering.streams[l.key] != nil: // the stream has returned
		case from.After(l.last) && p.session.Forget(l.key):
			p.ledger.commits.next.forgotten = true
		default:
			left = append(left, l)
		}
	}
	clear(p.answering.retired.leaving[len(left):])
	p.answering.retired.leaving = left
}
