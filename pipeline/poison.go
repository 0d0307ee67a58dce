package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
)

// mostHangs is how often an episode may keep an owner busy for ever: then it is not solved any more.
const mostHangs = 2

// poisoned says why an episode must not be solved; nil if it may: it holds the first item of one that has hung its owners
// before, whatever else closed it this time.
func (p *partition) poisoned(e *consumer.Episode) error {
	for i := range p.hung {
		h := &p.hung[i]
		if h.Times >= mostHangs && h.Stream.Name == e.Key.Stream && h.Stream.Model == e.Key.Model && !e.First().After(h.First) && !h.First.After(e.Last()) {
			return fmt.Errorf("%w: it has ended %d owners of the partition, and is not solved again", ErrHung, h.Times)
		}
	}
	return nil
}

// noteHung writes down which episode does not end, for the next owner.
func (s *Stage) noteHung(j *job) {
	if j.episode == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	p := j.stream.partition
	name := state.Stream{Name: j.stream.key.Stream, Model: j.stream.key.Model}
	if err := s.client.Write(ctx, []record.Out{p.commits.keeper.Hung(name, j.episode.First())}); err != nil {
		s.log.Error("an episode that does not end could not be noted: the next owner will try it again", "error", err)
	}
}
