package stream

import (
	"reflect"
	"testing"

	"github.com/slkstream/slkstream/solver/metric"
	"github.com/slkstream/slkstream/solver/stream/internal/piece"
)

// TestResidueChangesRarely: long after its start a stream changes its residuals only now and then, and never
// keeps more than the bound of degrees of freedom.
func TestResidueChangesRarely(t *testing.T) {
	set := settings(t)
	f := newCamera(8, 3, 12, 1)
	labels := f.labels(1)
	s, e := New("cam", set), new(Engine)
	changes := 0
	for episode := range 64 {
		was := s.metric.seen
		items, _ := f.episode(30, 0)
		answer(t, s, e, items, labels)
		s.Learn()
		if episode >= 32 && s.metric.seen != was {
			changes++
		}
		if most := 8 * 12.; s.metric.seen.Freedom > most || s.metric.seen.Count > most {
			t.Fatalf("episode %d: %g degrees of freedom of %g rows, at most %g", episode+1,
				s.metric.seen.Freedom, s.metric.seen.Count, most)
		}
	}
	if changes != 4 {
		t.Errorf("%d changes in the second half, not 4", changes)
	}
	if s.metric.current == nil {
		t.Fatal("no metric: this test tests nothing")
	}
	restored, err := Restore(set, s.State())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(restored.metric.current, s.metric.current) {
		t.Errorf("the metric changes on its way through the state")
	}
}

// TestMetricsInTurn: streams that began together make their metrics in different episodes once they are no longer
// new, each in the same one if it was restored meanwhile.
func TestMetricsInTurn(t *testing.T) {
	set, e, made := settings(t), new(Engine), map[int]int{}
	for seed := range uint64(8) {
		f := newCamera(seed+1, 3, 12, 1)
		labels := f.labels(1)
		s := New("cam", set)
		var restored *Stream
		for episode := 1; episode <= 32+64; episode++ {
			was := s.metric.current
			items, _ := f.episode(12, 0)
			answer(t, s, e, items, labels)
			if s.Learn(); episode > 32 && s.metric.current != was {
				made[episode]++
			}
			if episode == 32 {
				var err error
				if restored, err = Restore(set, s.State()); err != nil {
					t.Fatal(err)
				}
			}
			if episode > 32 {
				answer(t, restored, e, items, labels)
			}
		}
		if !reflect.DeepEqual(restored.State(), s.State()) {
			t.Errorf("stream %d: restored, it has another state", seed)
		}
	}
	total := 0
	for _, n := range made {
		total += n
	}
	if total != 8 || len(made) < 6 {
		t.Errorf("metrics of eight streams in these episodes: %v", made)
	}
}

// TestResidualsOfSmallEpisodesCount: the residuals of small episodes count from the start, and come back from
// the state as they were.
func TestResidualsOfSmallEpisodesCount(t *testing.T) {
	set := settings(t)
	f := newCamera(9, 3, 40, 1)
	labels := f.labels(1)
	s, e := New("cam", set), new(Engine)
	last := 0.
	for episode := range 8 {
		items, _ := f.episode(10, 0)
		answer(t, s, e, items, labels)
		s.Learn()
		r := s.metric.seen
		if !(r.Freedom > last) {
			t.Errorf("episode %d: %g degrees of freedom, %g before", episode+1, r.Freedom, last)
		}
		last = r.Freedom
		restored, err := Restore(set, s.State())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(restored.metric.seen, r) {
			t.Errorf("episode %d: other residuals from the state", episode+1)
		}
	}
}

// TestSketchesThatDoNotFitAreRefused: a state whose sketch does not fit together is not read.
func TestSketchesThatDoNotFitAreRefused(t *testing.T) {
	sum, scales, root := make([]float64, 2), make([]float32, 2), make([]int8, 4)
	about := &metric.Metric{Units: make([]int16, 2), Scales: make([]float32, 1)}
	type sketch = metric.Sketch
	for name, c := range map[string]struct {
		sketch
		current *metric.Metric
	}{
		"root":           {sketch{Root: make([]int8, 3)}, nil},
		"rows":           {sketch{Rows: [][]byte{make([]byte, 3)}}, nil},
		"both":           {sketch{Rows: [][]byte{make([]byte, 34)}, Root: root}, nil},
		"directions":     {sketch{Root: root, Directions: make([]int8, 3)}, nil},
		"too many":       {sketch{Root: root, Directions: make([]int8, 6)}, nil},
		"and the metric": {sketch{Root: root, Directions: make([]int8, 4), Metric: about}, about},
		"no metric":      {sketch{Root: root, Metric: about}, nil},
		"freedom":        {sketch{Root: root, Freedom: -1}, nil},
	} {
		c.Sum, c.Scales = sum, scales
		written := &piece.Fields{Kind: "scatter", Writes: true, Dimension: 2}
		sketchFields(written, &c.sketch, about)
		read, err := piece.Open(written.Sealed())
		if err != nil {
			t.Fatal(err)
		}
		read.Dimension = 2
		if sketchFields(read, new(metric.Sketch), c.current); read.Err == nil {
			t.Errorf("%s: read", name)
		}
	}
}

// Residuals in a form that is no longer read are collected anew; the rest of the state is read.
func TestResidualsOfAnEarlierForm(t *testing.T) {
	written := &piece.Fields{Kind: "scatter", Writes: true, Dimension: 2}
	r := metric.Sketch{Count: 5, Sum: []float64{1, 2}, Inverse: 3, Freedom: 4, Scales: []float32{1, 1}}
	sketchFields(written, &r, nil)
	read, err := piece.Open(written.Sealed())
	if err != nil {
		t.Fatal(err)
	}
	read.Dimension = 2
	var got metric.Sketch
	if sketchFields(read, &got, nil); read.Err != nil || got.Count != 5 || got.Freedom != 0 || got.Scales != nil {
		t.Error(read.Err, got)
	}
}
