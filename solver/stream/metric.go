package stream

import (
	"bytes"
	"context"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// learnedMetric is a stream's metric, and the statistics for the next one.
type learnedMetric struct {
	seen    *metric.Compact // the mean of all z and, while labelled items are few, the residuals of solved episodes
	current *metric.Metric  // nil: none yet
}

// join gives a stream without a metric the one that the streams of its feed share, if they do.
func (m *learnedMetric) join(s *Stream) {
	if m.current == nil {
		m.current = s.settings.SharedMetric.Latest(s.feed())
	}
}

func (m *learnedMetric) contribute(_ context.Context, e *episode) error {
	if m.join(e.stream); m.current != nil {
		e.problem.Embedding = &solver.Embedding{Metric: m.current}
	}
	return nil
}

// learn learns from a solved episode. Labelled items teach the metric best: each refresh takes the residuals
// of all of them anew, so that a corrected label leaves no trace. While they are few, residuals of answered
// items stand in.
func (m *learnedMetric) learn(e *episode) {
	s, p, r := e.stream, e.problem, e.solved
	if r == nil || s.settings.Solver.MetricRank == 0 || !metric.Folds(e.number) && !metric.Refreshes(e.number) {
		return
	}
	release, ok := s.settings.room(p.D)
	if !ok {
		return
	}
	defer release()
	shared := s.settings.SharedMetric
	if metric.Folds(e.number) {
		freedom := p.examples - len(p.names)
		for _, c := range p.labels {
			if c >= 0 {
				freedom++
			}
		}
		few := float64(freedom) < .4*float64(p.D)
		m.seen = m.seen.With(e.number, metric.Rows{Z: r.Z, Mean: r.Mean, Inverse: r.Inverse, S: r.S, K: p.K}, few)
		if few {
			shared.Add(s.feed(), r.Z, r.S, p.K)
		}
	}
	if !metric.Refreshes(e.number) {
		return
	}
	from := &metric.Material{
		Seen: m.seen, Shared: shared.Points(s.feed()), Variety: s.proportions.variety(), Classes: p.K,
		Rank: s.settings.Solver.MetricRank, Shrink: s.settings.Solver.MetricShrink,
	}
	from.Z, from.Labels = e.labelled()
	if made, err := from.Metric(); err == nil && made != nil { // otherwise the data do not determine one yet
		m.current = made
		s.prepared.Release() // or the metric before would stay in memory until the next episode
		shared.Publish(s.feed(), made)
	}
}

// feed returns what streams must have in common to share a metric.
func (s *Stream) feed() metric.Feed { return metric.Feed{Model: s.model, Dimension: s.dimension} }

func (m *learnedMetric) encode(e *encoder) {
	if m.current != nil {
		w := e.piece("metric", "metric")
		w.vector(fieldRawMean, m.current.Centre)
		w.vector(fieldInverse, []float32{m.current.Inverse})
		w.vector(fieldScales, m.current.Scales)
		w.short(fieldUnits, m.current.Vectors, metric.UnitScale)
	}
	if m.seen != nil {
		encodeCompact(m.seen, e.piece("scatter", "scatter"))
	}
}

func (m *learnedMetric) decode(f *field) {
	switch f.kind {
	case "metric":
		if m.current == nil {
			m.current = &metric.Metric{}
		}
		if decodeMetric(m.current, f); f.number == 0 && m.current.Centre == nil {
			m.current = nil
		}
	case "scatter":
		if m.seen == nil {
			m.seen = &metric.Compact{}
		}
		decodeCompact(m.seen, f)
	}
}

// decodeMetric reads a field of a metric. A metric without a centre at the end of its piece is dropped: none
// was made, or its format is no longer read. The next refresh replaces it.
func decodeMetric(m *metric.Metric, f *field) {
	switch f.number {
	case fieldCentre, fieldRawMean: // fieldCentre: the old form, about an unknown mean
		m.Centre = f.vector(f.dimension)
	case fieldInverse:
		if v := f.vector(1); v != nil {
			m.Inverse = v[0]
		}
	case fieldScales:
		m.Scales = f.vector(-1)
	case fieldUnits:
		m.Vectors = f.short(metric.UnitScale)
	case 0:
		switch {
		case m.Centre == nil || m.Vectors == nil:
			m.Centre = nil
		case len(m.Vectors) != len(m.Scales)*f.dimension:
			f.fail("metric")
		}
	}
}

func encodeCompact(r *metric.Compact, w *writer) {
	w.float(fieldCount, r.Count)
	w.doubles(fieldRawSum, r.Sum)
	w.float(fieldInverse, r.Inverse)
	w.float(fieldFreedom, r.Freedom)
	w.float(fieldTrace, r.Trace)
	if r.Scales != nil {
		w.vector(fieldScales, r.Scales)
		w.bytes(fieldCodes, r.Codes)
	}
	if len(r.Pending) > 0 {
		w.shorts(fieldPending, r.Pending)
		w.float(fieldPendingFreedom, r.PendingFreedom)
	}
}

func decodeCompact(r *metric.Compact, f *field) {
	switch f.number {
	case fieldCount:
		r.Count = f.float()
	case fieldSum, fieldRawSum: // fieldSum: the old form, about unknown means
		r.Sum = f.doubles(f.dimension)
	case fieldInverse:
		r.Inverse = f.float()
	case fieldFreedom:
		r.Freedom = f.float()
	case fieldTrace:
		r.Trace = f.float()
	case fieldScales:
		r.Scales = f.vector(f.dimension)
	case fieldCodes:
		r.Codes = bytes.Clone(f.value)
	case fieldPending:
		r.Pending = f.shorts()
	case fieldPendingFreedom:
		r.PendingFreedom = f.float()
	case 0:
		if r.Scales == nil {
			r.Freedom, r.Trace = 0, 0
		}
		if len(r.Sum) != f.dimension || !(r.Count >= 0) || !(r.Inverse >= 0) || !(r.Freedom >= 0) || !(r.Trace >= 0) || !(r.PendingFreedom >= 0) ||
			len(r.Codes) != len(r.Scales)*(len(r.Scales)-1)/2 || f.dimension == 0 || len(r.Pending)%f.dimension != 0 {
			f.fail("scatter")
		}
	}
}
