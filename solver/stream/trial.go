package stream

import (
	"context"
	"slices"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// trial is an episode in which the labels of its taught items are hidden, and new examples of the labels
// topic are rows without a label. Calibration and the weights learn from its answers to them, where these
// could be right. Each is answered as items are, which have labelled ones around them: by one more update of its own
// row, in which the others have their labels back.
type trial struct {
	hidden []int           // taught items
	fresh  []*taught.Entry // new examples
	labels []int32         // of the rows; none in the episode itself is labelled
	known  []int32         // the labels that they have
	others []float64       // labelled items of each class that are left
}

// trial returns the episode's trial; nil: there is nothing to hide, or nothing else is labelled.
func (s *Stream) trial(of *episode) *trial {
	if of.cold || of.number == 1 {
		return nil
	}
	p := of.problem
	var hidden []int
	for i := range of.items {
		if of.items[i].Label != "" {
			hidden = append(hidden, i)
		}
	}
	var fresh []*taught.Entry
	if of.relabels {
		fresh = s.calibration.untested(p)
	}
	if len(hidden)+len(fresh) == 0 {
		return nil
	}
	t := &trial{hidden: hidden, fresh: fresh, known: slices.Clone(p.labels), others: slices.Clone(p.labelCounts)}
	for _, i := range hidden {
		t.others[p.labels[i]]--
	}
	for _, e := range fresh {
		c := p.numbers[e.Label]
		t.known = append(t.known, c)
		t.others[c]--
	}
	t.labels = slices.Repeat([]int32{-1}, len(t.known))
	if slices.Max(t.others) == 0 {
		return nil
	}
	return t
}

// solveIn solves the trial with the rows of the episode as they are embedded, and their neighbours: the mean
// of the labelled rows counts the hidden ones, too.
func (t *trial) solveIn(ctx context.Context, of *episode) error {
	p, x := &of.problem.Problem, of.space
	judge := p.Judge
	p.Judge = false
	if err := x.Label(t.labels); err != nil {
		return err
	}
	r, err := assessed(x.Solve(ctx))
	if err != nil {
		return err
	}
	t.learn(of, p, x, r)
	p.Judge = judge
	return nil
}

// solveApart solves the trial as a problem of its own, as it has other rows.
func (t *trial) solveApart(ctx context.Context, of *episode) error {
	problem, x, r, err := t.apart(ctx, of, of.problem.sets[0])
	if err == nil {
		t.learn(of, problem, x, r)
	}
	return err
}

// apart solves an episode with these labels, and with examples of a set as further rows without one.
func (t *trial) apart(ctx context.Context, of *episode, from *taught.Prepared) (
	*solver.Problem, *solver.Space, *solver.Result, error,
) {
	p := of.problem
	problem := p.Problem
	problem.Judge, problem.Earlier = false, 0
	rows, sets := slices.Clone(p.each), slices.Clone(p.exampleSets)
	own := slices.IndexFunc(sets, func(b solver.ExampleSet) bool { return b.Examples == from.Examples })
	without := slices.Clone(sets[own].Without)
	for _, e := range t.fresh {
		row, _ := from.Row(e)
		rows, without = append(rows, e.Vector), append(without, row)
	}
	slices.Sort(without)
	sets[own].Without = without
	problem.Labels = append(slices.Clip(t.labels), slices.Repeat([]int32{-1}, len(rows)-len(t.labels))...)
	problem.Rows, problem.Examples = solver.List(rows), solver.Prepared(nil, sets...)
	x, err := of.engine.solver.Embed(&problem)
	if err != nil {
		return nil, nil, nil, err
	}
	t.labels = problem.Labels
	r, err := assessed(x.Solve(ctx))
	return &problem, x, r, err
}

// learn lists the answers of a solved trial, and fits the weights to those that could be right.
func (t *trial) learn(of *episode, solved *solver.Problem, x *solver.Space, r *solver.Result) {
	p, s := of.problem, of.stream
	scores, limit := p.unknownScores(solved, x, r), s.unknownLimit(&s.novelty.scores)
	given, sources := x.Given(t.known), &trialSources{}
	add := func(row int, id, label string, topic bool) {
		c, ok := p.numbers[label]
		if !ok || t.others[c] == 0 { // no answer could be right
			return
		}
		given.Sources(row, &sources.item)
		sources.add(c)
		if id == "" {
			return
		}
		answer := s.weights.answer(&sources.item)
		of.tested = append(of.tested, verdict{
			id: id, label: label, predicted: p.names[answer], topic: topic,
			z: limit.Confidence(s.weights.probability(&sources.item, answer), scores[row]), score: float32(scores[row]),
		})
	}
	for _, i := range t.hidden {
		add(i, itemID(of.items, i, s.episode+1), of.items[i].Label, false)
	}
	for j, e := range t.fresh {
		add(p.Rows.N()+j, e.ID, e.Label, true)
	}
	s.weights.fit(sources)
}
