package stream

import (
	"math"
	"testing"
)

// TestHiddenLabelsHoldNoPrototype: a label hidden in the trial does not count for the learned prototype of
// its class: once labels have come, classes with few of them have none.
func TestHiddenLabelsHoldNoPrototype(t *testing.T) {
	set := settings(t)
	f := newCamera(3, 4, 24, .3)
	labels := f.labels(2)
	s, e := New("cam", set), new(Engine)
	items, _ := f.episode(40, 0)
	answer(t, s, e, items, labels)
	for _, closed := range []bool{false, true} {
		s.prototypes.closed = closed
		items, of := f.episode(20, 0)
		items[3].Label, items[5].Label = of[3], of[5]
		again := *s
		if _, _, err := again.Answer(t.Context(), e, items, labels); err != nil {
			t.Fatal(err)
		}
		p := &e.problem
		for c, name := range p.names {
			left, all := 2., 2.
			for i := range items {
				if items[i].Label == name {
					all++
				}
			}
			if p.Prior == nil || p.labelCounts[c] != all {
				t.Fatalf("%s: %g labels, not %g, prior %v", name, p.labelCounts[c], all, p.Prior)
			}
			with := p.Prior.Weights[c] > 0
			without := s.prototypes.without(p, []float64{left, left, left, left}).Weights[c] > 0
			if with != (!closed || all >= fewLabels) || without == closed {
				t.Errorf("closed %t, %g labels: a prototype %t, without the hidden ones %t", closed, all, with, without)
			}
		}
	}
}

// TestTaughtEpisodesAreMeasuredAnew: the order and the frames of a taught episode use the distances of its
// own space, not of the trial's, whose mean lacks the hidden labels.
func TestTaughtEpisodesAreMeasuredAnew(t *testing.T) {
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
	z, d, n := e.Solved().Z, len(labels.Everyone[0].Vector), e.problem.around.n
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
