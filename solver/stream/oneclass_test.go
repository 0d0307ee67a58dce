package stream

import (
	"fmt"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestOneClassEpisodes: a stream that has had one class only does not lose it, however few its dimensions,
// also when its examples are corrected: rows of that class alone are no centre for other classes, or for that
// class with another name.
func TestOneClassEpisodes(t *testing.T) {
	for _, d := range []int{8, 16, 64} {
		cold, all := oneClass(t, d, false)
		warm, _ := oneClass(t, d, true)
		if warm > cold+all/50 {
			t.Errorf("dimension %d: of %d answers %d are wrong, %d without memory", d, all, warm, cold)
		}
	}
}

// oneClass counts the wrong answers of streams of one class, whose examples are given another label twice.
func oneClass(t *testing.T, d int, warm bool) (wrong, all int) {
	for seed := range uint64(20) {
		f := newCamera(seed, 5, d, .5)
		set := settings(t)
		set.Warm = warm
		s, e := New("one", set), new(Engine)
		labels := f.labels(3)
		name := label(1)
		for episode := range 6 {
			if episode == 1 || episode == 4 { // renamed: its examples are corrected
				name = fmt.Sprintf("renamed-%d", episode)
				labels = &taught.Labels{Everyone: append([]taught.Example(nil), labels.Everyone...)}
				for i := range labels.Everyone {
					if c := &labels.Everyone[i]; c.ID[:3] == "s1-" {
						c.Label = name
					}
				}
			}
			var items []Item
			for i := range 10 {
				items = append(
					items,
					Item{ID: fmt.Sprint(episode, i), Vector: f.vector(1), Position: Position{Offset: int64(episode*10 + i), Object: -1}},
				)
			}
			answers, _ := answer(t, s, e, items, labels)
			for _, a := range answers {
				if all++; a.Label != name {
					wrong++
				}
			}
		}
	}
	return wrong, all
}
