package stream

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// Clusters live among unit rows: no mean and no metric, which are learned from labels, so that an id means the same from the
// first episode on.
const (
	clusterMerge  = .25 // two prototypes nearer than this share of the distance for births are of one cluster
	clusterTwin   = .3  // two rows of one frame nearer than this share of the distance for births may be one thing
	clusterWindow = 20  // a running prototype weighs no more than this many items
	clustersKept  = 512 // the one longest unseen is retired beyond it
)

// clusterSettings are the solver's for clusters.
func clusterSettings(s solver.Settings) solver.Settings {
	s.Method, s.Power, s.MetricRank = solver.SLKMeans, 1, 0
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

// clusters holds a stream's clusters in the order of their ids. An id is given once and never again.
type clusters struct {
	next  int64
	list  []*cluster
	sum   []float64 // of all unit rows clustered so far
	count float64
}

// ClusterSummary is one cluster in a Summary.
type ClusterSummary struct {
	Label string
	Items int64
	Seen  int64 // the last episode it was answered with
}

func (s *clusters) summary() []ClusterSummary {
	var out []ClusterSummary
	for _, c := range s.list {
		out = append(out, ClusterSummary{Label: c.label(), Items: c.items, Seen: c.seen})
	}
	return out
}

// reset drops the clusters of a label.
func (s *clusters) reset(label string) bool {
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(c *cluster) bool { return c.label() == label })
	return len(s.list) < before
}

func (s *clusters) encode(e *encoder) {
	e.head.integer(fieldNextCluster, s.next)
	if s.sum != nil {
		e.head.doubles(fieldSum, s.sum)
		e.head.float(fieldCount, s.count)
	}
	for _, c := range s.list {
		w := e.piece(fmt.Sprintf("cluster/%d", c.id), "cluster")
		w.integer(fieldID, c.id)
		w.text(fieldLabel, c.name)
		w.vector(fieldMean, c.mean)
		w.float(fieldMass, c.mass)
		w.integer(fieldItems, c.items)
		w.integer(fieldEpisode, c.seen)
	}
}

func (s *clusters) decode(f *field) {
	if f.kind == "head" {
		switch f.number {
		case fieldNextCluster:
			s.next = f.integer()
		case fieldSum:
			s.sum = f.doubles(-1)
		case fieldCount:
			s.count = f.float()
		case 0:
			if s.sum != nil && len(s.sum) != f.dimension {
				f.fail("sum of clustered rows")
			}
		}
		return
	}
	if f.kind != "cluster" {
		return
	}
	if f.number == fieldID { // the first field
		s.list = append(s.list, &cluster{id: f.integer()})
		return
	}
	if len(s.list) == 0 {
		f.fail("cluster without its id")
		return
	}
	c := s.list[len(s.list)-1]
	switch f.number {
	case fieldLabel:
		c.name = f.text()
	case fieldMean:
		c.mean = f.vector(f.dimension)
	case fieldMass:
		c.mass = f.float()
	case fieldItems:
		c.items = f.integer()
	case fieldEpisode:
		c.seen = f.integer()
	case 0:
		if len(c.mean) != f.dimension || !(c.mass > 0) {
			f.fail("cluster without its prototype")
		}
		slices.SortFunc(s.list, func(a, b *cluster) int { return cmp.Compare(a.id, b.id) })
	}
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

// discover gives the unknown items of a labelled episode their clusters; the best label becomes an alternative.
func (s *Stream) discover(ctx context.Context, e *Engine, items []Item, answers []Answer, report *Report) error {
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

// observe gives a cluster the label of a taught item that is its member: one near enough to have joined it. Items of the
// feed name as they come, examples of the labels topic when the topic has changed.
func (s *clusters) observe(e *answered) {
	if len(s.list) == 0 {
		return
	}
	birth := s.birth(e.stream.settings.DiscoverDistance)
	row := make([]float32, len(e.items[0].Vector))
	name := func(label string, vector []float32) {
		unitRow(row, vector)
		nearest, at := birth, -1
		for k, c := range s.list {
			if v := float64(kernel.SquaredDistance(row, c.mean)); v <= nearest {
				nearest, at = v, k
			}
		}
		if at >= 0 && s.list[at].name != label {
			e.report.Events = append(e.report.Events, Event{Kind: "named", Class: s.list[at].label(), Into: label})
			s.list[at].name = label
		}
	}
	if e.relabels {
		for i := range e.problem.force {
			name(e.problem.force[i].label, e.problem.force[i].vector)
		}
	}
	for i := range e.items {
		if e.items[i].Label != "" {
			name(e.items[i].Label, e.items[i].Vector)
		}
	}
}

// cluster gives each of the chosen items its cluster: rows far from every running prototype propose new ones, SLK settles who
// belongs where, and a proposal that ends with nobody is dropped.
func (s *Stream) cluster(ctx context.Context, e *Engine, items []Item, chosen []int, report *Report) ([]*cluster, *solver.Result, error) {
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
	birth := set.birth(s.settings.DiscoverDistance)
	all, old := set.propose(unit, frames, birth, n, d)
	problem := solver.Problem{Rows: unit, N: n, D: d, Assess: true, Prior: &solver.Prior{}, Embedding: &solver.Embedding{Mean: make([]float32, d)}}
	for _, c := range all {
		problem.Prior.Means = append(problem.Prior.Means, c.mean...)
		problem.Prior.Weights = append(problem.Prior.Weights, float32(c.mass))
	}
	problem.K = len(all)
	settings := clusterSettings(s.settings.Solver)
	problem.BeforeGraph = s.clusterRelation(&e.problem, &problem, shown, settings.Lambda, settings.Rho, n == len(items))
	r, err := e.clusters.Solve(ctx, &problem)
	if err != nil {
		return nil, nil, err
	}
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
	merged := set.merge(birth, report)
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

// propose returns the clusters and, behind the old ones, those that sequential leaders propose: row by row, each joins the
// nearest running prototype and moves it, or leads a new one where none is nearer than birth. Of one frame no two rows join
// the same one unless they are almost alike. The clusters themselves are not moved.
func (s *clusters) propose(unit []float32, frames []string, birth float64, n, d int) (all []*cluster, old int) {
	all, old = slices.Clone(s.list), len(s.list)
	leaders := make([]cluster, old)
	for k, c := range s.list {
		leaders[k] = cluster{mean: slices.Clone(c.mean), mass: c.mass}
	}
	type member struct{ leader, row int }
	taken := map[string][]member{} // of each frame
	for p := range n {
		row := unit[p*d : p*d+d]
		nearest, at := math.Inf(1), -1
		for k := range leaders {
			v := float64(kernel.SquaredDistance(row, leaders[k].mean))
			if v >= nearest || slices.ContainsFunc(taken[frames[p]], func(m member) bool {
				return m.leader == k && float64(kernel.SquaredDistance(row, unit[m.row*d:m.row*d+d])) > clusterTwin*birth
			}) {
				continue
			}
			nearest, at = v, k
		}
		if at < 0 || nearest > birth {
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

// addRows takes rows into the mean of all unit rows clustered so far.
func (s *clusters) addRows(unit []float32, d int) {
	if s.sum == nil {
		s.sum = make([]float64, d)
	}
	for from := 0; from < len(unit); from += d {
		for j, v := range unit[from : from+d] {
			s.sum[j] += float64(v)
		}
		s.count++
	}
}

// birth is the squared distance from which a row leads a cluster of its own: a share of the mean squared distance between
// rows, as embeddings that crowd in one corner of the sphere are as distinct as those that fill it.
func (s *clusters) birth(share float64) float64 {
	var length float64
	for _, v := range s.sum {
		length += v / s.count * v / s.count
	}
	// A few rows say little of all: they are joined by as many of a middling spread.
	const joined, middling = 10, .5
	spread := (s.count*(1-length) + joined*middling) / (s.count - 1 + joined)
	return share * 2 * spread
}

// merge joins clusters whose prototypes have come as near to one another as members of one cluster are: the younger one goes
// into the older one, unless people have given the two different names. birth is the squared distance for births. It returns
// who went into whom.
func (s *clusters) merge(birth float64, report *Report) map[*cluster]*cluster {
	merged := map[*cluster]*cluster{}
	limit := clusterMerge * birth
	for i := 0; i < len(s.list); i++ {
		for j := i + 1; j < len(s.list); j++ {
			a, b := s.list[i], s.list[j]
			if a.name != "" && b.name != "" && a.name != b.name || float64(kernel.SquaredDistance(a.mean, b.mean)) > limit {
				continue
			}
			report.Events = append(report.Events, Event{Kind: "merged", Class: b.label(), Into: a.label()})
			mean := make([]float32, len(a.mean))
			kernel.Axpy(float32(a.mass/(a.mass+b.mass)), a.mean, mean)
			kernel.Axpy(float32(b.mass/(a.mass+b.mass)), b.mean, mean)
			a.mean, a.mass = mean, min(clusterWindow, a.mass+b.mass)
			a.items += b.items
			a.seen = max(a.seen, b.seen)
			if a.name == "" {
				a.name = b.name
			}
			merged[b] = a
			s.list = slices.Delete(s.list, j, j+1)
			j--
		}
	}
	return merged
}

// retire keeps the set bounded: those longest unseen go first, the younger of two of one age.
func (s *clusters) retire(report *Report) {
	for len(s.list) > clustersKept {
		oldest := 0
		for i, c := range s.list {
			if c.seen <= s.list[oldest].seen {
				oldest = i
			}
		}
		report.Events = append(report.Events, Event{Kind: "retired", Class: s.list[oldest].label()})
		s.list = slices.Delete(s.list, oldest, oldest+1)
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
