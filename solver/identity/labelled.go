package identity

import (
	"cmp"
	"slices"

	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// Labelled is a labelled item of a stream.
type Labelled struct {
	Stream, Label, Model string
	Vector               []float32
}

// The metric's rank and shrinkage are those of a stream's.
const (
	metricRank   = 32
	metricShrink = .85
)

// Learn learns from labelled items, in place of all earlier ones, how one thing varies within a stream and
// from stream to stream, and what tells things apart. It counts from the next Update on. Without enough items
// the cosine alone counts, as before there were any.
func (l *Linker) Learn(items []Labelled) error {
	rows, classes := map[space][]float32{}, map[space][]int32{}
	numbers := map[string]int32{}
	for _, it := range slices.SortedStableFunc(slices.Values(items), func(a, b Labelled) int {
		return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.Stream, b.Stream))
	}) {
		if _, known := numbers[it.Label]; !known {
			numbers[it.Label] = int32(len(numbers))
		}
		at := space{it.Model, len(it.Vector)}
		row, all := make([]float32, at.dimension), l.common(at)
		centre := &all.centre
		if c := all.cameras[it.Stream]; c != nil {
			centre = &c.centre
		}
		centre.subtract(row, it.Vector)
		rows[at], classes[at] = append(rows[at], row...), append(classes[at], numbers[it.Label])
	}
	for at, all := range l.spaces {
		before := all.metric
		all.metric = nil
		if len(rows[at]) > 0 {
			scatter := metric.NewScatter(at.dimension)
			scatter.Observe(rows[at])
			scatter.AddLabelled(rows[at], classes[at], len(numbers))
			made, err := scatter.Refresh(metricRank, metricShrink)
			if err != nil {
				all.metric = before
				return err
			}
			if made != nil {
				all.metric = new(metric.Map)
				made.About(nil, all.metric)
			}
		}
		all.learned = all.learned || all.metric != before
	}
	return nil
}

// row fills out with the mean of the cluster as clusters are compared: less the centre of its stream, by the
// metric, at length 1.
func (m *member) row(out []float32) {
	vector.Longs(out, m.mean, 1)
	m.camera.centre.subtract(out, out)
	if by := m.camera.all.metric; by != nil {
		by.Shrink(out, nil)
		vector.Unit(out, out)
	}
}
