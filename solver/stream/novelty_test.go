package stream

import (
	"context"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/solver"
)

// The chosen share of known items is called unknown before anything was taught, whatever labelled items look like, and what
// is far from everything still is unknown.
func TestUnknownRateBeforeTeaching(t *testing.T) {
	preset, err := SolverSettings(solver.DefaultPreset)
	if err != nil {
		t.Fatal(err)
	}
	for name, shots := range map[string]int{"one a class": 1, "the same picture five times": 5} {
		for _, rate := range []float64{.02, .05, .2} {
			settings := Defaults(preset)
			settings.UnknownRate = rate
			engine, err := NewEngine(settings)
			if err != nil {
				t.Fatal(err)
			}
			feed, stream := newCamera(3, 8, 32, .4), New("s", settings)
			labels := feed.labels(1)
			for _, e := range slices.Clone(labels.Everyone) {
				for i := 1; i < shots; i++ {
					copied := e
					copied.ID += string(rune('a' + i))
					copied.Vector = slices.Clone(e.Vector)
					copied.Vector[i] += .01
					labels.Everyone = append(labels.Everyone, copied)
				}
			}
			called, found := 0, 0
			const episodes, n, strangers = 20, 100, 2
			for range episodes {
				items, _ := feed.episode(n, 0)
				for i := range strangers {
					items[i].Vector = newCamera(99, 1, 32, 0).vector(0)
				}
				answers, _, err := stream.Answer(context.Background(), engine, items, labels)
				if err != nil {
					t.Fatal(err)
				}
				for i, a := range answers {
					if a.Unknown && i >= strangers {
						called++
					} else if a.Unknown {
						found++
					}
				}
			}
			share := float64(called) / (episodes * (n - strangers))
			if share > 2*rate || share < rate/4-.005 {
				t.Errorf("%s: %.3f of the known items are called unknown, not about %g", name, share, rate)
			}
			if rate > .02 && found < episodes*strangers/2 {
				t.Errorf("%s at %g: %d of %d strangers found", name, rate, found, episodes*strangers)
			}
		}
	}
}

// False detections that are taught as nobody do not make those that no label resembles look known.
func TestNobodyIsNoKnownClass(t *testing.T) {
	found := map[bool]int{}
	for _, taught := range []bool{false, true} {
		for seed := range uint64(4) {
			set := settings(t)
			f := newCamera(seed, 8, 32, .6)
			s, e := New("cam", set), engine(t, set)
			labels := f.labels(2)
			for episode := range 12 {
				items, _ := f.episode(60, .1)
				for i := 3; i < len(items); i += 8 { // no two alike
					items[i].Vector, items[i].Label = make([]float32, 32), ""
					for j := range items[i].Vector {
						items[i].Vector[j] = float32(f.random.NormFloat64())
					}
					if taught && i%16 == 3 {
						items[i].Label = Nobody
					}
				}
				answers, _ := answer(t, s, e, items, labels)
				for i := 11; i < len(items) && episode > 3; i += 16 {
					if answers[i].Unknown || answers[i].Label == Nobody {
						found[taught]++
					}
				}
			}
		}
	}
	if found[true] < found[false] {
		t.Errorf("%d false detections are found where others were taught, %d where none was", found[true],
			found[false])
	}
}
