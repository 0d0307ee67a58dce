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
		weight := set.Solver.WS * (1 + taught[name])
		learned += min(s.prototypes.of[name].mass, weight, s.proportions.counts[name])
		labelled += weight
	}
	_, report := answer(t, s, e, items, labels)
	if want := learned / (learned + labelled); math.Abs(report.PriorFraction-want) > 1e-6 {
		t.Errorf("the prior's part is said to be %.4f, it is %.4f", report.PriorFraction, want)
	}
}

// TestMostAlikeOfAll: a full class drops the example that a comparison of all pairs finds, whatever was
// corrected and withdrawn before. Pairs are compared only once.
func TestMostAlikeOfAll(t *testing.T) {
	const most = 6
	random := rand.New(rand.NewPCG(3, 4))
	var c classes
	var reference []example // oldest first
	for step := range 2000 {
		id := fmt.Sprint(random.IntN(40))
		reference = slices.DeleteFunc(reference, func(x example) bool { return x.id == id })
		if step%7 == 3 {
			c.forget(id)
			continue
		}
		x := example{id: id, vector: []float32{random.Float32(), random.Float32(), random.Float32()}}
		reference = append(reference, x)
		want := ""
		if len(reference) > most {
			older, closest := 0, math.Inf(-1)
			for i, x := range reference {
				for _, y := range reference[i+1:] {
					if alike := cosine(x.vector, y.vector); alike > closest {
						older, closest = i, alike
					}
				}
			}
			want = reference[older].id
			reference = slices.Delete(reference, older, older+1)
		}
		if got := c.keep("class", x, most); got != want {
			t.Fatalf("step %d: gave up %q, want %q", step, got, want)
		}
	}
	x := example{id: "x", vector: []float32{1, 0}}
	later := []example{{id: "far", vector: []float32{0, 1}}, {id: "near", vector: []float32{1, 1}}}
	x.compare(later)
	later[0].vector = x.vector // would be the most similar if it were compared again
	if x.compare(append(later, example{id: "new", vector: []float32{0, 1}})); x.alike != "near" {
		t.Errorf("%q is the most alike: examples are compared that were compared before", x.alike)
	}
}
