package stream

import (
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// learnedMetric is a stream's metric, and the statistics for the next one.
type learnedMetric struct {
	seen    *metric.Sketch // the mean of all z and, while labelled items are few, the residuals of solved episodes
	current *metric.Metric // nil: none yet
}

func (m *learnedMetric) contribute(e *episode) {
	if m.current != nil {
		e.problem.Embedding = &solver.Embedding{Metric: m.current}
	}
}

// learn learns from a solved episode. Labelled items teach the metric best: each refresh takes the residuals
// of all of them anew, so that a corrected label leaves no trace. While they are few, residuals of answered
// items stand in.
func (m *learnedMetric) learn(s *Stream, of *lesson) {
	if s.settings.Solver.MetricRank == 0 {
		return
	}
	release, ok := s.settings.room(s.dimension)
	if !ok {
		return
	}
	defer release()
	rank, own := s.settings.Solver.MetricRank, 0
	if len(of.rows.Z) > 0 {
		if of.few {
			own = rank
		}
		m.seen = m.seen.With(of.rows, own)
	}
	if !metric.Refreshes(of.number) {
		return
	}
	from := &metric.Material{
		Seen: m.seen, Variety: s.proportions.variety(),
		Z: of.z, Labels: of.classes, Classes: of.rows.K,
		Rank: rank, Shrink: s.settings.Solver.MetricShrink,
	}
	if made, next, err := from.Metric(); err == nil && made != nil { // otherwise the data do not determine one yet
		m.current, m.seen = made, next
		s.cache.Release() // or the metric before would stay in memory until the next episode
	}
}

func (m *learnedMetric) fields(f *fields) {
	switch {
	case f.kind == "metric" && (!f.writes || m.current != nil):
		if !f.writes {
			m.current = &metric.Metric{}
		}
		if metricFields(f, m.current); m.current.Centre == nil || m.current.Units == nil {
			m.current = nil // of a form that is no longer read: the next refresh replaces it
		}
	case f.kind == "scatter" && (!f.writes || m.seen != nil):
		if !f.writes {
			m.seen = &metric.Sketch{}
		}
		if sketchFields(f, m.seen, m.current); m.seen.Sum == nil {
			m.seen = nil
		}
	}
}

func metricFields(f *fields, m *metric.Metric) {
	slice(f, fieldRawMean, &m.Centre, f.dimension)
	number(f, fieldInverse, &m.Inverse)
	slice(f, fieldScales, &m.Scales, -1)
	slice(f, fieldUnits, &m.Units, -1)
	f.check(m.Units == nil || len(m.Units) == len(m.Scales)*f.dimension, "metric")
}

// sketchFields are those of a sketch, which may be about the stream's metric.
func sketchFields(f *fields, r *metric.Sketch, current *metric.Metric) {
	number(f, fieldCount, &r.Count)
	slice(f, fieldRawSum, &r.Sum, f.dimension)
	number(f, fieldInverse, &r.Inverse)
	slice(f, fieldProductScales, &r.Scales, -1)
	f.check(r.Count >= 0 && r.Inverse >= 0, "scatter")
	if len(r.Scales) == 0 { // no residuals, or of a form that is no longer read: new ones are collected
		return
	}
	number(f, fieldFreedom, &r.Freedom)
	number(f, fieldTrace, &r.Trace)
	about := r.Metric != nil
	if flag(f, fieldAbout, &about); about && !f.writes {
		f.check(current != nil, "scatter about no metric")
		r.Metric = current
	}
	if !f.writes || len(r.Rows) > 0 {
		text(f, fieldHalfBytes, &r.Rows)
	}
	slice(f, fieldDirections, &r.Directions, -1)
	slice(f, fieldProducts, &r.Products, -1)
	f.check(r.Freedom >= 0 && r.Trace >= 0 && r.Fits(f.dimension), "scatter")
}
