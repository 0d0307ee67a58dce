package metric

import (
	"sync"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Refreshes tells after which episodes a metric is made: the first ones change most, and later ones keep it
// up with a stream that drifts.
func Refreshes(episode int64) bool {
	switch {
	case episode < 10:
		return episode&(episode-1) == 0
	case episode <= 40:
		return episode%10 == 0
	default:
		return episode%40 == 0
	}
}

// Due is the first episode that a metric made after this one is in force for.
func Due(episode int64) int64 {
	switch {
	case episode < 10:
		return episode + 1
	case episode <= 40:
		return episode + 2 // by then one episode more or less with the old metric is nothing, ...
	default:
		return episode + 5 // ... and the path need never wait for the new
	}
}

// Folds tells which episodes a stream's residuals take in: all of the first, which decide the metric, and
// later on as many as keep it up with a stream that drifts. A fold costs about a millisecond at 512
// dimensions.
func Folds(episode int64) bool { return episode <= 32 || episode%8 == 0 }

// Refresh makes a stream's next metric. It may be computed beside the path, on any goroutine, and takes
// effect at a fixed episode whenever that was: an episode that needs it and finds it undone computes it
// itself, so that an answer never depends on how fast anything was.
type Refresh struct {
	Due     int64 // the first episode it is in force for
	publish func(*Metric)
	once    sync.Once
	from    *Material
	metric  *Metric
}

// Material is what a metric is made of.
type Material struct {
	Seen   *Compact
	Shared *Residuals // of all streams, in the place of the stream's own; nil: not shared
	// How far the mean of what was seen is a centre: the mean of items of one class is that class, no centre.
	// Seen from there all that is left of it is noise, and any other class is as near.
	Variety float32

	Z       []float32 // labelled items
	Labels  []int32
	Classes int
	Rank    int
	Shrink  float64
}

// Compute makes the metric, once, whoever calls it and however often. It takes milliseconds, and calls
// pause, unless that is nil, several times meanwhile: who has something more urgent to do may do it there,
// but for what needs this metric.
func (r *Refresh) Compute(pause func()) {
	r.once.Do(func() {
		if m, err := r.from.metric(pause); err == nil {
			r.metric = m // no metric is an answer too: what is seen does not determine one yet
			r.publish(m)
		}
		r.from = nil
	})
}

func (f *Material) metric(pause func()) (*Metric, error) {
	d := len(f.Seen.Sum)
	if f.Shared == nil && !Determined(f.Seen.Known()+float64(len(f.Labels)), d) {
		return nil, nil
	}
	w := workspace(d)
	w.pause = pause
	defer func() {
		w.pause = nil
		workspaces.Put(w)
	}()
	f.Seen.unpack(w)
	w.Labelled.reset()
	if f.Shared != nil {
		w.Points = *f.Shared
	}
	w.AddLabelled(f.Z, f.Labels, f.Classes)
	m, err := w.Refresh(f.Rank, f.Shrink)
	if m != nil {
		kernel.Scale(f.Variety, m.Centre)
		vector.Rounded(m.Vectors, UnitScale)
	}
	return m, err
}

// NewRefresh is a metric to be made; publish is told of it once it is, unless nothing could be made.
func NewRefresh(due int64, from *Material, publish func(*Metric)) *Refresh {
	return &Refresh{Due: due, from: from, publish: publish}
}

// Made is a Refresh that was computed before; a nil metric says that none could be made.
func Made(due int64, m *Metric) *Refresh {
	r := &Refresh{Due: due, metric: m}
	r.once.Do(func() {})
	return r
}

// Metric computes the metric if nobody has yet; nil where what was seen does not determine one.
func (r *Refresh) Metric() *Metric {
	r.Compute(nil)
	return r.metric
}
