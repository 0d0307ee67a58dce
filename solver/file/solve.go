package file

import (
	"context"
	"fmt"
	"math"
	"slices"

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
	p, err := p.represent(ctx)
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
	best, became, err := t.choose(ctx)
	if err != nil {
		return nil, err
	}
	solved, err := solveAs(ctx, p, &s, plan, best)
	if err != nil {
		return nil, err
	}
	if solved[0].UnknownScore != nil {
		t.fit(became, solved[0])
	}
	return solved[0], nil
}

// way is how a file with labelled rows is solved.
type way struct {
	directions  bool    // only principal directions of the rows count, and no metric is learned
	lambda, tau float64 // weight of neighbours, and of the distances to the means of classes
}

// The ways that are tried. Classes may be spreads around a mean each, as those of texts and pictures are, or move, as
// before a camera, where a row is like its neighbours and not like its class's mean, or be something between. The rows of
// a class of handwritten digits lie side by side in few directions.
var (
	byMeans     = way{lambda: solver.Defaults().Lambda, tau: solver.Defaults().Tau}
	asGiven     = []way{byMeans, {lambda: 2, tau: solver.Defaults().Tau}, {lambda: 4, tau: 1}}
	inDirection = way{directions: true, lambda: 4, tau: 1}
)

// solveAs labels the rows in each of the ways, which are alike but for lambda and tau.
func solveAs(ctx context.Context, p *Problem, s *Settings, plan Plan, ways ...way) ([]*Result, error) {
	l, err := load(ctx, p, s, ways[0].directions, &plan)
	if err != nil {
		return nil, err
	}
	if plan.Recall > 0 && s.Plan != nil { // the directions kept and their recall are known now
		s.Plan(plan)
	}
	r := &Result{Plan: plan, K: p.K}
	if l.support {
		return l.labels(ctx, s, r, ways)
	}
	return []*Result{r}, l.clusters(ctx, s, r)
}

// mostExact bounds the rows whose neighbours are searched exactly if the approximate search misses its floor.
// Above it, that would take hours, and the neighbours found approximately are about as near.
const mostExact = 100_000

// search finds the neighbours of all rows. It need not find more of the neighbours than codes or principal
// directions keep.
func (l *loaded) search(ctx context.Context, s *Settings) (*index.Neighbours, error) {
	floor := s.RecallFloor
	if floor == 0 && l.recall > 0 {
		floor = min(index.DefaultRecallFloor, l.recall)
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
// the labels again, and descends from there in each of the ways; in directions from communities too. r has what is known
// already.
func (l *loaded) labels(ctx context.Context, s *Settings, r *Result, ways []way) ([]*Result, error) {
	lists, err := l.search(ctx, s)
	if err != nil {
		return nil, err
	}
	settings := l.labelling(s, ways[0])
	if l.said != nil {
		l.weighVectors(settings)
	}
	if settings.MetricRank > 0 && settings.MetricShrink < 1 {
		similar := similarities(lists, s.Seed)
		told := s.progress("spreading labels")
		answer, _, err := l.spreadLabels(ctx, similar, l.class, settings, told)
		if err != nil {
			return nil, err
		}
		told = s.progress("learning the metric")
		if err := l.learnMetric(answer, settings.MetricRank, settings.MetricShrink, told); err != nil {
			return nil, err
		}
		if lists, err = l.search(ctx, s); err != nil {
			return nil, err
		}
	}
	r.Coherence = coherenceOf(lists, l.n, s.Ordered)
	l.inOrder(lists, r.Coherence)
	similar := similarities(lists, s.Seed)
	told := s.progress("spreading labels")
	start, reach, err := l.spreadLabels(ctx, similar, l.class, settings, told)
	if err != nil {
		return nil, err
	}
	s.progress("graph")(0, 1) // only now: while labels spread there is no memory for it
	graph := l.affinity(lists, l.class, settings.Rho)
	starts := [][]int32{start}
	if l.directions && l.k <= fewClasses { // communities may be more informative than spread labels
		if matched := l.byClusters(similar, start, s.Seed); matched != nil {
			starts = [][]int32{matched}
		} else if other := l.byCommunities(similar, start, s.Seed); other != nil {
			starts = append(starts, other)
		}
	}
	r.UnknownScore = l.unknownScores(graph)[:l.n]
	if err := l.project(r); err != nil {
		return nil, err
	}
	var all []*Result
	for i, of := range ways {
		own, stage := *r, "solving"
		if len(ways) > 1 {
			stage = fmt.Sprintf("solving in way %d of %d", i+1, len(ways))
		}
		solved, err := l.descend(ctx, s, stage, graph, l.labelling(s, of), starts, &own)
		if err != nil {
			return nil, err
		}
		// S has the graph too, and counts as far as labels reached the row.
		own.Confidence, own.Second = solved.Doubt(reach)
		own.Labels, own.Confidence, own.Second = solved.Labels[:l.n], own.Confidence[:l.n], own.Second[:l.n]
		all = append(all, &own)
	}
	return all, nil
}

// fewClasses bounds the classes of a file that is solved from a second start, as two answers for all rows
// must fit into memory.
const fewClasses = 64

// agreeing is the share of labelled rows that the clusters of a file must get right to be its start. On MNIST
// with one label a class they do in all seeds seen, and R would take the spread labels in one of five, .82
// right in place of .97; where clusters are not the classes, as on Statlog Shuttle, they do not.
const agreeing = .9

// byClusters returns the class of each row by its cluster: clusters found without labels and matched one to
// one with the classes so that many rows agree with an answer. A label that lies among the rows of another
// class so does not take them, and its own rows, which hold no label, are not left to a third class. nil:
// clusters are not the classes, as too few labelled rows are in the cluster of theirs.
func (l *loaded) byClusters(similar similarity, answer []int32, seed uint64) []int32 {
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

// matching returns a column for each of k rows of values, no column twice: in k rounds any two rows exchange
// theirs if that makes the sum of the values there larger.
func matching(values []int, k int) []int32 {
	column, _ := byFirstRow(nil, k) // each its own, to begin with
	for range k {
		for a := range column {
			for b := range a {
				x, y := column[a], column[b]
				if values[a*k+int(y)]+values[b*k+int(x)] > values[a*k+int(x)]+values[b*k+int(y)] {
					column[a], column[b] = y, x
				}
			}
		}
	}
	return column
}

// byCommunities returns the class of each row by the labels in its community, or its answer if the community
// is tied to no label; nil if communities do not separate classes.
func (l *loaded) byCommunities(similar similarity, answer []int32, seed uint64) []int32 {
	found := communities.Labelled(similar.graph, similar.in(l.class), l.k, seed)
	if found == nil {
		return nil
	}
	out := slices.Clone(answer)
	for i, y := range found {
		if p := similar.order[i]; y >= 0 && l.class[p] < 0 {
			out[p] = y
		}
	}
	return out
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
	solved, err := l.descend(ctx, s, "solving", graph, settings, [][]int32{answer}, r)
	if err != nil {
		return err
	}
	r.Confidence, r.Second = solved.Doubt(nil) // clusters are defined by their means
	r.Labels, r.UnknownLimit = solved.Labels, math.Inf(1)
	return l.project(r)
}
