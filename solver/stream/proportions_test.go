package stream

import (
	"math/rand/v2"
	"testing"
)

// Where other classes come each time a stream finds that its classes do not come again, and expects little of them: to count on
// them as surely as where they do took half of what the prototypes gain. Where the same ones come again it finds that too.
func TestRecurrence(t *testing.T) {
	share, cold, warm := recurring(t, 40)
	if share > .3 {
		t.Errorf("classes that do not come again: recurrence %.2f", share)
	}
	if warm > cold*94/100 {
		t.Errorf("classes that do not come again: %d wrong answers, %d without memory", warm, cold)
	}
	share, cold, warm = recurring(t, 1)
	if share < .8 {
		t.Errorf("classes that come again: recurrence %.2f", share)
	}
	if warm > cold*85/100 {
		t.Errorf("classes that come again: %d wrong answers, %d without memory", warm, cold)
	}
}

// recurring counts the wrong answers of streams of 40 classes with one example each, of which an episode holds four, starting
// at any of so many places, and returns the recurrence they end with.
func recurring(t *testing.T, places int) (share float64, cold, warm int) {
	const streams, episodes, items, classes = 6, 12, 60, 40
	for seed := range uint64(streams) {
		for _, memory := range []bool{false, true} {
			wrong := &cold
			if memory {
				wrong = &warm
			}
			f := newCamera(seed, classes, 24, 1.2)
			random := rand.New(rand.NewPCG(seed, 11))
			set := settings(t)
			set.Warm = memory
			set.Solver.MetricRank = 0 // what is asked about is what the stream expects
			s, e := New("any", set), engine(t, set)
			labels := f.labels(1)
			for episode := range episodes {
				from := random.IntN(places) * classes / places
				episodeItems := make([]Item, items)
				truth := make([]string, items)
				for i := range episodeItems {
					c := (from + random.IntN(4)) % classes
					episodeItems[i] = Item{Vector: f.vector(c), Position: Position{Offset: int64(episode*items + i), Object: -1}}
					truth[i] = label(c)
				}
				answers, _ := answer(t, s, e, episodeItems, labels)
				for i, a := range answers {
					if a.Label != truth[i] {
						*wrong++
					}
				}
			}
			if memory {
				share += s.proportions.fraction() / streams
			}
		}
	}
	return share, cold, warm
}
