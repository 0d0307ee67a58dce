package metric

import (
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// often is from how many episodes on a stream's metric hardly changes. Later ones only let it follow a stream
// that drifts, and labels that come.
const often = 64

// Refreshes says after which episodes a metric is made, which is in force from the next one on: at first
// whenever the episodes have doubled, as it changes most then.
func Refreshes(episode int64) bool {
	return episode%often == 0 || episode < often && episode&(episode-1) == 0
}

// Folds says which episodes add to a stream's residuals. A fold costs about a millisecond at 512 dimensions.
func Folds(episode int64) bool { return episode <= often/2 || episode%8 == 0 }

// Material is the input from which a metric is made.
type Material struct {
	Seen   *Compact
	Shared *Residuals // of all streams, instead of the stream's own; nil: not shared
	// Variety scales the centre by how many classes the mean of the items stands for. The mean of items of one
	// class is that class; relative to it the class is only noise, and any other class is as near.
	Variety float32

	Z       []float32 // labelled items
	Labels  []int32
	Classes int
	Rank    int
	Shrink  float64
}

// Metric returns the metric of the material, nil if that does not determine one. It takes milliseconds.
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
