package pipeline

import (
	"context"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
)

// mostHangs is how many hangs an episode may cause before it is no longer solved.
const mostHangs = 2

// poisoned returns why an episode must not be solved; nil: it may be. It must not if it contains the first
// item of an episode that hung earlier owners, even if it was closed elsewhere this time.
func (i *intake) poisoned(e *consumer.Episode) error {
	for n := range i.hung {
		h := &i.hung[n]
		if h.Times >= mostHangs && h.Stream == e.Key && !e.First().After(h.First) && !h.First.After(e.Last()) {
			return fmt.Errorf("%w: it has ended %d owners of the partition, and is not solved again", ErrHung, h.Times)
		}
	}
	return nil
}

// noteHung writes to the state which episode hangs, for the next owner.
func (s *Stage) noteHung(j *job) {
	if j.episode == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := j.of.session.NoteHung(ctx, j.stream.Key, j.episode.First()); err != nil {
		s.log.Error("an episode that does not end cannot be recorded: the next owner will try it again", "error", err)
	}
}
