package memory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"slkstream/internal/kernel"
	"slkstream/solver"
)

// Clusters live on the unit sphere of the raw rows: no mean and no metric, which are learned from labels, so that an id
// means the same from the first episode on.
const (
	clusterBirth  = .8 // a row further than this squared distance from every prototype proposes a cluster
	clusterWindow = 20 // a running prototype weighs no more than this many items
)

// clusterSettings are the solver's for clusters.
func clusterSettings(s solver.Settings) solver.Settings {
	s.Method, s.Power, s.MetricRank = "slk-means", 1, 0
	s.Lambda, s.Rho, s.Tau = 2, 8, 8
	return s
}

// cluster is a class that no label made.
type cluster struct {
	id    int64
	name  string // given by teaching a member; empty until then
	mean  []float32
	mass  float64
	items int64 // answered with it
	seen  int64 // the last episode it was answered with
}

func (c *cluster) label() string {
	if c.name != "" {
		return c.name
	}
	return fmt.Sprintf("cluster-%d", c.id)
}

// clusterSet holds a stream's clusters in the order of their ids. An id is given once and never again.
type clusterSet struct {
	next int64
	list []*cluster
}

// Cluster is one cluster in a Summary.
type Cluster struct {
	Label string
	Items int64
	Seen  int64 // the last episode it was answered with
}

func (s *clusterSet) summary() []Cluster {
	var out []Cluster
	for _, c := range s.list {
		out = append(out, Cluster{Label: c.label(), Items: c.items, Seen: c.seen})
	}
	return out
}

func (s *clusterSet) clone() clusterSet {
	out := clusterSet{next: s.next, list: make([]*cluster, len(s.list))}
	for i, c := range s.list {
		copied := *c // its mean is replaced, never changed in place
		out.list[i] = &copied
	}
	return out
}

// drop forgets the clusters of a label.
func (s *clusterSet) drop(label string) bool {
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(c *cluster) bool { return c.label() == label })
	return len(s.list) < before
}

// answerUnlabelled answers an episode of a stream that nobody has taught anything: with clusters.
func (s *Stream) answerUnlabelled(ctx context.Context, e *Engine, items []Item, report *Report) ([]Answer, error) {
	rows := make([]float32, 0, len(items)*s.dimension)
	for i := range items {
		rows = append(rows, items[i].Vector...)
	}
	found, r, err := s.cluster(ctx, e, rows, len(items), report)
	if err != nil {
		return nil, err
	}
	report.Iterations, report.Sweeps, report.Rises = r.Iterations, r.Sweeps, r.Rises
	report.Before, report.After = r.ObjectiveBefore, r.ObjectiveAfter
	report.Warm = s.episode > 0
	answers := make([]Answer, len(items))
	for i := range answers {
		answers[i] = Answer{Label: found[i].label(), Confidence: float64(r.Confidence[i])}
	}
	return answers, nil
}

// cluster gives each of n raw rows its cluster: rows far from every running prototype propose new ones, SLK settles who
// belongs where, and a proposal that ends with nobody is dropped.
func (s *Stream) cluster(ctx context.Context, e *Engine, rows []float32, n int, report *Report) ([]*cluster, *solver.Result, error) {
	d := s.dimension
	old := len(s.clusters.list)
	all := slices.Clone(s.clusters.list)
	unit := make([]float32, d)
	for p := range n {
		unitRow(unit, rows[p*d:p*d+d])
		nearest := math.Inf(1)
		for _, c := range all {
			nearest = min(nearest, float64(kernel.SquaredDistance(unit, c.mean)))
		}
		if nearest > clusterBirth {
			all = append(all, &cluster{mean: slices.Clone(unit), mass: 1})
		}
	}
	problem := solver.Problem{Rows: rows, N: n, D: d, K: len(all), Assess: true,
		Prior: &solver.Prior{}, Embedding: &solver.Embedding{Mean: make([]float32, d)}}
	for _, c := range all {
		problem.Prior.Means = append(problem.Prior.Means, c.mean...)
		problem.Prior.Weights = append(problem.Prior.Weights, float32(min(c.mass, clusterWindow)))
	}
	r, err := e.clusters.Solve(ctx, &problem)
	if err != nil {
		return nil, nil, err
	}
	e.solved = r
	count := make([]int64, len(all))
	for _, l := range r.Labels {
		count[l]++
	}
	sum := make([]float64, d)
	for k, c := range all {
		if count[k] == 0 {
			continue
		}
		mass := 0.
		clear(sum)
		for p := range n {
			w := float64(r.S[p*len(all)+k])
			if w < 1e-9 {
				continue
			}
			mass += w
			for j, v := range r.Z[p*d : p*d+d] {
				sum[j] += w * float64(v)
			}
		}
		if k >= old {
			c.mass = 0 // its leader is among the rows
		}
		mean := make([]float32, d)
		for j := range mean {
			mean[j] = float32((c.mass*float64(c.mean[j]) + sum[j]) / (c.mass + mass))
		}
		c.mean, c.mass = mean, min(clusterWindow, c.mass+mass)
		c.items += count[k]
		c.seen = s.episode + 1
		if k >= old {
			c.id = s.clusters.next
			s.clusters.next++
			s.clusters.list = append(s.clusters.list, c)
			report.Events = append(report.Events, Event{Kind: "born", Class: c.label()})
		}
	}
	found := make([]*cluster, n)
	for p, l := range r.Labels {
		found[p] = all[l]
	}
	s.retireClusters(report)
	return found, r, nil
}

// retireClusters keeps the set bounded: those longest unseen go first, the younger of two of one age.
func (s *Stream) retireClusters(report *Report) {
	for len(s.clusters.list) > s.settings.Clusters {
		oldest := 0
		for i, c := range s.clusters.list {
			if c.seen <= s.clusters.list[oldest].seen {
				oldest = i
			}
		}
		report.Events = append(report.Events, Event{Kind: "retired", Class: s.clusters.list[oldest].label()})
		s.clusters.list = slices.Delete(s.clusters.list, oldest, oldest+1)
	}
}

func unitRow(to, from []float32) {
	var l float64
	for _, v := range from {
		l += float64(v) * float64(v)
	}
	l = math.Sqrt(l)
	for i, v := range from {
		to[i] = float32(float64(v) / l)
	}
}
