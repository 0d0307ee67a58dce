package memory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"slkstream/internal/kernel"
	"slkstream/solver"
)

// Clusters live among unit rows: no mean and no metric, which are learned from labels, so that an id means the same from the
// first episode on.
const (
	clusterBirth  = .35 // a row further from every prototype than this share of the mean squared distance leads a new one
	clusterWindow = 20  // a running prototype weighs no more than this many items
)

// clusterSettings are the solver's for clusters.
func clusterSettings(s solver.Settings) solver.Settings {
	s.Method, s.Power, s.MetricRank = "slk-means", 1, 0
	s.Lambda, s.Rho, s.Tau = 2, 8, 8
	s.U, s.Beta = .75, .25
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
	next  int64
	list  []*cluster
	sum   []float64 // of all unit rows clustered so far
	count float64
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
	out := clusterSet{next: s.next, sum: slices.Clone(s.sum), count: s.count, list: make([]*cluster, len(s.list))}
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
	set := &s.clusters
	unit := make([]float32, n*d)
	for p := range n {
		unitRow(unit[p*d:p*d+d], rows[p*d:p*d+d])
	}
	all, old := set.propose(unit, set.birth(unit, d), n, d)
	problem := solver.Problem{Rows: unit, N: n, D: d, Assess: true, Prior: &solver.Prior{}, Embedding: &solver.Embedding{Mean: make([]float32, d)}}
	for _, c := range all {
		problem.Prior.Means = append(problem.Prior.Means, c.mean...)
		problem.Prior.Weights = append(problem.Prior.Weights, float32(c.mass))
	}
	problem.K = len(all)
	r, err := e.clusters.Solve(ctx, &problem)
	if err != nil {
		return nil, nil, err
	}
	e.solved = r
	count := make([]int64, len(all))
	for _, l := range r.Labels {
		count[l]++
	}
	for k, c := range all {
		if count[k] == 0 {
			continue
		}
		if k >= old {
			c.mean, c.mass = nil, 0 // what proposed it is among the rows
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
	found := make([]*cluster, n)
	for p, l := range r.Labels {
		found[p] = all[l]
	}
	s.retireClusters(report)
	return found, r, nil
}

// propose returns the clusters and, behind the old ones, those that sequential leaders propose: row by row, each joins the
// nearest running prototype and moves it, or leads a new one where none is nearer than birth. The clusters themselves are
// not moved.
func (s *clusterSet) propose(unit []float32, birth float64, n, d int) (all []*cluster, old int) {
	all, old = slices.Clone(s.list), len(s.list)
	leaders := make([]cluster, old)
	for k, c := range s.list {
		leaders[k] = cluster{mean: slices.Clone(c.mean), mass: c.mass}
	}
	for p := range n {
		row := unit[p*d : p*d+d]
		nearest, at := math.Inf(1), -1
		for k := range leaders {
			if v := float64(kernel.SquaredDistance(row, leaders[k].mean)); v < nearest {
				nearest, at = v, k
			}
		}
		if at < 0 || nearest > birth {
			at = len(leaders)
			leaders = append(leaders, cluster{mean: make([]float32, d)})
		}
		l := &leaders[at]
		kernel.Scale(float32(l.mass/(l.mass+1)), l.mean)
		kernel.Axpy(float32(1/(l.mass+1)), row, l.mean)
		l.mass = min(clusterWindow, l.mass+1)
	}
	for _, l := range leaders[old:] {
		all = append(all, &cluster{mean: l.mean, mass: 1})
	}
	return all, old
}

// learn moves the running prototype by the episode's soft members.
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
		if c.mean != nil {
			sum[j] += c.mass * float64(c.mean[j])
		}
		mean[j] = float32(sum[j] / (c.mass + mass))
	}
	c.mean, c.mass = mean, min(clusterWindow, c.mass+mass)
}

// birth takes the rows into the mean of all unit rows clustered so far, and returns the squared distance from which a row
// leads a cluster of its own: a share of the mean squared distance between rows, as embeddings that crowd in one corner of
// the sphere are as distinct as those that fill it.
func (s *clusterSet) birth(unit []float32, d int) float64 {
	if s.sum == nil {
		s.sum = make([]float64, d)
	}
	for from := 0; from < len(unit); from += d {
		for j, v := range unit[from : from+d] {
			s.sum[j] += float64(v)
		}
		s.count++
	}
	var length float64
	for _, v := range s.sum {
		length += v / s.count * v / s.count
	}
	// A few rows say little of all: they are joined by as many of a middling spread.
	const joined, middling = 10, .5
	spread := (s.count*(1-length) + joined*middling) / (s.count - 1 + joined)
	return clusterBirth * 2 * spread
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

// unitRow is from at length 1.
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
