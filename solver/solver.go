package solver

import (
	"context"
	"fmt"
)

// Solver owns a workspace; one goroutine uses it at a time. A small episode in a used Solver allocates nothing.
type Solver struct {
	settings Settings
	episode  episode
	result   Result
	engine   engine
}

// engine says which of the two solves: by size, but for tests that hold them against each other.
type engine int

const (
	bySize engine = iota
	rowEngine
	gramEngine
	denseRows  // rows, with a dense S whatever the size
	everyClass // every row is compared with every class in each sweep
)

// New returns a Solver for valid settings.
func New(s Settings) (*Solver, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return &Solver{settings: s}, nil
}

// Solve labels the unlabelled rows of p by descending R from the labelled ones and the prior; without either it clusters
// them from a start of its own. What it returns is valid until the next Solve of s.
func (s *Solver) Solve(ctx context.Context, p *Problem) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	e := &s.episode
	e.s.dense, e.bounds.off = s.engine == denseRows, s.engine == everyClass
	e.layOut(&s.settings, p)
	e.sizePool()
	if err := e.embed(p); err != nil {
		return nil, err
	}
	e.direct.e, e.gram.e = e, e
	if e.usesGram = e.gram.can(e, p) && (s.engine == gramEngine || s.engine == bySize && e.gram.cheaper(e, p)); e.usesGram {
		e.space = &e.gram
		e.gram.build(e, p)
	} else {
		e.space = &e.direct
		e.embedRows(p)
	}
	if p.BeforeGraph != nil {
		rows := &EmbeddedRows{Z: e.z[:e.n*e.d], AnchorZ: e.z[e.n*e.d:], space: e.space, power: e.settings.Power, mean: e.mean}
		if p.Embedding != nil {
			rows.metric = p.Embedding.Metric
		}
		p.BeforeGraph(rows)
		if err := p.checkGraphTerms(); err != nil {
			return nil, err
		}
	}
	if err := e.neighbours(ctx, p); err != nil {
		return nil, err
	}
	e.estimateSigma()
	e.addEdges(p.Edges)
	e.graph.evidence = p.Evidence
	e.order.plan(e)
	r := &s.result
	r.clear()
	if e.clustering {
		if err := e.cluster(ctx, p, r); err != nil {
			return nil, err
		}
	} else {
		e.enter()
		if err := e.descend(ctx, r, p.Progress); err != nil {
			return nil, err
		}
	}
	e.finish(p, r)
	return r, nil
}
