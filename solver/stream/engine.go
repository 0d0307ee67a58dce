package stream

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/solver"
)

// Engine is the workspace in which streams are answered. Any number of streams can share one, but only one
// goroutine may use it at a time. Of the streams it keeps only the last answer. The zero value is ready to
// use.
type Engine struct {
	solver   *solver.Solver
	settings solver.Settings // that solver was made for
	problem  problem
	solved   *solver.Result

	near, doubt []float32 // of review.ask
}

// set prepares the engine for a stream, or reports the faults of its settings.
func (e *Engine) set(s *Stream) (err error) {
	if !s.valid {
		if err := s.settings.Validate(); err != nil {
			return fmt.Errorf("settings: %w", err)
		}
		s.valid = true
	}
	own := s.settings.Solver
	if own.Workers == 0 { // streams are answered in parallel; more goroutines in each would only slow them
		own.Workers = 1
	}
	if e.solver != nil && e.settings == own {
		return nil
	}
	e.settings = own
	e.solver, err = solver.New(own)
	return err
}

// solve solves the episode's problem, or a trial of it. Once its rows are embedded, the timeline relates them.
func (e *Engine) solve(ctx context.Context, of *episode, p *solver.Problem) (*solver.Result, error) {
	space, err := e.solver.Embed(p)
	if err != nil {
		return nil, err
	}
	of.stream.timeline.relate(of, p, space)
	if _, err = space.Graph(ctx); err != nil {
		return nil, err
	}
	r, err := space.Descend(ctx)
	if err != nil {
		return nil, err
	}
	return r, r.Assess()
}

// Solved returns the solve of the engine's last answer, with its graph and its objective step by step. It is
// valid until the next answer; nil before the first, and where clusters answered.
func (e *Engine) Solved() *solver.Result { return e.solved }
