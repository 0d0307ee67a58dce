package stream

import (
	"bytes"

	"github.com/slkstream/slkstream/solver/metric"
)

// Refresh makes a stream's next metric.
type Refresh = metric.Refresh

// learnedMetric is a stream's metric: what it is made of, the one in force, and the one that is being made.
type learnedMetric struct {
	seen    *metric.Compact // the mean of all z and, while labelled items are few, the residuals of solved episodes
	current *metric.Metric  // nil: none yet
	next    *metric.Refresh // nil: none under way

	coming *metric.Metric // next, while it is read from a state
	due    int64
}

// Refresh is the metric that is to be made, nil if there is none.
func (s *Stream) Refresh() *Refresh { return s.metric.next }

// bringIn brings the due metric into force.
func (m *learnedMetric) bringIn(s *Stream) {
	if m.current == nil {
		m.current = s.settings.SharedMetric.Latest(s.feed())
	}
	if m.next == nil || s.episode+1 < m.next.Due {
		return
	}
	if made := m.next.Metric(); made != nil {
		m.current = made
	}
	m.next = nil
}

// observe leaves what there is to learn to learn.
func (m *learnedMetric) observe(*answered) {}

// learn takes a solved episode in, once its answers are given out. Labelled items teach the metric best;
// their residuals are taken afresh from all of them at each refresh, so that a corrected label leaves
// nothing behind. Residuals of answered items stand in while those are few.
func (m *learnedMetric) learn(s *Stream, e *answered) {
	p, r := e.problem, e.solved
	if r == nil || s.settings.Solver.MetricRank == 0 {
		return
	}
	shared := s.settings.SharedMetric
	if metric.Folds(e.number) {
		freedom := len(p.classes) - len(p.names)
		for _, c := range p.labels {
			if c >= 0 {
				freedom++
			}
		}
		few := float64(freedom) < .4*float64(p.D)
		m.seen = m.seen.With(r.Z, r.S, p.K, p.D, few)
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
	for i, c := range p.labels {
		if c >= 0 {
			from.Z = append(from.Z, r.Z[i*p.D:i*p.D+p.D]...)
			from.Labels = append(from.Labels, c)
		}
	}
	from.Z = append(from.Z, r.AnchorZ...)
	from.Labels = append(from.Labels, p.classes...)
	feed := s.feed()
	m.next = metric.NewRefresh(metric.Due(e.number), from, func(m *metric.Metric) { shared.Publish(feed, m) })
}

// feed is what streams must have in common to share a metric.
func (s *Stream) feed() metric.Feed { return metric.Feed{Model: s.model, Dimension: s.dimension} }

func (m *learnedMetric) reset(string) bool { return false }

func (m *learnedMetric) encode(e *encoder) {
	write := func(kind string, m *metric.Metric, due int64) {
		w := e.piece(kind, kind)
		w.integer(fieldDue, due)
		if m != nil {
			w.vector(fieldCentre, m.Centre)
			w.vector(fieldScales, m.Scales)
			w.short(fieldUnits, m.Vectors, metric.UnitScale)
		}
	}
	if m.current != nil {
		write("metric", m.current, 0)
	}
	if m.next != nil {
		write("next", m.next.Metric(), m.next.Due)
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
	case "next":
		if m.coming == nil {
			m.coming = &metric.Metric{}
		}
		if f.number == fieldDue {
			m.due = f.integer()
		}
		if decodeMetric(m.coming, f); f.number == 0 {
			if m.coming.Centre == nil {
				m.coming = nil
			}
			m.next, m.coming = metric.Made(m.due, m.coming), nil
		}
	case "scatter":
		if m.seen == nil {
			m.seen = &metric.Compact{}
		}
		decodeCompact(m.seen, f)
	}
}

// decodeMetric reads a field of a metric. What is left at the end without a centre is no metric: none was
// made, or it is of a form no longer read, and the next one takes its place.
func decodeMetric(m *metric.Metric, f *field) {
	switch f.number {
	case fieldCentre:
		m.Centre = f.vector(f.dimension)
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
	w.doubles(fieldSum, r.Sum)
	w.float(fieldFreedom, r.Freedom)
	w.float(fieldTrace, r.Trace)
	if r.Scales != nil {
		w.vector(fieldScales, r.Scales)
		w.bytes(fieldCodes, r.Codes)
	}
	if len(r.Pending) > 0 {
		w.short(fieldPending, r.Pending, metric.PendingScale)
		w.float(fieldPendingFreedom, r.PendingFreedom)
	}
}

func decodeCompact(r *metric.Compact, f *field) {
	switch f.number {
	case fieldCount:
		r.Count = f.float()
	case fieldSum:
		r.Sum = f.doubles(f.dimension)
	case fieldFreedom:
		r.Freedom = f.float()
	case fieldTrace:
		r.Trace = f.float()
	case fieldScales:
		r.Scales = f.vector(f.dimension)
	case fieldCodes:
		r.Codes = bytes.Clone(f.value)
	case fieldPending:
		r.Pending = f.short(metric.PendingScale)
	case fieldPendingFreedom:
		r.PendingFreedom = f.float()
	case 0:
		if r.Scales == nil {
			r.Freedom, r.Trace = 0, 0
		}
		if len(r.Sum) != f.dimension || !(r.Count >= 0) || !(r.Freedom >= 0) || !(r.Trace >= 0) || !(r.PendingFreedom >= 0) ||
			len(r.Codes) != len(r.Scales)*(len(r.Scales)-1)/2 || f.dimension == 0 || len(r.Pending)%f.dimension != 0 {
			f.fail("scatter")
		}
	}
}
