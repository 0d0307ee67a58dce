package stream

import (
	"context"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

const (
	clusterMerge  = .1  // two prototypes nearer than this share of the distance for births are of one cluster
	clusterTwin   = .3  // two rows of one frame nearer than this share of it may be one thing
	clusterWindow = 20  // a running prototype weighs no more than this many items
	clustersKept  = 512 // the one longest unseen is retired beyond it
)

// clusterSettings are the solver's for clusters.
func clusterSettings(s solver.Settings) solver.Settings {
	s.Method, s.Power, s.MetricRank = solver.SLKMeans, 1, 0
	s.Lambda, s.Rho, s.Tau = 2, 8, 6
	s.U, s.Beta = .75, .25
	return s
}

// answerClusters answers an episode of a stream that nobody has taught enough to go by labels: with clusters.
func (s *Stream) answerClusters(ctx context.Context, e *Engine, done *answered) ([]Answer, error) {
	items, report := done.items, done.report
	all := make([]int, len(items))
	for i := range all {
		all[i] = i
	}
	found, r, err := s.cluster(ctx, e, items, all, report)
	if err != nil {
		return nil, err
	}
	e.solved = r
	report.Iterations, report.Sweeps, report.Rises = r.Iterations, r.Sweeps, r.Rises
	report.Before, report.After = r.ObjectiveBefore, r.ObjectiveAfter
	report.Warm = s.episode > 0
	answers := make([]Answer, len(items))
	for i := range answers {
		answers[i] = Answer{Label: found[i].label(), Confidence: float64(r.Confidence[i])}
		if items[i].Label != "" {
			answers[i].Label, answers[i].Confidence = items[i].Label, 1
		}
	}
	return answers, nil
}

// discover gives the unknown items of a labelled episode their clusters; the best label becomes an
// alternative.
func (s *Stream) discover(
	ctx context.Context, e *Engine, items []Item, answers []Answer, report *Report,
) error {
	var unknown []int
	for i := range answers {
		if answers[i].Unknown {
			unknown = append(unknown, i)
		}
	}
	found, r, err := s.cluster(ctx, e, items, unknown, report)
	if err != nil {
		return err
	}
	report.Rises += r.Rises
	for i, at := range unknown {
		a := &answers[at]
		known := Alternative{Label: a.Label, Confidence: a.Confidence}
		a.Label, a.Confidence, a.Calibrated = found[i].label(), float64(r.Confidence[i]), false
		a.Alternatives = append([]Alternative{known}, a.Alternatives...)
	}
	return nil
}

// cluster gives each of the chosen items its cluster: rows far from every running prototype propose new
// ones, SLK settles who belongs where, and a proposal that ends with nobody is dropped.
func (s *Stream) cluster(
	ctx context.Context, e *Engine, items []Item, chosen []int, report *Report,
) ([]*cluster, *solver.Result, error) {
	d, n := s.dimension, len(chosen)
	set := &s.clusters
	unit := make([]float32, n*d)
	for p, at := range chosen {
		unitRow(unit[p*d:p*d+d], items[at].Vector)
	}
	set.sum = slices.Clone(set.sum) // what is learned of an episode that cannot be solved is thrown away
	set.addRows(unit, d)
	frames := make([]string, n)
	shown := make([]Item, n)
	for p, at := range chosen {
		shown[p] = items[at]
		frames[p] = items[at].Frame
	}
	if s.settings.FrameWeight == 0 {
		clear(frames)
	}
	rows := slices.Clone(unit)
	space := set.space(s.settings.DiscoverDistance, rows)
	set.apart.learn(rows, frames, n, d)
	var reach []float64
	if s.settings.Time {
		reach = set.reach(s.episode)
	}
	all, means := set.propose(space, reach, rows, frames, n, d)
	old := len(set.list)
	problem := solver.Problem{
		Rows: rows, N: n, D: d, Assess: true,
		Prior: &solver.Prior{}, Embedding: &solver.Embedding{Mean: make([]float32, d)},
	}
	for k, c := range all {
		problem.Prior.Means = append(problem.Prior.Means, means[k]...)
		problem.Prior.Weights = append(problem.Prior.Weights, float32(c.mass))
	}
	problem.K = len(all)
	lately := set.lately(all)
	problem.Proportions = set.expected(len(all), lately)
	settings := clusterSettings(s.settings.Solver)
	problem.BeforeGraph = s.clusterRelation(&e.problem, &problem, shown, &settings, n == len(items))
	r, err := e.clusters.Solve(ctx, &problem)
	if err != nil {
		return nil, nil, err
	}
	count := make([]int64, len(all))
	for _, l := range r.Labels {
		count[l]++
	}
	if lately != nil {
		set.recurrence = set.after(lately, masses(r.S[:n*len(all)], len(all)))
	}
	for k, c := range all {
		c.lately = c.lately/2 + float64(count[k])
		if count[k] == 0 {
			continue
		}
		if k >= old {
			c.mass = 0 // what proposed it is among the rows
		}
		c.learn(unit, r.S, n, len(all), k, d)
		c.items += count[k]
		c.seen = s.episode + 1
		if k >= old {
			c.id = set.next
			set.next++
			set.list = append(set.list, c)
			report.Events = append(report.Events, Event{Kind: "born", Class: c.label()})
		}
	}
	merged := set.merge(space, report)
	found := make([]*cluster, n)
	for p, l := range r.Labels {
		found[p] = all[l]
		for merged[found[p]] != nil {
			found[p] = merged[found[p]]
		}
	}
	set.retire(report)
	return found, r, nil
}

// propose returns the clusters and, behind the old ones, those that sequential leaders propose, each with
// its prototype in the space of the rows: row by row, each joins the nearest running prototype and moves it,
// or leads a new one where none is nearer than the distance for births. Of one frame no two rows join the
// same one unless they are almost alike. The clusters themselves are not moved. reach is that of the old
// ones, in parts of the distance for births; nil: 1 each.
func (s *clusters) propose(
	space *clusterSpace, reach []float64, rows []float32, frames []string, n, d int,
) ([]*cluster, [][]float32) {
	all, means := slices.Clone(s.list), space.prototypes(s.list)
	leaders := make([]cluster, len(all))
	for k, c := range all {
		leaders[k] = cluster{mean: slices.Clone(means[k]), mass: c.mass}
	}
	type member struct{ leader, row int }
	taken := map[string][]member{} // of each frame
	for p := range n {
		row := rows[p*d : p*d+d]
		nearest, at := math.Inf(1), -1
		for k := range leaders {
			v := float64(kernel.SquaredDistance(row, leaders[k].mean))
			if k < len(reach) {
				v /= reach[k]
			}
			if v >= nearest || slices.ContainsFunc(taken[frames[p]], func(m member) bool {
				other := rows[m.row*d : m.row*d+d]
				return m.leader == k && float64(kernel.SquaredDistance(row, other)) > clusterTwin*space.birth
			}) {
				continue
			}
			nearest, at = v, k
		}
		if at < 0 || nearest > space.birth {
			at = len(leaders)
			leaders = append(leaders, cluster{mean: make([]float32, d)})
		}
		if frames[p] != "" {
			taken[frames[p]] = append(taken[frames[p]], member{at, p})
		}
		l := &leaders[at]
		kernel.Scale(float32(l.mass/(l.mass+1)), l.mean)
		kernel.Axpy(float32(1/(l.mass+1)), row, l.mean)
		l.mass = min(clusterWindow, l.mass+1)
	}
	for _, l := range leaders[len(all):] {
		all, means = append(all, &cluster{mass: 1}), append(means, l.mean)
	}
	return all, means
}

// learn moves the running prototype by the episode's soft members. A new cluster, of mass 0, has none yet.
func (c *cluster) learn(unit, soft []float32, n, classes, k, d int) {
	sum, mass := make([]float64, d), 0.
	for p := range n {
		w := float64(soft[p*classes+k])
		if w < 1e-9 {
			continue
		}
		mass += w
		for j, v := range unit[p*d : p*d+d] {
			sum[j] += w * float64(v)
		}
	}
	mean := make([]float32, d)
	for j := range mean {
		if c.mass > 0 {
			sum[j] += c.mass * float64(c.mean[j])
		}
		mean[j] = float32(sum[j] / (c.mass + mass))
	}
	c.mean, c.mass = mean, min(clusterWindow, c.mass+mass)
}

// lately is the part of each cluster in what was lately seen: a proposal counts as a middling one; nil
// where nothing was seen.
func (s *clusters) lately(all []*cluster) []float64 {
	out := make([]float64, len(all))
	var sum float64
	for k, c := range s.list {
		out[k] = c.lately
		sum += c.lately
	}
	if sum == 0 {
		return nil
	}
	middling := sum / float64(len(s.list))
	for k := len(s.list); k < len(all); k++ {
		out[k] = middling
		sum += middling
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}
