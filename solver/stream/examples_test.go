package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestPriorFractionCountsTheEpisode: the prior's fraction in the report counts the labelled items of
// the episode too.
func TestPriorFractionCountsTheEpisode(t *testing.T) {
	set := settings(t)
	f := newCamera(12, 3, 16, 1)
	s, e := New("cam", set), new(Engine)
	labels := f.labels(1)
	items, _ := f.episode(30, 0)
	answer(t, s, e, items, labels)
	items, of := f.episode(90, 0)
	taught := map[string]float64{}
	for i := range 60 {
		items[i].Label = of[i]
		taught[items[i].Label]++
	}
	var learned, labelled float64
	for c := range f.centres {
		name := label(c)
		weight := set.Solver.LabelWeight * (1 + taught[name])
		learned += min(s.prototypes.of[name].mass, weight, s.proportions.counts[name])
		labelled += weight
	}
	_, report := answer(t, s, e, items, labels)
	if want := learned / (learned + labelled); math.Abs(report.PriorFraction-want) > 1e-6 {
		t.Errorf("the prior's part is said to be %.4f, it is %.4f", report.PriorFraction, want)
	}
}

// TestOldestExampleGoes: a full class drops its oldest example, whatever was corrected and withdrawn before.
func TestOldestExampleGoes(t *testing.T) {
	const most = 6
	random := rand.New(rand.NewPCG(3, 4))
	var c classes
	var reference []string // oldest first
	for step := range 2000 {
		id := fmt.Sprint(random.IntN(40))
		reference = slices.DeleteFunc(reference, func(x string) bool { return x == id })
		if step%7 == 3 {
			c.forget(id)
			continue
		}
		want := ""
		if reference = append(reference, id); len(reference) > most {
			want, reference = reference[0], reference[1:]
		}
		if got := c.keep("class", example{id: id}, most); got != want {
			t.Fatalf("step %d: gave up %q, want %q", step, got, want)
		}
	}
}
