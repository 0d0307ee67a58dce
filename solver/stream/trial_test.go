package stream

import (
	"math"
	"testing"
)

// TestTaughtEpisodesAreMeasuredInTheirSpace: the order and the frames of a taught episode use the distances
// of the space that it is answered in.
func TestTaughtEpisodesAreMeasuredInTheirSpace(t *testing.T) {
	set := settings(t)
	set.Solver.MetricRank = 0
	f := newCamera(4, 4, 24, .6)
	labels := f.labels(1)
	s, e := New("cam", set), new(Engine)
	for range 2 {
		items, _ := f.episode(20, .3)
		answer(t, s, e, items, labels)
	}
	if len(s.calibration.answers) == 0 {
		t.Fatal("no trial: this test tests nothing")
	}
	z, d, n := e.space.Z(), len(labels.Everyone[0].Vector), e.problem.around.n
	for i := range n {
		for j := range i {
			want := 0.
			for k := range d {
				v := float64(z[i*d+k] - z[j*d+k])
				want += v * v
			}
			if got := float64(e.problem.around.distances[i*n+j]); math.Abs(got-want) > 1e-4 {
				t.Fatalf("items %d and %d are %g apart, not %g", j, i, got, want)
			}
		}
	}
}
