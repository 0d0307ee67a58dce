package stream

import (
	"fmt"

	"github.com/slkstream/slkstream/solver"
)

// Engine solves for any number of streams with the same settings and remembers nothing of them; it owns the workspaces, so
// one goroutine uses it at a time.
type Engine struct {
	labelled *solver.Solver
	problem  problem
	solved   *solver.Result

	unlearned *Stream // that the engine has answered an episode of last, until it has learned it; nil: none
}

// NewEngine returns an engine for valid settings.
func NewEngine(s Settings) (*Engine, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("stream settings: %w", err)
	}
	if s.Solver.Workers == 0 { // streams are answered side by side: one more level of goroutines is only in the way
		s.Solver.Workers = 1
	}
	labelled, err := solver.New(s.Solver)
	if err != nil {
		return nil, err
	}
	return &Engine{labelled: labelled}, nil
}

// Solved is the solve behind the engine's last answer, for whoever looks on: its graph, its objective step by step. It is
// valid until the next answer; nil before the first, and where clusters answered.
func (e *Engine) Solved() *solver.Result { return e.solved }
