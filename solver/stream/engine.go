package stream

import (
	"fmt"

	"github.com/slkstream/slkstream/solver"
)

// Engine solves for any number of streams with the same settings. It owns the workspaces, so only one
// goroutine may use it at a time. Of the streams it keeps only the last answer and an episode that is
// not learned yet.
type Engine struct {
	labelled *solver.Solver
	problem  problem
	solved   *solver.Result

	unlearned *Stream // whose last episode the engine has answered but not learned; nil: none
}

// NewEngine returns an engine for valid settings.
func NewEngine(s Settings) (*Engine, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("stream settings: %w", err)
	}
	if s.Solver.Workers == 0 { // streams are answered in parallel; more goroutines in each would only slow them
		s.Solver.Workers = 1
	}
	labelled, err := solver.New(s.Solver)
	if err != nil {
		return nil, err
	}
	return &Engine{labelled: labelled}, nil
}

// Solved returns the solve of the engine's last answer, with its graph and its objective step by step. It is
// valid until the next answer; nil before the first, and where clusters answered.
func (e *Engine) Solved() *solver.Result { return e.solved }
