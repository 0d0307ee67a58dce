package health

import (
	"fmt"
	"sync"
	"time"
)

// Start tracks what a stage waits for before it joins its group.
type Start struct {
	Limit time.Duration // time that a step may take before it is reported

	mutex sync.Mutex
	step  string // "": the stage waits for nothing
	lasts fault
}

// Begin records the next step of the start; "" ends the start.
func (s *Start) Begin(step string, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.step, s.lasts = step, fault{}
	if step != "" {
		s.lasts.holds(nil, now)
	}
}

// Failed records why the step did not succeed yet.
func (s *Start) Failed(err error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lasts.why = err
}

// Lasting returns for how long the present step has lasted; 0 below the limit.
func (s *Start) Lasting(now time.Time) time.Duration {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if lasting := s.lasts.lasting(now); lasting >= s.Limit {
		return lasting
	}
	return 0
}

// Troubles reports the present step if it has lasted longer than the limit.
func (s *Start) Troubles(now time.Time) []Trouble {
	lasting := s.Lasting(now)
	if lasting == 0 {
		return nil
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	t := Trouble{
		Of: OfBrokers,
		What: fmt.Sprintf("not at work for %v: %s; it reads and answers nothing", lasting.Round(time.Second),
			s.step),
		Do: "see that the brokers run and can be reached from here; it goes on by itself",
	}
	if why := s.lasts.why; why != nil {
		t.Cause, t.Do = why.Error(), Remedy(why)
	}
	return []Trouble{t}
}
