package stream

import (
	"reflect"
	"testing"
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
			t.Fatalf("episode %d: %g degrees of freedom of %g rows, at most %g", episode+1, s.metric.seen.Freedom, s.metric.seen.Count, most)
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

// TestResidualsOfSmallEpisodesWait: the residuals of small episodes are collected until there are enough of
// them, and count from the start.
func TestResidualsOfSmallEpisodesWait(t *testing.T) {
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
		if want := episode < 6; (r.Scales == nil) != want {
			t.Errorf("episode %d: %d rows wait", episode+1, len(r.Pending)/40)
		}
		if !(r.Known() > last) {
			t.Errorf("episode %d: %g degrees of freedom, %g before", episode+1, r.Known(), last)
		}
		last = r.Known()
		restored, err := Restore(set, s.State())
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(restored.metric.seen, r) {
			t.Errorf("episode %d: other residuals from the state", episode+1)
		}
	}
}
