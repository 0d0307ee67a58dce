package stream

import (
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestExamplesOfAnEpisode: a set of up to taught.WholeMost examples is prepared once for all episodes and
// streams. Of a larger one an episode gets a bounded number, the nearest of its items among them.
func TestExamplesOfAnEpisode(t *testing.T) {
	for _, c := range []struct {
		classes, each int
		whole         bool
	}{
		{3, taught.WholeMost / 3, true},
		{600, 6, true},
		{3, 12_000, false},
		{40, 850, false},
		{600, 9, false},
	} {
		set := settings(t)
		set.Solver.Check = false
		f := newCamera(1, c.classes, 4, .5)
		labels, e := f.labels(c.each), new(Engine)
		var before *taught.Prepared
		for i := range 4 {
			s := New("cam", set)
			items, _ := f.episode(8, 0)
			answer(t, s, e, items, labels)
			now := e.problem.sets[1]
			if i > 0 && (now == before) != c.whole || e.problem.fixed != c.whole {
				t.Errorf("%d classes of %d examples, episode %d: same set: %t", c.classes, c.each, i, now == before)
			}
			most := taught.NearMost + len(items)*taught.NearEach
			if c.whole {
				most = taught.WholeMost
			}
			if now.Len() > most {
				t.Errorf("%d classes of %d examples: an episode gets %d", c.classes, c.each, now.Len())
			}
			for _, item := range items {
				nearest, best := (*taught.Entry)(nil), -2.
				for x := range e.problem.taught.Everyone.All() {
					if v := cosineOf(x.Vector, item.Vector); v > best {
						nearest, best = x, v
					}
				}
				if _, has := now.Row(nearest); !has {
					t.Errorf("the nearest example of an item is not in its episode")
				}
			}
			before = now
			k, err := s.View(&items[0], labels, nil)
			if err != nil || len(k.Names) != c.classes {
				t.Errorf("%d classes of %d examples: first answers know %d, %v", c.classes, c.each, len(k.Names), err)
			}
		}
	}
}
