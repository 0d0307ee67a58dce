package stream

import (
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// metricState is a stream's metric: what it has seen, the metric in force, and the one that is being made.
type metricState struct {
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
	varied float32   // how far the mean of what was seen is a centre
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
		kernel.Scale(f.varied, m.Centre)
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
	}
	m.next = nil
}

// folds tells which episodes a stream's residuals take in: all of the first, which decide the metric, and later on as many
// as keep it up with a stream that drifts. A fold costs about a millisecond at 512 dimensions.
func folds(episode int64) bool { return episode <= 32 || episode%8 == 0 }

// freedomKept is how many degrees of freedom a dimension the residuals of the past count for at most: with as many, the
// noise in the eigenvalues is within a third of their mean, far below those that the metric shrinks.
const freedomKept = 8

// varied is 1 - sum p^2 over the stream's proportions p, the chance that two of its items are of two classes. The mean of
// items of one class is that class, no centre: seen from there all that is left of it is noise, and any other class is as near.
func (s *Stream) varied() float32 {
	var sum, squares float64
	for _, name := range s.names() { // in order: a sum must not depend on a map's
		n := s.classes[name].count
		sum += n
		squares += n * n
	}
	if sum == 0 {
		return 0
	}
	return float32(1 - squares/(sum*sum))
}

// learnMetric takes a solved episode in. Labelled items teach the metric best; their residuals are taken afresh from all of
// them at each refresh, so that a corrected label leaves nothing behind. Residuals of answered items stand in while those
// are few.
func (s *Stream) learnMetric(p *problem, r *solver.Result) {
	if s.settings.Solver.MetricRank == 0 {
		return
	}
	m, episode := &s.metric, s.episode+1
	if folds(episode) {
		freedom := len(p.classes) - len(p.names)
		for _, c := range p.labels {
			if c >= 0 {
				freedom++
			}
		}
		few := float64(freedom) < .4*float64(p.D)
		m.seen = m.seen.with(p, r, few)
		if few {
			s.settings.Share.lend(s, r.Z, r.S, p.K)
		}
	}
	if refreshes(episode) {
		due := episode + 1
		if episode >= 10 {
			due++ // by then one episode more or less with the old metric is nothing, and the path need never wait for the new
		}
		key := feed{s.model, s.dimension}
		from := &material{
			seen: m.seen, shared: s.settings.Share.points(s), varied: s.varied(), k: p.K,
			rank: s.settings.Solver.MetricRank, shrink: s.settings.Solver.MetricShrink,
		}
		if episode > 20 { // until then twice as much is known each time, and the metric before is no help
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
		m.next = &Refresh{Due: due, from: from, publish: func(m *metric.Metric) { s.settings.Share.publish(key, m) }}
	}
}
