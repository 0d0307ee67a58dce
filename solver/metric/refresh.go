package metric

import (
	"fmt"
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// often is from how many episodes on a stream's metric hardly changes. Later ones only let it follow a stream
// that drifts, and labels that come.
const often = 64

// Turn is how many episodes before the 64th, fewer than 32, a stream that is no longer new learns what takes long, and as many
// before each 64th later. Streams that began together, as the cameras of a site do, would all do so at once else, and answers
// would wait for it.
type Turn int64

// TurnOf returns the turn of a stream whose first item has a vector. What is learned from the same items does not
// hang on the stream's name.
func TurnOf(first []float32) Turn {
	h := uint32(0)
	for _, v := range first {
		h = (h ^ math.Float32bits(v)) * 16777619
	}
	return Turn(h >> 16 % (often / 2))
}

// Refreshes says after which episodes a metric is made, which is in force from the next one on: at first
// whenever the episodes have doubled, as it changes most then.
func (t Turn) Refreshes(episode int64) bool {
	if episode <= often/2 {
		return episode&(episode-1) == 0
	}
	return (episode+int64(t))%often == 0
}

// Folds says which episodes add to the residuals of r, which may be nil: all of a young stream's until there
// are as many degrees of freedom as dimensions, then fewer and fewer. A fold costs .4 ms at 512 dimensions.
func (t Turn) Folds(r *Sketch, episode int64) bool {
	switch {
	case episode > often/2:
		return (episode+int64(t))%8 == 0
	case episode <= 8, r == nil, r.Freedom < float64(len(r.Sum)):
		return true
	case episode <= 16:
		return episode%2 == 0
	}
	return episode%4 == 0
}

// Material is the input from which a metric is made.
type Material struct {
	Seen *Sketch
	// Variety scales the centre by how many classes the mean of the items stands for. The mean of items of one
	// class is that class; relative to it the class is only noise, and any other class is as near.
	Variety float32

	Z       []float32 // labelled items
	Labels  []int32
	Classes int
	Rank    int
	Shrink  float64
}

// Metric returns the metric of the material, and Seen about it; nil if the material does not determine one.
// Seen comes back without residuals if labelled items are enough.
func (f *Material) Metric() (*Metric, *Sketch, error) {
	seen := f.Seen
	d := len(seen.Sum)
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	w.scatter.Dimension = d
	labelled, freedom := w.scatter.labelledResiduals(f.Z, f.Labels, f.Classes)
	trace := squares(labelled, d)
	w.rows = w.rows[:0]
	if Few(freedom, d) {
		if !Determined(freedom+seen.Freedom, d) {
			return nil, seen, nil
		}
		seen.rows(w)
		freedom, trace = freedom+seen.Freedom, trace+seen.Trace
	}
	if !(trace > 0) {
		return nil, seen, nil
	}
	own := len(w.rows)
	w.rows = append(w.rows, labelled...)
	values, vectors, err := vector.TopOfRows(w.rows, d, min(f.Rank, d))
	if err != nil {
		return nil, seen, fmt.Errorf("metric: %w", err)
	}
	m := ofPairs(values, vectors, trace, freedom, f.Shrink, seen.Sum, seen.Count)
	kernel.Scale(f.Variety, m.Centre)
	m.Inverse = f.Variety * float32(seen.Inverse/seen.Count)
	return m, seen.about(w, m, w.rows[:own], f.Rank), nil
}
