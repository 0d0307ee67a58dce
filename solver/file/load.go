package file

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/solver"

	"github.com/slkstream/slkstream/internal/vector"
)

// loaded is a problem in memory: embedded rows, the file's first, then the support's.
type loaded struct {
	n, all, k int
	points    solver.Points
	class     []int32 // of all rows, -1: to be solved
	support   bool
	zeroShot  *zeroShot // by class vectors; nil: nothing
	recall    float64   // share of the neighbours that codes or principal directions keep; 0: whole rows
	// only principal directions of the rows count
	directions bool
	guide      float64 // how far prototypes are a guide, 0 to 1
}

// load reads the file: once, or with codes twice, first for a sample and the mean, then for the codes. labelled: it has
// labelled rows, of each class.
func load(ctx context.Context, p *Problem, s *Settings, labelled, directions bool, plan *Plan) (*loaded, error) {
	l := &loaded{
		support: labelled, directions: directions, guide: 1, n: p.N, all: p.N + p.Support.N, k: p.K,
		class: make([]int32, p.N+p.Support.N),
	}
	copy(l.class[p.N:], p.SupportClasses)
	e := &embedding{power: s.Power, support: labelled}
	if e.power == 0 {
		e.power = solver.Defaults().Power
	}
	var kept vector.Matrix
	var picked []int32 // rows of the sample, or all of them
	every := 1
	if plan.Code > 0 {
		every = max(1, p.N/sampleRows)
		kept = vector.New((p.N+every-1)/every, p.D)
	} else {
		kept = vector.New(l.all, p.D)
	}
	progress := func(stage string, done int) {
		if s.Progress != nil && done%chunk == 0 {
			s.Progress(stage, int64(done), int64(p.N))
		}
	}
	var err error
	if !directions {
		if l.zeroShot, err = p.newZeroShot(); err != nil {
			return nil, err
		}
	}
	rows := newMean(p.K, p.D)
	for i := range p.Support.N {
		rows.add(e, p.Support.Row(i), p.SupportClasses[i])
		l.zeroShot.read(p.N+i, p.Support.Row(i))
		if plan.Code == 0 {
			copy(kept.Row(p.N+i), p.Support.Row(i))
		}
	}
	err = p.each(ctx, func(i int, row []float32, class int32) error {
		progress("reading", i)
		l.zeroShot.read(i, row)
		l.class[i] = class
		rows.add(e, row, class)
		if i%every == 0 {
			copy(kept.Row(len(picked)), row)
			picked = append(picked, int32(i))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if l.support {
		for c := range p.K {
			if rows.counts[c] == 0 {
				return nil, fmt.Errorf("class %d: no row is labelled with it", c)
			}
		}
	}
	e.mean = rows.mean()
	eachChunk(kept.N, func(_, from, to int) {
		row := make([]float32, p.D)
		for i := from; i < to; i++ {
			e.embed(row, kept.Row(i))
			copy(kept.Row(i), row)
		}
	})
	floor := 1. // where classes are spreads around means, small directions separate them, and all neighbours are kept
	if directions {
		floor = keptInDirections
	}
	if floor < 1 {
		progress("principal directions", 0)
	}
	if plan.Code == 0 {
		l.points = solver.Points{N: l.all, D: p.D, Values: kept.Values}
		return l, l.reduce(floor, plan)
	}
	c, recall, err := newCoder(kept, plan.Code, floor)
	if err != nil {
		return nil, err
	}
	code := c.directions.N
	plan.Code, plan.Recall, l.recall = code, recall, recall
	plan.size(l.all, p.K)
	kept = vector.Matrix{}
	l.points = solver.Points{N: l.all, D: code, Codes: make([]int8, l.all*code), Step: c.step}
	row, out := make([]float32, p.D), make([]float32, code)
	encode := func(i int, x []float32) {
		e.embed(row, x)
		c.project(out, row)
		l.points.Write(i, out)
	}
	for i := range p.Support.N {
		encode(p.N+i, p.Support.Row(i))
	}
	return l, p.each(ctx, func(i int, x []float32, _ int32) error {
		progress("encoding", i)
		encode(i, x)
		return nil
	})
}

// reduce replaces the rows by principal directions that keep the floor of their neighbours. The rows stay
// whole if that takes more than mostCode directions or saves none.
func (l *loaded) reduce(floor float64, plan *Plan) error {
	if d := l.points.D; floor >= 1 || d <= leastCode {
		return nil
	}
	rows := vector.Rows(l.points.Values, l.points.D)
	every := max(1, l.n/sampleRows)
	sample := vector.New((l.n+every-1)/every, rows.D)
	for i := range sample.N {
		copy(sample.Row(i), rows.Row(i*every))
	}
	c, recall, err := newCoder(sample, mostCode, floor)
	if err != nil || recall < floor || c.directions.N == rows.D {
		return err
	}
	code := c.directions.N
	l.points = solver.Points{N: l.all, D: code, Values: make([]float32, l.all*code)}
	eachChunk(rows.N, func(_, from, to int) {
		for i := from; i < to; i++ {
			c.project(l.points.Values[i*code:(i+1)*code], rows.Row(i))
		}
	})
	plan.Directions, plan.Recall, l.recall = code, recall, recall
	return nil
}
