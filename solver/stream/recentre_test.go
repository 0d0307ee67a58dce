package stream

import (
	"fmt"
	"math"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/solver/metric"
)

// TestWhatIsLearnedFollowsTheMean: after a new class has moved the mean, the centre of the metric is about the current mean.
func TestWhatIsLearnedFollowsTheMean(t *testing.T) {
	set := settings(t)
	set.Solver.Power = 1
	f := newCamera(3, 5, 24, .3)
	for c := range 4 { // the fifth class is far from all others
		for j := range f.centres[c] {
			f.centres[c][j] += 2
		}
	}
	far := f.centres[4]
	f.centres = f.centres[:4]
	labels := f.labels(3)
	s, e := New("cam", set), new(Engine)
	for range 8 {
		items, _ := f.episode(40, 0)
		answer(t, s, e, items, labels)
	}
	items, _ := f.episode(40, 0)
	for i := range 3 {
		items[i].Label, items[i].Vector = "far", append([]float32{}, far...)
	}
	answer(t, s, e, items, labels)
	for range 2 {
		if items, _ = f.episode(40, 0); s.metric.current == nil {
			t.Fatal("no metric: this test tests nothing")
		}
		answer(t, s, e, items, labels)
	}
	k, err := s.View(&items[0], labels, nil)
	if err != nil {
		t.Fatal(err)
	}
	prepared := func(row []float32) []float32 {
		out := make([]float32, len(row))
		copy(out, row)
		kernel.Axpy(-1, k.Mean, out)
		vector.Unit(out, out)
		return out
	}
	// The centre is the variety times the mean of all rows seen. Each row is one of the four classes.
	mean := make([]float32, len(k.Mean))
	for _, centre := range f.centres {
		kernel.Axpy(.25, prepared(centre), mean)
	}
	var by metric.Map
	k.Learned.About(k.Mean, &by)
	if got := fmt.Sprintf("%.1f", cosineOf(by.Centre, mean)); got != "1.0" && got != "0.9" {
		t.Errorf("the metric's centre is at a cosine of %s to the mean of what was seen", got)
	}
}

func cosineOf(a, b []float32) float64 {
	return float64(kernel.Dot(a, b)) / math.Sqrt(float64(kernel.Dot(a, a)*kernel.Dot(b, b)))
}
