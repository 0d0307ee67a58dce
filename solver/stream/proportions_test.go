package stream

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRecurrence: where other classes come each time, a stream learns that its classes do not recur and
// expects little of them: expecting them as strongly as recurring ones took half of what the prototypes gain.
// Where the same ones come again it learns that.
func TestRecurrence(t *testing.T) {
	share, cold, warm := recurring(t, 40)
	if share > .3 {
		t.Errorf("classes that do not come again: recurrence %.2f", share)
	}
	if warm > cold*95/100 {
		t.Errorf("classes that do not come again: %d wrong answers, %d without memory", warm, cold)
	}
	share, cold, warm = recurring(t, 1)
	if share < .8 {
		t.Errorf("classes that come again: recurrence %.2f", share)
	}
	if warm > cold*88/100 {
		t.Errorf("classes that come again: %d wrong answers, %d without memory", warm, cold)
	}
}

// recurring counts the wrong answers of streams of 40 classes with one example each. An episode has four of
// them, starting at any of this many positions. It returns the recurrence at the end.
func recurring(t *testing.T, positions int) (share float64, cold, warm int) {
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
			set.Solver.MetricRank = 0 // only the expectation of the stream is tested
			s, e := New("any", set), new(Engine)
			labels := f.labels(1)
			for episode := range episodes {
				from := random.IntN(positions) * classes / positions
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
				share += s.proportions.recurrence() / streams
			}
		}
	}
	return share, cold, warm
}

// TestProportionsFollowALabel: one label that differs from an answer moves most of the answer's class count
// to its own class; less if other labels confirm the answer's class.
func TestProportionsFollowALabel(t *testing.T) {
	p := proportions{counts: map[string]float64{"a": 30, "b": 10}, again: 98, all: 98}
	of := &problem{names: []string{"a", "b", "c"}, numbers: map[string]int32{"a": 0, "b": 1, "c": 2}}
	wrong, right := verdict{predicted: "a", label: "c"}, verdict{predicted: "a", label: "a"}
	for name, c := range map[string]struct {
		tested      []verdict
		least, most float64 // of c
	}{
		"no label":              {tested: nil, least: 0, most: .02},
		"wrong":                 {tested: []verdict{wrong}, least: .6, most: .75},
		"wrong once of twice":   {tested: []verdict{wrong, right}, least: .3, most: .4},
		"right":                 {tested: []verdict{right}, least: 0, most: .02},
		"wrong in every answer": {tested: []verdict{wrong, wrong, wrong}, least: .65, most: .75},
	} {
		got := p.expected(of, c.tested)
		var sum float64
		for _, v := range got {
			sum += v
			if v <= 0 {
				t.Errorf("%s: %v", name, got)
			}
		}
		if got[2] < c.least || got[2] > c.most || math.Abs(sum-1) > 1e-12 ||
			math.Abs(got[1]-p.expected(of, nil)[1]) > 1e-12 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if p.counts["a"] != 30 {
		t.Error("what was counted has changed")
	}
}
