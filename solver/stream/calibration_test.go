package stream

import (
	"fmt"
	"testing"
)

// TestDoubtfulStream: a stream with wrong labels reports that it is doubtful once new labels show it, and
// that it is trusted again once these have corrected it.
func TestDoubtfulStream(t *testing.T) {
	f := newCamera(5, 4, 16, 0)
	set := settings(t)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	for i := range labels.Everyone {
		labels.Everyone[i].Label = "not " + labels.Everyone[i].Label
	}
	for c := range 4 { // the true labels are known, by one example each, of another class
		x := labels.Everyone[c]
		x.ID, x.Label = fmt.Sprintf("wrong-%d", c), label((c+1)%4)
		labels.Everyone = append(labels.Everyone, x)
	}
	said, doubtfulEpisodes := "", 0
	for range 8 {
		items, truth := f.episode(60, .1)
		for i := range items {
			if i%2 == 0 && s.Episode() > 0 {
				items[i].Label = truth[i]
			}
		}
		_, report := answer(t, s, e, items, labels)
		if report.Doubtful {
			doubtfulEpisodes++
		}
		for _, kind := range []string{"doubtful", "trusted"} {
			if happened(report, kind, "") {
				said += kind + " "
			}
		}
		if happened(report, "doubtful", "") != noted(report, "looks unlike its labels") &&
			s.Episode()%doubtfulEvery != 0 {
			t.Errorf("episode %d: events %v, notes %q", s.Episode(), report.Events, report.Notes)
		}
	}
	if said != "doubtful trusted " || doubtfulEpisodes == 0 || doubtfulEpisodes > 6 {
		t.Errorf("said %q, doubtful in %d episodes", said, doubtfulEpisodes)
	}
}

// TestNoAlternativeIsSurer: no alternative has a higher confidence than the answer, including where similar
// items were often labelled otherwise, and with clusters.
func TestNoAlternativeIsSurer(t *testing.T) {
	for _, discover := range []bool{false, true} {
		f := newCamera(7, 6, 4, 0)
		set := settings(t)
		set.Discover = discover
		s, e := New("cam", set), new(Engine)
		labels, alternatives := f.labels(1), 0
		for range 10 {
			items, truth := f.episode(60, .3)
			for i := range items {
				if i%5 == 0 && s.Episode() > 0 {
					items[i].Label = truth[i*7%len(items)] // often of another class
				}
			}
			answers, _ := answer(t, s, e, items, labels)
			for i, a := range answers {
				for _, other := range a.Alternatives {
					alternatives++
					if other.Confidence > a.Confidence {
						t.Fatalf("item %d: %s at %g, but %s at %g", i, a.Label, a.Confidence, other.Label, other.Confidence)
					}
				}
			}
		}
		if alternatives == 0 {
			t.Error("there are no alternatives")
		}
	}
}
