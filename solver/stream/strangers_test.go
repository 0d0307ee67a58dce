package stream

import (
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/internal/clusters"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestStrangersAreReported: several items that no label explains make one event when they come, one when they
// come back after a while, and none once somebody has named them. One such item alone makes none.
func TestStrangersAreReported(t *testing.T) {
	set := settings(t)
	set.Discover = true
	f := newCamera(5, 5, 32, .3)
	labels := f.labels(3)
	known, stranger := f.centres[:3], ""
	labels.Everyone = slices.DeleteFunc(labels.Everyone, func(e taught.Example) bool { return e.Label >= label(3) })
	s, e := New("cam", set), new(Engine)
	// episode answers 30 items of known classes, and as many of a class as are given among them. It returns the
	// cluster of these, and what is reported of it.
	episode := func(class, count int) (cluster string, events []string) {
		t.Helper()
		f.centres, known = known, f.centres
		items, _ := f.episode(30, 0)
		f.centres, known = known, f.centres
		for i := range count {
			items[3*i].Vector = f.vector(class)
		}
		restored, err := Restore(set, s.State())
		if err != nil {
			t.Fatal(err)
		}
		if s.Episode() > 0 {
			restored.Name, s = s.Name, restored
		}
		answers, report := answer(t, s, e, items, labels)
		cluster = answers[0].Label
		for i := range count {
			if answers[3*i].Label != cluster {
				t.Fatalf("%s and %s are one class", cluster, answers[3*i].Label)
			}
		}
		for _, event := range report.Events {
			if (event.Class == cluster || event.Class == stranger) && strings.HasSuffix(event.Kind, "-unknown") {
				events = append(events, event.Kind)
			}
		}
		return cluster, events
	}
	expect := func(when string, class, count int, events ...string) string {
		t.Helper()
		cluster, got := episode(class, count)
		if !slices.Equal(got, events) {
			t.Fatalf("%s: %q", when, got)
		}
		return cluster
	}
	for range 10 {
		episode(0, 0)
	}
	expect("a single one", 4, 1)
	stranger = expect("a stranger", 3, 5, "new-unknown")
	for range clusters.StrangerAway {
		expect("the stranger stays", 3, 2)
	}
	for range clusters.StrangerAway {
		episode(0, 0)
	}
	if back := expect("back", 3, 4, "returned-unknown"); back != stranger {
		t.Errorf("%s came back as %s", stranger, back)
	}
	for range clusters.StrangerAway {
		episode(0, 0)
	}
	labels = named(t, labels, taught.Name{Stream: "cam", Name: stranger, Into: "eve"})
	if back := expect("named", 3, 4); back != "eve" {
		t.Errorf("eve is called %s", back)
	}
}
