package memory

import (
	"slices"
	"sync"

	"slkstream/solver"
)

// metricState is a stream's metric: what it has seen, the metric in force, and the one that is being made.
type metricState struct {
	shared  bool            // somebody else reads seen too: it is copied before it changes
	seen    *solver.Scatter // all z and, while labelled items are few, the residuals of solved episodes
	current *solver.Metric  // nil: none yet
	next    *Refresh        // nil: none under way
}

// Refresh makes a stream's next metric. It may be computed beside the path, on any goroutine, and takes effect at a fixed
// episode whenever that was: an episode that needs it and finds it undone computes it itself, so that an answer never
// depends on how fast anything was.
type Refresh struct {
	Due     int64 // the first episode it is in force for
	publish func(*solver.Metric)
	once    sync.Once
	scatter *solver.Scatter
	rank    int
	shrink  float64
	metric  *solver.Metric
}

// Compute makes the metric, once, whoever calls it and however often.
func (r *Refresh) Compute() {
	r.once.Do(func() {
		if m, err := r.scatter.Refresh(r.rank, r.shrink); err == nil {
			r.metric = m // no metric is an answer too: what is seen does not determine one yet
			r.publish(m)
		}
		r.scatter = nil
	})
}

// Refresh is the metric that is to be made, nil if there is none.
func (s *Stream) Refresh() *Refresh { return s.metric.next }

// refreshes tells after which episodes a metric is made: the first ones change most.
func refreshes(episode int64) bool {
	return episode == 1 || episode == 2 || episode == 4 || episode == 8 || episode%10 == 0
}

// install brings the due metric into force.
func (s *Stream) install() {
	m := &s.metric
	if m.current == nil {
		m.current = s.settings.Share.carried(s)
	}
	if m.next == nil || s.episode+1 < m.next.Due {
		return
	}
	m.next.Compute()
	if m.next.metric != nil {
		m.current = m.next.metric
		s.limit.settled = false
	}
	m.next = nil
}

// clone shares everything: what changes in place is copied by whoever changes it first.
func (m *metricState) clone() metricState {
	m.shared = true
	return *m
}

// own returns the scatter for writing.
func (m *metricState) own(d int) *solver.Scatter {
	switch {
	case m.seen == nil:
		m.seen = solver.NewScatter(d, scatterRank)
	case m.shared:
		m.seen = m.seen.Clone()
	}
	m.shared = false
	return m.seen
}

// learnMetric takes a solved episode in. Labelled items teach the metric best; their residuals are taken afresh from all of
// them at each refresh, so that a corrected label leaves nothing behind. Residuals of answered items stand in while those
// are few.
func (s *Stream) learnMetric(p *problem, r *solver.Result) {
	if s.settings.Solver.MetricRank == 0 {
		return
	}
	m := &s.metric
	seen := m.own(p.D)
	seen.Observe(r.Z)
	freedom := -len(p.names)
	for _, c := range p.labels {
		if c >= 0 {
			freedom++
		}
	}
	if freedom += len(p.classes); float64(freedom) < .4*float64(p.D) {
		seen.AddPoints(r.Z, r.S, p.K)
		s.settings.Share.lend(s, r.Z, r.S, p.K)
	}
	if episode := s.episode + 1; refreshes(episode) {
		scatter := *seen
		m.shared = true
		if all := s.settings.Share.points(s); all != nil {
			scatter.Points = *all
		}
		key := feed{s.model, s.dimension}
		z := append(slices.Clone(r.Z), r.AnchorZ...)
		scatter.AddLabelled(z, append(slices.Clone(p.labels), p.classes...), p.K)
		due := episode + 1
		if episode >= 10 {
			due++ // by then one episode more or less with the old metric is nothing, and the path need never wait for the new
		}
		m.next = &Refresh{Due: due, publish: func(m *solver.Metric) { s.settings.Share.publish(key, m) }, scatter: &scatter, rank: s.settings.Solver.MetricRank, shrink: s.settings.Solver.MetricShrink}
	}
}

// scatterRank 0 keeps residuals as a whole matrix: a sketch of 128 rows is a sixth of it at 1,280 dimensions, and cost .011
// of accuracy there.
const scatterRank = 0
