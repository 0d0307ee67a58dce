package stream

import "testing"

// TestExamplesAreMadeReadyOnce: the examples of few classes, however many, are prepared once for all episodes
// and streams if the episodes are near to most of them. Those of many classes are chosen per episode.
func TestExamplesAreMadeReadyOnce(t *testing.T) {
	for _, c := range []struct {
		classes, each int
		once          bool
	}{
		{3, 12_000, true},
		{40, 850, false},
		{classesMost, 9, true},
		{classesMost + 1, 9, false},
		{classesMost + 1, 7, true},
	} {
		set := settings(t)
		set.Solver.Check = false
		f := newCamera(1, c.classes, 4, .5)
		labels, e := f.labels(c.each), new(Engine)
		var before *preparedSet
		for i := range 4 {
			s := New("cam", set)
			items, _ := f.episode(8, 0)
			answer(t, s, e, items, labels)
			now := e.problem.sets[1]
			if i > 0 && (now == before) != c.once {
				t.Errorf("%d classes of %d examples, episode %d: same set: %t", c.classes, c.each, i, now == before)
			}
			if kept := now.Len() <= rowsMost; kept != (e.problem.Prepared != nil) {
				t.Errorf("%d examples: kept by the stream: %t", now.Len(), !kept)
			}
			before = now
		}
	}
}
