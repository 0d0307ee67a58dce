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

// solve solves the episode. If labels come with it, it is first solved without them, which shows how far the
// stream's answers can be trusted.
func (e *episode) solve(ctx context.Context) (*solver.Result, error) {
	s, p := e.stream, e.problem
	p.against = p.contradict(s, e.rows)
	weights := s.evidence.weights()
	p.Weights = &weights
	t := s.trial(e)
	if t != nil && len(t.fresh) > 0 {
		if err := t.solveApart(ctx, e); err != nil {
			return nil, err
		}
	}
	space, err := e.engine.solver.Embed(&p.Problem)
	if err != nil {
		return nil, err
	}
	s.timeline.relate(e, space)
	if t != nil && len(t.fresh) == 0 {
		if err = t.solveIn(ctx, space, e); err != nil {
			return nil, err
		}
	}
	if fair := e.fair(); s.settings.Time && len(fair) > 0 {
		p.Proportions = s.proportions.corrected(p.names, p.numbers, fair)
	}
	if t != nil {
		if err = space.Label(p.labels); err != nil {
			return nil, err
		}
	}
	p.Evidence = s.timeline.evidence(e)
	weights = s.evidence.weights() // the trial may have changed them
	return descend(ctx, space)
}

// descend solves an embedded problem.
func descend(ctx context.Context, space *solver.Space) (*solver.Result, error) {
	if _, err := space.Graph(ctx); err != nil {
		return nil, err
	}
	r, err := space.Descend(ctx)
	if err != nil {
		return nil, err
	}
	return r, r.Assess()
}

// Solved returns the solve of the engine's last answer, with its graph and its objective step by step. It is
// valid until the next answer; nil before the first, and where clusters, or several solves, answered.
func (e *Engine) Solved() *solver.Result { return e.solved }
