package metric

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// Refreshes tells after which episodes a metric is made, in force from the next one on: the first ones change
// most, and later ones keep it up with a stream that drifts.
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

// Folds tells which episodes a stream's residuals take in: all of the first, which decide the metric, and
// later on as many as keep it up with a stream that drifts. A fold costs about a millisecond at 512
// dimensions.
func Folds(episode int64) bool { return episode <= 32 || episode%8 == 0 }

// Material is what a metric is made of.
type Material struct {
	Seen   *Compact
	Shared *Residuals // of all streams, instead of the stream's own; nil: not shared
	// How far the mean of what was seen is a centre: the mean of items of one class is that class, no centre.
	// Seen from there all that is left of it is noise, and any other class is as near.
	Variety float32

	Z       []float32 // labelled items
	Labels  []int32
	Classes int
	Rank    int
	Shrink  float64
}

// Metric is the metric that the material makes; nil where it does not determine one. It takes milliseconds.
func (f *Material) Metric() (*Metric, error) {
	d := len(f.Seen.Sum)
	if f.Shared == nil && !Determined(f.Seen.Known()+float64(len(f.Labels)), d) {
		return nil, nil
	}
	w := workspace(d)
	defer workspaces.Put(w)
	f.Seen.unpack(w)
	w.Labelled.reset()
	if f.Shared != nil {
		w.Points = *f.Shared
	}
	w.AddLabelled(f.Z, f.Labels, f.Classes)
	m, err := w.Refresh(f.Rank, f.Shrink)
	if m != nil {
		kernel.Scale(f.Variety, m.Centre)
		m.Inverse = f.Variety * float32(f.Seen.Inverse/f.Seen.Count)
		vector.Rounded(m.Vectors, UnitScale)
	}
	return m, err
}
