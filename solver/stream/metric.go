package stream

import (
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver/metric"
)

// learnedMetric is a stream's metric: what it is made of, the one in force, and the one that is being made.
type learnedMetric struct {
	seen    *residue       // the mean of all z and, while labelled items are few, the residuals of solved episodes
	current *metric.Metric // nil: none yet
	next    *Refresh       // nil: none under way
}

// Refresh makes a stream's next metric. It may be computed beside the path, on any goroutine, and takes effect at a fixed
// episode whenever that was: an episode that needs it and finds it undone computes it itself, so that an answer never
// depends on how fast anything was.
type Refresh struct {
	Due     int64 // the first episode it is in force for
	publish func(*metric.Metric)
	once    sync.Once
	from    *material
	metric  *metric.Metric
}

// material is what a metric is made of.
type material struct {
	seen   *residue
	shared *metric.Residuals // of all streams, in the place of the stream's own; nil: not shared
	before *metric.Metric
	// How far the mean of what was seen is a centre: the mean of items of one class is that class, no centre. Seen from there
	// all that is left of it is noise, and any other class is as near.
	variety float32

	z      []float32 // labelled items
	labels []int32
	k      int
	rank   int
	shrink float64
}

// Compute makes the metric, once, whoever calls it and however often.
func (r *Refresh) Compute() {
	r.once.Do(func() {
		if m, err := r.from.metric(); err == nil {
			r.metric = m // no metric is an answer too: what is seen does not determine one yet
			r.publish(m)
		}
		r.from = nil
	})
}

func (f *material) metric() (*metric.Metric, error) {
	d := len(f.seen.sum)
	if f.shared == nil && !metric.Determined(f.seen.known()+float64(len(f.labels)), d) {
		return nil, nil
	}
	w := workspace(d)
	defer workspaces.Put(w)
	f.seen.unpack(w)
	if f.shared != nil {
		w.Points = *f.shared
	}
	w.AddLabelled(f.z, f.labels, f.k)
	m, err := w.Refresh(f.before, f.rank, f.shrink)
	if m != nil {
		kernel.Scale(f.variety, m.Centre)
		round(m.Vectors, unitScale)
	}
	return m, err
}

// workspaces are scatters at full precision, for the moment in which one is added to or a metric made of it. What is in them is
// left from the last time.
var workspaces sync.Pool

func workspace(d int) *metric.Scatter {
	if w, ok := workspaces.Get().(*metric.Scatter); ok && w.Dimension == d {
		return w
	}
	return metric.NewScatter(d)
}

// Refresh is the metric that is to be made, nil if there is none.
func (s *Stream) Refresh() *Refresh { return s.metric.next }

// refreshes tells after which episodes a metric is made: the first ones change most, and later ones keep it up with a stream
// that drifts.
func refreshes(episode int64) bool {
	switch {
	case episode < 10:
		return episode&(episode-1) == 0
	case episode <= 40:
		return episode%10 == 0
	default:
		return episode%40 == 0
	}
}

// bringIn brings the due metric into force.
func (m *learnedMetric) bringIn(s *Stream) {
	if m.current == nil {
		m.current = s.settings.SharedMetric.carried(s)
	}
	if m.next == nil || s.episode+1 < m.next.Due {
		return
	}
	m.next.Compute()
	if m.next.metric != nil {
		m.current = m.next.metric
	}
	m.next = nil
}

// folds tells which episodes a stream's residuals take in: all of the first, which decide the metric, and later on as many
// as keep it up with a stream that drifts. A fold costs about a millisecond at 512 dimensions.
func folds(episode int64) bool { return episode <= 32 || episode%8 == 0 }

// freedomKept is how many degrees of freedom a dimension the residuals of the past count for at most: with as many, the
// noise in the eigenvalues is within a third of their mean, far below those that the metric shrinks.
const freedomKept = 8

// observe takes a solved episode in. Labelled items teach the metric best; their residuals are taken afresh from all of
// them at each refresh, so that a corrected label leaves nothing behind. Residuals of answered items stand in while those
// are few.
func (m *learnedMetric) observe(e *answered) {
	s, p, r := e.stream, e.problem, e.solved
	if r == nil || s.settings.Solver.MetricRank == 0 {
		return
	}
	shared := s.settings.SharedMetric
	if folds(e.number) {
		freedom := len(p.classes) - len(p.names)
		for _, c := range p.labels {
			if c >= 0 {
				freedom++
			}
		}
		few := float64(freedom) < .4*float64(p.D)
		m.seen = m.seen.with(p, r, few)
		if few {
			shared.lend(s, r.Z, r.S, p.K)
		}
	}
	if !refreshes(e.number) {
		return
	}
	due := e.number + 1
	if e.number >= 10 {
		due++ // by then one episode more or less with the old metric is nothing, and the path need never wait for the new
	}
	from := &material{
		seen: m.seen, shared: shared.points(s), variety: s.proportions.variety(), k: p.K,
		rank: s.settings.Solver.MetricRank, shrink: s.settings.Solver.MetricShrink,
	}
	if e.number > 20 { // until then twice as much is known each time, and the metric before is no help
		from.before = m.current
	}
	for i, c := range p.labels {
		if c >= 0 {
			from.z = append(from.z, r.Z[i*p.D:i*p.D+p.D]...)
			from.labels = append(from.labels, c)
		}
	}
	from.z = append(from.z, r.AnchorZ...)
	from.labels = append(from.labels, p.classes...)
	key := feed{s.model, s.dimension}
	m.next = &Refresh{Due: due, from: from, publish: func(m *metric.Metric) { shared.publish(key, m) }}
}

func (m *learnedMetric) reset(string) bool { return false }

func (m *learnedMetric) encode(e *encoder) {
	write := func(kind string, m *metric.Metric, due int64) {
		w := e.piece(kind, kind)
		w.integer(fieldDue, due)
		if m != nil {
			w.vector(fieldCentre, m.Centre)
			w.vector(fieldScales, m.Scales)
			w.short(fieldUnits, m.Vectors, unitScale)
		}
	}
	if m.current != nil {
		write("metric", m.current, 0)
	}
	if m.next != nil {
		m.next.Compute()
		write("next", m.next.metric, m.next.Due)
	}
	if m.seen != nil {
		m.seen.encode(e.piece("scatter", "scatter"))
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
		if m.next == nil {
			m.next = &Refresh{metric: &metric.Metric{}}
			m.next.once.Do(func() {})
		}
		if f.number == fieldDue {
			m.next.Due = f.integer()
		}
		if decodeMetric(m.next.metric, f); f.number == 0 && m.next.metric.Centre == nil {
			m.next.metric = nil
		}
	case "scatter":
		if m.seen == nil {
			m.seen = &residue{}
		}
		m.seen.decode(f)
	}
}

// decodeMetric reads a field of a metric. What is left at the end without a centre is no metric: none was made, or it is of
// a form no longer read, and the next one takes its place.
func decodeMetric(m *metric.Metric, f *field) {
	switch f.number {
	case fieldCentre:
		m.Centre = f.vector(f.dimension)
	case fieldScales:
		m.Scales = f.vector(-1)
	case fieldUnits:
		m.Vectors = f.short(unitScale)
	case 0:
		switch {
		case m.Centre == nil || m.Vectors == nil:
			m.Centre = nil
		case len(m.Vectors) != len(m.Scales)*f.dimension:
			f.fail("metric")
		}
	}
}
