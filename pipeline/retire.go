package pipeline

import (
	"cmp"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
)

// retired is what is left of streams that were given up.
type retired struct {
	at      time.Time // when silent streams were last looked for
	leaving []leaving // whose place in the state is still to be taken away
}

// leaving is a stream of which the state holds nothing but up to where it was answered.
type leaving struct {
	key  consumer.Key
	last record.Place
}

// retire gives up streams that have been silent for longer than the state is kept, by event time, so that it is a function
// of the input, and where there are too many the ones that have been silent longest.
func (p *partition) retire(now time.Time) {
	o := &p.stage.options
	if p.commits.sending != nil || !p.caughtUp() || p.replay.left > 0 {
		return
	}
	if over := len(p.streams) - o.MaxStreams; over > 0 {
		p.evict(over + o.MaxStreams/20)
	}
	if now.Sub(p.retired.at) < min(10*time.Second, max(o.StateTTL, time.Second)) {
		return
	}
	p.retired.at = now
	from := p.restart().from
	p.forget(from)
	if o.StateTTL == 0 {
		return
	}
	for key, s := range p.streams {
		if s.unsaved || !p.quiet(s, from) || p.buffer.High().Sub(s.answeredTime) < o.StateTTL {
			continue
		}
		if !p.commits.keeper.Forget(state.Stream{Name: key.Stream, Model: key.Model}) {
			continue
		}
		delete(p.streams, key)
		p.commits.next.forgotten = true
		p.stage.metrics.retired.Add(1, "silent")
		p.log.Info("stream retired: silent for longer than state-ttl", "stream", key.Stream, "model", key.Model, "last", s.answeredTime)
	}
}

// quiet says whether nothing is under way for a stream: what the next owner may read again still needs its place.
func (p *partition) quiet(s *liveStream, from record.Place) bool {
	return !s.saving && s.pending == 0 && from.After(s.learned)
}

// evict gives up about so many streams, the ones silent for longest. A snapshot of nothing takes the place of what they
// remember at once; it goes when no journal names the stream any more.
func (p *partition) evict(count int) {
	from := p.restart().from
	var list []*liveStream
	for _, s := range p.streams {
		if p.quiet(s, from) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *liveStream) int {
		return cmp.Or(cmp.Compare(a.learned.Offset, b.learned.Offset), cmp.Compare(a.learned.Object, b.learned.Object))
	})
	list = list[:min(count, len(list))]
	for _, s := range list {
		p.commits.next.snapshots = append(p.commits.next.snapshots, &state.Snapshot{
			Stream: state.Stream{Name: s.key.Stream, Model: s.key.Model}, Learned: s.learned, Labels: s.labels, Seen: s.learnedTime,
		})
		s.gone = true
		delete(p.streams, s.key)
		p.retired.leaving = append(p.retired.leaving, leaving{s.key, s.learned})
	}
	if len(list) == 0 {
		return
	}
	p.stage.metrics.retired.Add(float64(len(list)), "too-many")
	p.warned.once("streams", func(times int) {
		p.log.Warn("streams given up, the longest silent first: there are more than --max-streams", "streams", len(list), "most", p.stage.options.MaxStreams, "times", times)
	})
}

// forget takes away the place of streams that were given up.
func (p *partition) forget(from record.Place) {
	left := p.retired.leaving[:0]
	for _, l := range p.retired.leaving {
		switch {
		case p.streams[l.key] != nil: // it is back
		case from.After(l.last) && p.commits.keeper.Forget(state.Stream{Name: l.key.Stream, Model: l.key.Model}):
			p.commits.next.forgotten = true
		default:
			left = append(left, l)
		}
	}
	clear(p.retired.leaving[len(left):])
	p.retired.leaving = left
}
