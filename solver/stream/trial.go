package stream

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/solver"
)

// trial is an episode in which the labels of its taught items are hidden, and new examples of the labels
// topic are rows without a label. Calibration learns from its answers to them, where these could be right.
type trial struct {
	hidden []int       // taught items
	fresh  []*labelled // new examples
	labels []int32     // of the rows; none in the episode itself is labelled
	others []float64   // labelled items of each class that are left
}

// trial returns the episode's trial; nil: there is nothing to hide, or nothing else is labelled.
func (s *Stream) trial(of *episode) *trial {
	if of.cold || of.number == 1 {
		return nil
	}
	p, t := of.problem, &trial{}
	for i := range of.items {
		if of.items[i].Label != "" {
			t.hidden = append(t.hidden, i)
		}
	}
	if of.relabels {
		t.fresh = s.calibration.untested(p)
	}
	if len(t.hidden)+len(t.fresh) == 0 {
		return nil
	}
	t.labels, t.others = slices.Repeat([]int32{-1}, p.N+len(t.fresh)), slices.Clone(p.labelCounts)
	for _, i := range t.hidden {
		t.others[p.numbers[of.items[i].Label]]--
	}
	for _, e := range t.fresh {
		t.others[p.numbers[e.Label]]--
	}
	if slices.Max(t.others) == 0 {
		return nil
	}
	return t
}

// solveIn solves the trial with the rows of the episode as they are embedded, and their neighbours: the mean
// of the labelled rows counts the hidden ones, too.
func (t *trial) solveIn(ctx context.Context, space *solver.Space, of *episode) error {
	p := &of.problem.Problem
	judge := p.Judge
	p.Judge = false
	if err := space.Label(t.labels); err != nil {
		return err
	}
	r, err := descend(ctx, space)
	if err != nil {
		return err
	}
	of.tested = t.answers(of, p, r)
	of.stream.evidence.fit(t.testimony(of, r))
	p.Judge = judge
	return nil
}

// solveApart solves the trial as a problem of its own, as it has other rows.
func (t *trial) solveApart(ctx context.Context, of *episode) error {
	p := of.problem
	problem := p.Problem
	problem.Judge, problem.Prepared, problem.Earlier = false, nil, 0
	rows := slices.Clone(p.each)
	problem.Labels, problem.Beside = t.labels, slices.Clone(p.beside)
	own := &problem.Beside[0]
	for _, e := range t.fresh {
		row, _ := p.sets[0].row(e)
		rows, own.Without = append(rows, e.Vector), append(own.Without, row)
	}
	problem.List(rows)
	slices.Sort(own.Without)
	space, err := of.engine.solver.Embed(&problem)
	if err != nil {
		return err
	}
	r, err := descend(ctx, space)
	if err != nil {
		return err
	}
	of.tested = t.answers(of, &problem, r)
	of.stream.evidence.fit(t.testimony(of, r))
	return nil
}

// testimony lists what the sources of evidence say of the hidden items and the examples that could be answered
// right.
func (t *trial) testimony(of *episode, r *solver.Result) *testimony {
	p := of.problem
	out := &testimony{k: p.K}
	add := func(row int, label string) {
		if c, ok := p.numbers[label]; ok && t.others[c] > 0 {
			out.add(r, row, c)
		}
	}
	for _, i := range t.hidden {
		add(i, of.items[i].Label)
	}
	for j, e := range t.fresh {
		add(p.N+j, e.Label)
	}
	return out
}

// answers lists the answers of a solved trial.
func (t *trial) answers(of *episode, solved *solver.Problem, r *solver.Result) (out []heldOut) {
	p, s := of.problem, of.stream
	scores, limit := unknownScores(solved, r, p.nobody()), s.unknownLimit(&s.novelty.scores)
	add := func(row int, id, label string, topic bool) {
		if c, ok := p.numbers[label]; ok && id != "" {
			out = append(out, heldOut{
				id: id, label: label, predicted: p.names[r.Labels[row]], topic: topic, alone: t.others[c] == 0,
				z: limit.confidence(r.Confidence[row], scores[row]), score: float32(scores[row]),
			})
		}
	}
	for _, i := range t.hidden {
		add(i, itemID(of.items, i, s.episode+1), of.items[i].Label, false)
	}
	for j, e := range t.fresh {
		add(p.N+j, e.ID, e.Label, true)
	}
	return out
}
