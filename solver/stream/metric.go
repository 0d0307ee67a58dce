package stream

import (
	"slices"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// learnedMetric is a stream's metric, and the statistics for the next one.
type learnedMetric struct {
	seen    *metric.Sketch // the mean of all z and, while labelled items are few, the residuals of solved episodes
	current *metric.Metric // nil: none yet
}

func (m *learnedMetric) contribute(e *episode) {
	if m.current != nil {
		e.problem.embedding = solver.Embedding{Metric: m.current}
		e.problem.Embedding = &e.problem.embedding
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
	if !s.turn.Refreshes(of.number) {
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

// bytes are those of the metric in force, and of the statistics for the next one.
func (m *learnedMetric) bytes() (n int) {
	if c := m.current; c != nil {
		n += 4*(len(c.Centre)+len(c.Scales)) + 2*len(c.Units)
	}
	if c := m.seen; c != nil {
		n += 8*len(c.Sum) + 4*len(c.Scales) + len(c.Directions) + len(c.Root)
		for _, rows := range c.Rows {
			n += len(rows)
		}
	}
	return n
}

func (m *learnedMetric) kinds() []string { return []string{"metric", "scatter"} }

func (m *learnedMetric) fields(f *piece.Fields) {
	switch {
	case f.Kind == "metric" && (!f.Writes || m.current != nil):
		if !f.Writes {
			m.current = &metric.Metric{}
		}
		if metricFields(f, m.current); m.current.Centre == nil || m.current.Units == nil {
			m.current = nil // of a form that is no longer read: the next refresh replaces it
		}
	case f.Kind == "scatter" && (!f.Writes || m.seen != nil):
		if !f.Writes {
			m.seen = &metric.Sketch{}
		}
		if sketchFields(f, m.seen, m.current); m.seen.Sum == nil {
			m.seen = nil
		}
	}
}

func metricFields(f *piece.Fields, m *metric.Metric) {
	piece.Slice(f, piece.RawMean, &m.Centre, f.Dimension)
	piece.Number(f, piece.Inverse, &m.Inverse)
	piece.Slice(f, piece.Scales, &m.Scales, -1)
	piece.Slice(f, piece.Units, &m.Units, -1)
	f.Check(m.Units == nil || len(m.Units) == len(m.Scales)*f.Dimension, "metric")
}

// sketchFields are those of a sketch, which may be about the stream's metric.
func sketchFields(f *piece.Fields, r *metric.Sketch, current *metric.Metric) {
	piece.Number(f, piece.Count, &r.Count)
	piece.Slice(f, piece.RawSum, &r.Sum, f.Dimension)
	piece.Number(f, piece.Inverse, &r.Inverse)
	if !f.Writes || r.Root == nil {
		piece.Slice(f, piece.RowScales, &r.Scales, -1)
	}
	if !f.Writes || r.Root != nil {
		piece.Slice(f, piece.RootScales, &r.Scales, -1)
	}
	f.Check(r.Count >= 0 && r.Inverse >= 0, "scatter")
	if len(r.Scales) == 0 {
		return
	}
	piece.Number(f, piece.Freedom, &r.Freedom)
	piece.Number(f, piece.Trace, &r.Trace)
	about := r.Metric != nil
	if piece.Flag(f, piece.About, &about); about && !f.Writes {
		f.Check(current != nil, "scatter about no metric")
		r.Metric = current
	}
	if !f.Writes || len(r.Rows) > 0 {
		rows := slices.Concat(r.Rows...)
		if piece.Text(f, piece.HalfBytes, &rows); !f.Writes {
			r.Rows = metric.Pieces(rows, f.Dimension)
		}
	}
	piece.Slice(f, piece.Directions, &r.Directions, -1)
	piece.Slice(f, piece.Root, &r.Root, -1)
	if len(r.Rows)+len(r.Root) == 0 { // residuals of a form that is no longer read: new ones are collected
		*r = metric.Sketch{Count: r.Count, Sum: r.Sum, Inverse: r.Inverse}
		return
	}
	f.Check(r.Freedom >= 0 && r.Trace >= 0 && r.Fits(f.Dimension), "scatter")
}

// Budget is memory that streams share. A metric is learned only while the budget has room for it.
type Budget interface {
	// Reserve reserves bytes until release is called; false: fewer are left, and none is reserved.
	Reserve(bytes int) (release func(), ok bool)
}

// room reserves the memory for learning a metric of dimension d.
func (s Settings) room(d int) (release func(), ok bool) {
	if s.Budget == nil {
		return func() {}, true
	}
	return s.Budget.Reserve(metric.WorkspaceBytes(s.Solver.MetricRank, d))
}

// DropMetric drops the metric and the statistics for the next one. It is learned again once there is
// room for it.
func (s *Stream) DropMetric() {
	s.Learn()
	s.metric = learnedMetric{}
	s.cache = &solver.ExampleCache{}
	s.note("the metric was given up: memory is used up")
}
