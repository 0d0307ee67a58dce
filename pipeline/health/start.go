package health

import (
	"sync/atomic"
	"time"
)

// Start tracks what a stage waits for before it joins its group.
type Start struct {
	Limit time.Duration // time that a step may take before it is reported

	step  atomic.Value // a string
	lasts fault
}

// Begin records the next step of the start; "" ends the start.
func (s *Start) Begin(step string, now time.Time) {
	s.lasts.ends()
	if s.step.Store(step); step != "" {
		s.lasts.holds(nil, now)
	}
}

// Failed records why the step did not succeed yet; nil: it did.
func (s *Start) Failed(err error) { s.lasts.because(err) }

// Lasting returns for how long the present step has lasted; 0 below the limit.
func (s *Start) Lasting(now time.Time) time.Duration {
	lasting, _ := s.lasts.lasting(now, s.Limit)
	return lasting
}

// Troubles reports the present step if it has lasted longer than the limit.
func (s *Start) Troubles(now time.Time) []Trouble {
	lasting, why := s.lasts.lasting(now, s.Limit)
	if lasting == 0 {
		return nil
	}
	const what = "not at work for %v: %v; it reads and answers nothing"
	return []Trouble{noContact(why, what, lasting.Round(time.Second), s.step.Load())}
}
