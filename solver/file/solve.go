package file

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/communities"
)

// listed is the number of neighbours searched for each row, over which labels are spread: as many as Poisson
// learning was published with.
const listed = 10

// Solve labels every row of the file: by the classes of its labelled rows and its support, or, without any,
// by K clusters. The answer depends on the problem and the settings, not on the number of cores.
func Solve(ctx context.Context, p *Problem, s Settings) (*Result, error) {
	p, err := p.withEveryClass(ctx)
	if err != nil {
		return nil, err
	}
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
	t := trials{problem: p, s: &s}
	labelled, err := t.read(ctx)
	if err != nil {
		return nil, err
	}
	if labelled == 0 {
		l, err := load(ctx, p, &s, false, p.K > 0 && p.N >= manyRows*p.K, &plan)
		if err != nil {
			return nil, err
		}
		s.know(plan)
		r := &Result{Plan: plan, K: p.K}
		return r, l.clusters(ctx, &s, r)
	}
	found, err := t.judge(ctx)
	if err != nil {
		return nil, err
	}
	solved, err := solveIn(ctx, p, &s, plan, found.spaces...)
	if err != nil {
		return nil, err
	}
	r := solved.result
	found.label(solved, t.class, r)
	found.limit(t.class, r)
	return r, nil
}

// manyRows is the number of rows a cluster from which on clusters are looked for in principal directions: no label says
// there whether the rows of one lie side by side in few of them.
const manyRows = 300

// know reports the directions kept and their recall, which a plan knows only once rows are read.
func (s *Settings) know(plan Plan) {
	if plan.Recall > 0 && s.Plan != nil {
		s.Plan(plan)
	}
}

// space is what rows are compared in.
type space int

// Of rows whole a metric is learned, by which classes are spreads around a mean each, as those of texts and pictures are,
// or move, as before a camera, where a row is like its neighbours. The rows of a class of handwritten digits lie side by
// side in few principal directions of the file.
const (
	whole space = iota
	directions
)

// String returns the space as progress adds it to a stage.
func (s space) String() string { return [...]string{whole: "", directions: ", in directions"}[s] }

// objective is how R weighs neighbours, lambda, and the distances to the means of classes, tau, and whether it has what class
// vectors say.
type objective struct {
	lambda, tau float64
	named       bool
}

var (
	byMeans      = objective{lambda: solver.Defaults().Lambda, tau: solver.Defaults().Tau}
	byNeighbours = objective{lambda: 4, tau: 1}
)

// byNames returns the objective with what class vectors say.
func (o objective) byNames() objective {
	o.named = true
	return o
}

// solutions are the answers of the objectives, and of labels that spread, in some spaces.
type solutions struct {
	answers []answer
	second  []int32 // second-best class of each row by the last objective
	matched bool    // clusters found without labels are the classes of the labelled rows
	guide   float64 // how far prototypes are a guide in the first space
	result  *Result // of the first space, without what the vote adds
}

// solveIn labels the rows by each objective in the spaces.
func solveIn(ctx context.Context, p *Problem, s *Settings, plan Plan, spaces ...space) (*solutions, error) {
	all := &solutions{}
	for i, in := range spaces {
		own, plan := *s, plan
		if i > 0 {
			own.Plan = nil
			if s.Progress != nil {
				own.Progress = func(stage string, done, total int64) { s.Progress("in directions: "+stage, done, total) }
			}
		}
		l, err := load(ctx, p, &own, true, in == directions, &plan)
		if err != nil {
			return nil, err
		}
		own.know(plan)
		solved, err := l.labels(ctx, &own, &Result{Plan: plan, K: p.K})
		if err != nil {
			return nil, err
		}
		all.answers, all.second = append(all.answers, solved.answers...), solved.second
		all.matched = all.matched || solved.matched
		if all.result == nil {
			all.result, all.guide = solved.result, solved.guide
		}
	}
	return all, nil
}

// mostExact bounds the rows whose neighbours are searched exactly if the approximate search misses its floor.
// Above it, that would take hours, and the neighbours found approximately are about as near.
const mostExact = 100_000

// enoughRecall is the floor of the search in a trial, which compares ways of solving: all of them miss the same neighbours.
const enoughRecall = .9

// search finds the neighbours of all rows. It need not find more of the neighbours than codes or principal
// directions keep.
func (l *loaded) search(ctx context.Context, s *Settings) (*index.Neighbours, error) {
	floor := s.RecallFloor
	if floor == 0 {
		floor = index.DefaultRecallFloor
		if s.trial != nil {
			floor = enoughRecall
		}
		if l.recall > 0 {
			floor = min(floor, l.recall)
		}
	}
	lists, err := index.Build(ctx, l.points.Rows(0, l.all, make([]float32, len(l.points.Codes))), l.all, l.points.D, index.Options{
		Rho: min(listed, l.all-1), Method: s.Index, RecallFloor: floor, Inexact: l.all > mostExact, Seed: s.Seed, Progress: s.Progress,
		Lean: true, // the plan has no room for another copy of the rows
	})
	if err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	return lists, nil
}

// searchFirst is search before a metric is learned. Where principal directions save nothing, the rows of a trial are the
// same in both spaces, and their neighbours are searched once.
func (l *loaded) searchFirst(ctx context.Context, s *Settings) (*index.Neighbours, error) {
	if s.trial == nil || l.recall > 0 {
		return l.search(ctx, s)
	}
	if s.trial.near == nil {
		lists, err := l.search(ctx, s)
		if err != nil {
			return nil, err
		}
		s.trial.near = lists
	}
	lists := *s.trial.near
	lists.IDs, lists.Distances = slices.Clone(lists.IDs), slices.Clone(lists.Distances)
	return &lists, nil
}

// progress is called with the steps of a stage that are done, and their total. A stage may end before
// its last step.
type progress func(done, total int)

// progress returns a function that reports a stage's steps.
func (s *Settings) progress(stage string) progress {
	return func(done, total int) {
		if s.Progress != nil {
			s.Progress(stage, int64(done), int64(total))
		}
	}
}

// labels solves a file with labelled rows: it spreads labels over the graph, learns a metric from the answer, spreads
// the labels again, and descends from there by each objective; in directions from clusters, if they are the classes. r
// has what is known already.
func (l *loaded) labels(ctx context.Context, s *Settings, r *Result) (*solutions, error) {
	lists, err := l.searchFirst(ctx, s)
	if err != nil {
		return nil, err
	}
	settings := l.labelling(s, byMeans)
	if l.zeroShot != nil {
		l.weighVectors(settings)
	}
	if settings.MetricRank > 0 && settings.MetricShrink < 1 {
		similar := similarities(lists, s.Seed)
		told := s.progress("spreading labels")
		sum, _, err := l.spreadLabels(ctx, similar, nil, settings, told)
		if err != nil {
			return nil, err
		}
		told = s.progress("learning the metric")
		if err := l.learnMetric(sum.class, settings.MetricRank, settings.MetricShrink, told); err != nil {
			return nil, err
		}
		if lists, err = l.search(ctx, s); err != nil {
			return nil, err
		}
	}
	r.Coherence = coherenceOf(lists, l.n, s.Ordered)
	l.mixOrder(lists, r.Coherence)
	similar := similarities(lists, s.Seed)
	out, objectives := &solutions{result: r}, []objective{byNeighbours}
	var judge *spread
	if !l.directions {
		alone, less, err := l.labelsAlone(ctx, similar, s.progress("spreading labels alone"))
		if err != nil {
			return nil, err
		}
		judge, out.answers, objectives = &less, []answer{alone.answer, less.answer}, []objective{byMeans, byNeighbours}
	}
	sum, reach, err := l.spreadLabels(ctx, similar, judge, settings, s.progress("spreading labels"))
	if err != nil {
		return nil, err
	}
	out.answers, out.guide = append(out.answers, sum.answer), l.guide
	s.progress("graph")(0, 1) // only now: while labels spread there is no memory for it
	var matched []int32
	var clusters sync.WaitGroup // found on one core, beside what else takes one
	if l.directions {
		clusters.Go(func() { matched = l.byClusters(similar, sum.class, s.Seed) })
	}
	graph := l.affinity(lists, l.class, settings.Rho)
	if l.zeroShot != nil { // again, with what class vectors say, which has no part in how labels spread
		objectives = append(objectives, byMeans.byNames(), byNeighbours.byNames())
	}
	r.UnknownScore = l.unknownScores(graph, reach)[:l.n]
	err = l.project(r)
	if clusters.Wait(); err != nil {
		return nil, err
	}
	start := sum.class
	if matched != nil {
		out.matched, start = true, matched
	}
	for i, of := range objectives {
		stage := "solving"
		if len(objectives) > 1 {
			stage = fmt.Sprintf("solving in way %d of %d", i+1, len(objectives))
		}
		solved, err := l.descend(ctx, s, stage, graph, l.labelling(s, of), of.named, start, r)
		if err != nil {
			return nil, err
		}
		// S has the graph too, and counts as far as labels reached the row.
		own := answer{class: solved.Labels, named: of.named}
		own.sure, out.second = solved.Doubt(reach)
		out.answers = append(out.answers, own)
	}
	return out, nil
}

// agreeing is the share of labelled rows that the clusters of a file must get right to be its start. On MNIST
// with one label a class they do in all seeds seen, and R would take the spread labels in one of five, .82
// right in place of .97; where clusters are not the classes, as on Statlog Shuttle, they do not.
const agreeing = .9

// byClusters returns the class of each row by its cluster: clusters found without labels and matched one to
// one with the classes so that many rows agree with an answer. A label that lies among the rows of another
// class so does not take them, and its own rows, which hold no label, are not left to a third class. nil:
// clusters are not the classes, as too few labelled rows are in the cluster of theirs.
func (l *loaded) byClusters(similar similarity, answer []int32, seed uint64) []int32 {
	if l.k*l.k > listed*l.all { // the table of clusters and classes takes no more memory than the graph
		return nil
	}
	clusters, count := communities.Find(similar.graph, l.k, communities.Rows{}, seed)
	if count > l.k { // parts of the graph that nothing ties
		return nil
	}
	rows := make([]int, l.k*l.k) // of each cluster in each class of the answer
	for i, p := range similar.order {
		rows[int(clusters[i])*l.k+int(answer[p])]++
	}
	class := matching(rows, l.k)
	out, labelled, right := slices.Clone(l.class), 0, 0
	for i, p := range similar.order {
		y := class[clusters[i]]
		if l.class[p] < 0 {
			out[p] = y
			continue
		}
		if labelled++; l.class[p] == y {
			right++
		}
	}
	if float64(right) < agreeing*float64(labelled) {
		return nil
	}
	return out
}

// matching returns a column for each of k rows of values, no column twice: in at most k rounds any two rows exchange
// theirs if that makes the sum of the values there larger.
func matching(values []int, k int) []int32 {
	column, _ := byFirstRow(nil, k) // each its own, to begin with
	for changed, round := true, 0; changed && round < k; round++ {
		changed = false
		for a := range column {
			for b := range a {
				x, y := column[a], column[b]
				if values[a*k+int(y)]+values[b*k+int(x)] > values[a*k+int(x)]+values[b*k+int(y)] {
					column[a], column[b], changed = y, x, true
				}
			}
		}
	}
	return column
}

// coherenceOf returns the coherence of the rows, at least .1 if ordered is true, 0 if it is false.
func coherenceOf(lists *index.Neighbours, n int, ordered *bool) float64 {
	switch {
	case ordered == nil:
		return coherence(lists, n)
	case *ordered:
		return max(coherence(lists, n), .1)
	}
	return 0
}

// clusters solves a file without labelled rows, starting from communities of the graph.
func (l *loaded) clusters(ctx context.Context, s *Settings, r *Result) error {
	lists, err := l.search(ctx, s)
	if err != nil {
		return err
	}
	settings, err := clustering(s)
	if err != nil {
		return err
	}
	graph := l.affinity(lists, l.class, settings.Rho)
	s.progress("communities")(0, 1)
	answer, count := communities.Find(graph, l.k, l.points.Each(), s.Seed)
	if l.k == 0 {
		l.k, r.K = count, count
	}
	solved, err := l.descend(ctx, s, "solving", graph, settings, false, answer, r)
	if err != nil {
		return err
	}
	r.Confidence, r.Second = solved.Doubt(nil) // clusters are defined by their means
	r.Labels, r.UnknownLimit = solved.Labels, math.Inf(1)
	return l.project(r)
}
