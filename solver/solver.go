package solver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
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
	everyRow  // each example stays a row, instead of the mean of its class
)

// New returns a Solver for valid settings.
func New(s Settings) (*Solver, error) {
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return &Solver{settings: s.InForce()}, nil
}

// Solve labels the unlabelled rows of p by minimising R from the labelled rows and the prior. Without either
// it clusters the rows, from Problem.Start or as Settings.Clustering says.
// The result is valid until the next Solve or Embed of s.
func (s *Solver) Solve(ctx context.Context, p *Problem) (*Result, error) {
	space, err := s.Embed(p)
	if err != nil {
		return nil, err
	}
	return space.Solve(ctx)
}

// Space is a problem whose rows are embedded: the first half of a solve, for those who look at the rows before they
// are solved, solve them with several labels, or learn from how they were solved, as package stream does. Until
// Solve is called, the caller may still set Graph, Edges and Evidence of the problem.
type Space struct {
	solver  *Solver
	problem *Problem
	lists   *index.Neighbours // nil: none
	listed  bool              // lists were searched for
}

// Embed maps the rows of p, its examples and the prior to the space in which rows are compared. The Space is valid
// until the next Solve or Embed of s.
func (s *Solver) Embed(p *Problem) (*Space, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	e := &s.episode
	e.s.dense = s.engine == denseRows || p.block > 0
	e.settings = &s.settings
	e.takeSets(p)
	e.layOut(p, s.engine == everyRow)
	e.sizePool()
	e.prototypes.usesGram = e.prototypes.gram.can(e, p) &&
		(s.engine == gramEngine || s.engine == bySize && e.prototypes.gram.cheaper(e, p))
	if p.Rows.points != nil {
		e.takePoints()
	} else if err := e.embed(p); err != nil {
		return nil, err
	}
	e.prototypes.direct.e, e.prototypes.gram.e = e, e
	if e.prototypes.usesGram {
		e.prototypes.space = &e.prototypes.gram
		e.prototypes.gram.build(e)
	} else {
		e.prototypes.space = &e.prototypes.direct
		if p.Rows.points == nil {
			e.rows.u = e.rows.v
		}
	}
	s.space = Space{solver: s, problem: p}
	return &s.space, nil
}

// Z returns the rows in z-space, N x D: raised, less Mean, at length 1.
func (x *Space) Z() []float32 {
	r := &x.solver.episode.rows
	return r.z[:r.n*r.d]
}

// Mean returns mu, which is subtracted from raised rows before they are scaled to length 1.
func (x *Space) Mean() []float32 { return x.solver.episode.rows.mean }

// Inverse returns 1/|row - Mean| of each raised row; 0 if that is not finite.
func (x *Space) Inverse() []float32 { return x.solver.episode.rows.inverse }

// Examples returns the classes of the examples; -1: not in force.
func (x *Space) Examples() []int32 { return x.solver.episode.examples.cache.label }

// Example appends example i, in z-space, to out.
func (x *Space) Example(out []float32, i int) []float32 { return x.solver.episode.examples.row(out, i) }

// Affinity returns the graph of the last Solve, N rows: (A+A')/2 between unlabelled rows, and from each unlabelled
// row its labelled neighbours with their weight in A (1 without EdgeDecay), example j as column N+j. Rows of
// labelled items are empty if the solver built it.
func (x *Space) Affinity() *index.Affinity { return x.solver.episode.graph.Affinity }

// Distances fills out, n x n, with the squared distances between the first n rows in u-space, before the first
// Solve.
func (x *Space) Distances(out []float32, n int) {
	e := &x.solver.episode
	if e.prototypes.usesGram {
		for p := range n {
			copy(out[p*n:p*n+n], e.prototypes.gram.row(p))
		}
	} else {
		e.productsBeforeGraph(out[:n*n], n)
	}
	squaresOf(out[:n*n], e.rows.squareU[:n])
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

// Between fills out with the squared distances in z-space between rows from to to-1.
func (x *Space) Between(out []float32, from, to int) {
	e, n, d := &x.solver.episode, to-from, x.solver.episode.rows.d
	out = out[:n*n]
	if e.prototypes.usesGram {
		e.prototypes.gram.plain(out, from, to)
	} else {
		kernel.Gram(out, e.rows.z[from*d:to*d], n, d)
	}
	e.scratch.values = vector.Resize(e.scratch.values, n)
	for p := range e.scratch.values {
		e.scratch.values[p] = out[p*n+p]
	}
	squaresOf(out, e.scratch.values)
}

// productsBeforeGraph fills out with the inner products of the first n rows in u-space, in the row-space
// engine, whose rows are still those of v.
func (e *episode) productsBeforeGraph(out []float32, n int) {
	kernel.Gram(out, e.at(0, n, &e.scratch.values), n, e.rows.d)
	m := e.examples.metric
	if e.rows.points != nil || m == nil {
		return
	}
	less := metric.Shrinking(m.Scales)
	for r := range m.Scales {
		sign, along := float32(1), e.rows.along[r*e.rows.firstMean:r*e.rows.firstMean+n]
		if r < less {
			sign = -1
		}
		for p, v := range along {
			kernel.Axpy(sign*v, along, out[p*n:p*n+n])
		}
	}
}

// Label gives the rows other labels, and takes the problem's Proportions anew.
// The rows stay where they are, in the mean of the labels that they were embedded with, and keep their
// neighbours, which take longest to find. Those that were labelled at the first Solve must stay labelled.
func (x *Space) Label(labels []int32) error {
	e, p := &x.solver.episode, x.problem
	p.Labels = labels
	if err := p.checkLabels(); err != nil {
		return err
	}
	e.layOut(p, x.solver.engine == everyRow)
	if e.prototypes.usesGram {
		e.prototypes.gram.findHeld()
	} else if e.settings.Paper.BiasCorrection { // it moves rows by their labels
		e.mapRows(p)
		e.rows.u, x.listed = e.rows.v, false
	}
	return nil
}

// link builds W from the neighbours of each row, or takes the problem's, and adds its Edges.
func (x *Space) link(ctx context.Context) error {
	e, p := &x.solver.episode, x.problem
	if err := p.checkGraphTerms(); err != nil {
		return err
	}
	if !x.listed {
		lists, err := e.neighbours(ctx, p)
		if err != nil {
			return err
		}
		x.lists, x.listed = lists, true
	}
	e.link(p, x.lists)
	e.estimateSigma()
	e.addEdges(p.Edges)
	e.graph.evidence = p.Evidence
	e.takeWeights(p)
	e.graph.order.plan(e)
	return nil
}

// Solve minimises R.
func (x *Space) Solve(ctx context.Context) (*Result, error) {
	r := &x.solver.result
	r.Descent, r.nearestZ = Descent{Trace: r.Trace[:0]}, nil
	if err := x.descend(ctx, &r.Descent); err != nil {
		return nil, err
	}
	e := &x.solver.episode
	r.episode, r.Labels, r.S = e, e.answers(r.Labels), e.soft()
	return r, nil
}

// descend makes the graph, and then minimises R.
func (x *Space) descend(ctx context.Context, r *Descent) error {
	if err := x.link(ctx); err != nil {
		return err
	}
	e, p := &x.solver.episode, x.problem
	if e.classes.clustering {
		e.start(p.Start)
	} else {
		for i, c := range p.Start {
			if e.classes.number[c] < 0 {
				return fmt.Errorf("start: class %d of row %d has neither a labelled row nor a prior", c, i)
			}
		}
		if p.Start != nil {
			e.startFrom(p.Start)
		}
	}
	e.enter()
	return e.descend(ctx, r, p.Progress)
}

// RowError is a fault of one row. errors.As finds it in the errors of Label, Embed and Solve.
type RowError struct {
	Row int
	Err error
}

func (e *RowError) Error() string { return fmt.Sprintf("row %d: %v", e.Row, e.Err) }
func (e *RowError) Unwrap() error { return e.Err }

func rowError(row int, format string, args ...any) error {
	return &RowError{row, fmt.Errorf(format, args...)}
}

// ClassError is a fault in the prior or the proportion of one class, SettingError a fault of one setting.
type (
	ClassError struct {
		Class int
		Err   error
	}
	SettingError struct {
		Setting string
		Err     error
	}
)

func (e *ClassError) Error() string   { return e.Err.Error() }
func (e *ClassError) Unwrap() error   { return e.Err }
func (e *SettingError) Error() string { return e.Setting + " " + e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

func classError(class int, format string, args ...any) error {
	return &ClassError{class, fmt.Errorf(format, args...)}
}

// Label labels the rows whose label is "" from those that have one, with the settings of DefaultPreset. It
// returns a label for each row and its confidence, from 0 to 1; labelled rows keep theirs. For many problems,
// or other settings, use a Solver.
func Label(rows [][]float32, labels []string) (answers []string, confidence []float32, err error) {
	if len(rows) != len(labels) {
		return nil, nil, fmt.Errorf("label: %d labels for %d rows", len(labels), len(rows))
	}
	classes := map[string]int32{}
	for _, label := range labels {
		if label != "" {
			classes[label] = 0
		}
	}
	if len(classes) == 0 {
		return nil, nil, errors.New("label: no row has a label")
	}
	names := slices.Sorted(maps.Keys(classes))
	for c, name := range names {
		classes[name] = int32(c)
	}
	p := &Problem{Rows: List(rows), K: len(names)}
	for _, label := range labels {
		c, known := classes[label]
		if !known {
			c = -1
		}
		p.Labels = append(p.Labels, c)
	}
	solve, err := New(Defaults())
	if err != nil {
		return nil, nil, err
	}
	r, err := solve.Solve(context.Background(), p)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range r.Labels {
		answers = append(answers, names[c])
	}
	return answers, r.Assess().Confidence, nil
}
