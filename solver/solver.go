package solver

import (
	"context"
	"errors"
	"fmt"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Solver solves problems in its own workspace. Only one goroutine may use it at a time. A used Solver
// allocates nothing for a small episode.
type Solver struct {
	settings Settings
	episode  episode
	space    Space
	result   Result
	engine   engine
}

// engine selects how prototypes are represented. Solvers choose by size; tests force one to
// compare the engines.
type engine int

const (
	bySize engine = iota
	rowEngine
	gramEngine
	denseRows // rows, with a dense S at any size
	everyRow  // each labelled row beside the episode stays a row, instead of the mean of its class
)

// New returns a Solver for valid settings.
func New(s Settings) (*Solver, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return &Solver{settings: s}, nil
}

// Solve labels the unlabelled rows of p by minimising R from the labelled rows and the prior. Without either
// it clusters the rows, from Problem.Start or as Settings.Clustering says. It runs Embed, Graph and Descend.
// The result is valid until the next Solve or Embed of s.
func (s *Solver) Solve(ctx context.Context, p *Problem) (*Result, error) {
	space, err := s.Embed(p)
	if err != nil {
		return nil, err
	}
	if _, err := space.Graph(ctx); err != nil {
		return nil, err
	}
	return space.Descend(ctx)
}

// Space is a problem with embedded rows, after the first of the three steps of a solve. Until Graph is
// called, the caller may still set Problem.Lag, Edges and Evidence, for instance from Distances.
type Space struct {
	solver  *Solver
	problem *Problem
	lists   *index.Neighbours // nil: none
	listed  bool              // lists were searched for
	linked  bool              // Graph was called
}

// Embed maps the rows of p, the labelled rows beside them and the prior to the space in which rows are
// compared. The Space is valid until the next Solve or Embed of s.
func (s *Solver) Embed(p *Problem) (*Space, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	if err := errors.Join(p.Points.check(p, &s.settings), p.checkBlock(&s.settings)); err != nil {
		return nil, err
	}
	e := &s.episode
	e.s.dense = s.engine == denseRows || p.Block > 0
	e.settings = &s.settings
	e.takeBeside(p)
	e.layOut(p, s.engine == everyRow)
	e.sizePool()
	e.usesGram = e.gram.can(e, p) && (s.engine == gramEngine || s.engine == bySize && e.gram.cheaper(e, p))
	if p.Points != nil {
		e.takePoints()
	} else if err := e.embed(p); err != nil {
		return nil, err
	}
	e.direct.e, e.gram.e = e, e
	if e.usesGram {
		e.space = &e.gram
		e.gram.build(e)
	} else {
		e.space = &e.direct
		if p.Points == nil {
			e.u = e.v
		}
	}
	s.space = Space{solver: s, problem: p}
	return &s.space, nil
}

// Distances fills out, n x n, with the squared distances between the first n rows in u-space. Graph must not
// have been called.
func (x *Space) Distances(out []float32, n int) {
	e := &x.solver.episode
	if e.usesGram {
		for p := range n {
			copy(out[p*n:p*n+n], e.gram.row(p))
		}
	} else {
		e.productsBeforeGraph(out[:n*n], n)
	}
	squaresOf(out[:n*n], e.own[:n])
}

// squaresOf turns inner products into squared distances, given the squared lengths.
func squaresOf(products, lengths []float32) {
	n := len(lengths)
	for p, square := range lengths {
		row := products[p*n : p*n+n]
		for q, v := range lengths {
			squared := square + v - 2*row[q]
			if squared < 0 { // several times as fast as max
				squared = 0
			}
			row[q] = squared
		}
		row[p] = 0
	}
}

// Between fills out with the squared distances in z-space between rows from to to-1. Points have none.
func (r *Result) Between(out []float32, from, to int) {
	e, n, d := r.episode, to-from, r.episode.d
	out = out[:n*n]
	if e.usesGram {
		e.gram.plain(out, from, to)
	} else {
		kernel.Gram(out, e.z[from*d:to*d], n, d)
	}
	e.scratch = vector.Resize(e.scratch, n)
	for p := range e.scratch {
		e.scratch[p] = out[p*n+p]
	}
	squaresOf(out, e.scratch)
}

// productsBeforeGraph fills out with the inner products of the first n rows in u-space, in the row-space
// engine, whose rows are still those of v.
func (e *episode) productsBeforeGraph(out []float32, n int) {
	kernel.Gram(out, e.at(0, n, &e.scratch), n, e.d)
	m := e.beside.metric
	if e.points != nil || m == nil {
		return
	}
	less := shrinkingScales(m.Scales)
	for r := range m.Scales {
		sign, along := float32(1), e.along[r*e.means:r*e.means+n]
		if r < less {
			sign = -1
		}
		for p, v := range along {
			kernel.Axpy(sign*v, along, out[p*n:p*n+n])
		}
	}
}

// Label gives the rows other labels, and takes the problem's Proportions anew. Graph must be called then.
// The rows stay where they are, in the mean of the labels that they were embedded with, and keep their
// neighbours, which take longest to find. Those that were labelled at the first Graph must stay labelled.
func (x *Space) Label(labels []int32) error {
	e, p := &x.solver.episode, x.problem
	p.Labels = labels
	if err := p.checkLabels(); err != nil {
		return err
	}
	e.layOut(p, x.solver.engine == everyRow)
	if e.usesGram {
		e.gram.findHeld()
	} else if e.settings.Paper.BiasCorrection { // it moves rows by their labels
		e.mapRows(p)
		e.u, x.listed = e.v, false
	}
	x.linked = false
	return nil
}

// Graph builds W from the neighbours of each row, chosen by distance and Problem.Lag, or takes
// Problem.Affinity, and adds Problem.Edges.
func (x *Space) Graph(ctx context.Context) (*index.Affinity, error) {
	e, p := &x.solver.episode, x.problem
	if err := p.checkGraphTerms(); err != nil {
		return nil, err
	}
	if !x.listed {
		lists, err := e.neighbours(ctx, p)
		if err != nil {
			return nil, err
		}
		x.lists, x.listed = lists, true
	}
	e.link(p, x.lists)
	e.estimateSigma()
	e.addEdges(p.Edges)
	e.graph.evidence = p.Evidence
	e.takeWeights(p)
	e.order.plan(e)
	x.linked = true
	return e.graph.Affinity, nil
}

// Descend minimises R. Graph must be called before each call of Descend.
func (x *Space) Descend(ctx context.Context) (*Result, error) {
	e, p, r := &x.solver.episode, x.problem, &x.solver.result
	if !x.linked {
		return nil, errors.New("descend: the graph of the space is not made yet")
	}
	x.linked = false
	r.clear()
	if e.clustering {
		e.start(p.Start)
	} else {
		for i, c := range p.Start {
			if e.number[c] < 0 {
				return nil, fmt.Errorf("start: class %d of row %d has neither a labelled row nor a prior", c, i)
			}
		}
		if p.Start != nil {
			e.startFrom(p.Start)
		}
	}
	e.enter()
	if err := e.descend(ctx, r, p.Progress); err != nil {
		return nil, err
	}
	e.finish(p, r)
	return r, nil
}
