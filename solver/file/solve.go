package file

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
)

// listed is how many neighbours of each row are searched for, spreading how many of them labels are spread
// over.
const (
	listed    = 12
	spreading = 10
)

// Solve labels every row of the file: by the classes of its labelled rows and its support, or, where there
// are none, by K clusters. The answer depends on the problem and the settings, not on the cores.
func Solve(ctx context.Context, p *Problem, s Settings) (*Result, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	plan, err := p.plan(s.Memory)
	if err != nil {
		return nil, err
	}
	if s.Plan != nil {
		s.Plan(plan)
	}
	l, err := load(ctx, p, &s, &plan)
	if err != nil {
		return nil, err
	}
	if plan.Recall > 0 && s.Plan != nil { // what was kept of the rows is known now
		s.Plan(plan)
	}
	r := &Result{Plan: plan, K: p.K}
	if l.support {
		return r, l.labels(ctx, &s, r)
	}
	return r, l.clusters(ctx, &s, r)
}

// mostExact is up to how many rows neighbours are searched for exactly where the approximate search misses
// its floor: beyond, that takes hours, and what is found instead lies about as near.
const mostExact = 100_000

// search finds the neighbours of all rows. Where rows are codes it need not find more of the neighbours than
// codes keep.
func (l *loaded) search(ctx context.Context, s *Settings) (*index.Neighbours, error) {
	floor := s.RecallFloor
	if floor == 0 && l.recall > 0 {
		floor = min(index.DefaultRecallFloor, l.recall)
	}
	lists, err := index.Build(ctx, l.points.all(), l.all, l.points.d, index.Options{
		Rho: min(listed, l.all-1), Method: s.Index, RecallFloor: floor, Inexact: l.all > mostExact, Seed: s.Seed, Progress: s.Progress,
		Lean: true, // the plan has no room for another copy of the rows
	})
	if err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	return lists, nil
}

// progress is told how many of a stage's steps are done. A stage may end before its last step.
type progress func(done, total int)

// progress reports a stage's steps.
func (s *Settings) progress(stage string) progress {
	return func(done, total int) {
		if s.Progress != nil {
			s.Progress(stage, int64(done), int64(total))
		}
	}
}

// labels solves a file with labelled rows: labels spread over the graph, the metric that the answer teaches,
// labels spread again, and the descent from there.
func (l *loaded) labels(ctx context.Context, s *Settings, r *Result) error {
	lists, err := l.search(ctx, s)
	if err != nil {
		return err
	}
	constants := l.labelling(s)
	if constants.MetricRank > 0 && constants.MetricShrink < .99 {
		similar := similarities(lists, spreading, l.points.nearby())
		answer, _, err := l.spreadLabels(ctx, similar, l.class, constants, s.progress("spreading labels"))
		if err != nil {
			return err
		}
		told := s.progress("learning the metric")
		if err := l.learnMetric(answer, constants.MetricRank, constants.MetricShrink, told); err != nil {
			return err
		}
		if lists, err = l.search(ctx, s); err != nil {
			return err
		}
	}
	r.Coherence = l.coherence(lists, s)
	similar := similarities(lists, spreading, l.points.nearby())
	answer, reach, err := l.spreadLabels(ctx, similar, l.class, constants, s.progress("spreading labels"))
	if err != nil {
		return err
	}
	s.progress("graph")(0, 1) // not before: beside all that spreads labels it would not fit
	graph := l.affinity(lists, l.class, constants.Rho, r.Coherence)
	e := newDescent(l, l.class, graph, r.Coherence, constants, answer)
	if err := e.run(ctx, s.Check, s.progress("solving"), r); err != nil {
		return err
	}
	r.Labels = largest(e.s, l.k)
	own := e.doubt(r.Labels, reach)
	r.Labels, r.Confidence, r.UnknownScore, r.Second = r.Labels[:l.n], own.confidence[:l.n], own.unknown[:l.n], own.second[:l.n]
	l.place(r)
	return l.calibrate(ctx, lists, similar, s, r)
}

// coherence is what the settings say of the order, or what the rows do.
func (l *loaded) coherence(lists *index.Neighbours, s *Settings) float64 {
	c := coherence(lists, l.n)
	if s.Ordered != nil {
		if !*s.Ordered {
			return 0
		}
		return max(c, .1)
	}
	return c
}

// clusters solves a file without labelled rows: from communities of the graph.
func (l *loaded) clusters(ctx context.Context, s *Settings, r *Result) error {
	lists, err := l.search(ctx, s)
	if err != nil {
		return err
	}
	constants := clustering(s)
	graph := l.affinity(lists, l.class, constants.Rho, 0)
	s.progress("communities")(0, 1)
	scratch := l.points.scratch(1)
	rows := solver.Rows{
		Dimension: l.points.d,
		Row:       func(p int) []float32 { return l.points.rows(p, p+1, scratch) },
	}
	answer := solver.Communities(graph, l.k, rows, s.Seed)
	if l.k == 0 {
		l.k = int(slices.Max(answer)) + 1
		r.K = l.k
	}
	e := newDescent(l, l.class, graph, 0, constants, answer)
	if err := e.run(ctx, s.Check, s.progress("solving"), r); err != nil {
		return err
	}
	r.Labels = largest(e.s, l.k)
	own := e.doubt(r.Labels, nil)
	r.Confidence, r.Second, r.UnknownLimit = own.confidence, own.second, math.Inf(1)
	l.place(r)
	return nil
}
