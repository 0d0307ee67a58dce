package web

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

// Two hundred names have marks that differ, the first 24 in their slots already. A new name changes no other, and a
// second process that reads the same labels gives the same, in whatever order the topic has them since.
func TestMarks(t *testing.T) {
	s := fakeStage{}
	for i := range 200 {
		s.examples = append(s.examples, record.Example{
			ID: fmt.Sprint(i), Label: fmt.Sprintf("badge %d %d", i%7, 100+i), Vector: []float32{1}, At: time.Unix(int64(1e9+i), 0),
		})
	}
	all := s.examples
	counted := func(n int) *Page {
		one := s
		one.examples = slices.Clone(all[:n])
		if n == len(all) {
			slices.Reverse(one.examples)
			one.examples = append(one.examples, all[3]) // taught once more
			one.examples[n].At = time.Now()
		}
		one.counts = func() (examples, _ map[string]int) {
			examples = map[string]int{}
			for _, e := range one.examples {
				examples[e.Label]++
			}
			return examples, nil
		}
		return pageOf(Options{}, one)
	}
	page := counted(24)
	first, used := page.marked(), map[int]bool{}
	for _, m := range first {
		used[m.Slot] = true
	}
	if len(used) != slots {
		t.Errorf("24 names share slots: %v", first)
	}
	page.stage = counted(200).stage
	grown, other, seen := page.marked(), counted(200).marked(), map[mark]string{}
	for name, m := range grown {
		if was, known := first[name]; known && was != m || other[name] != m {
			t.Errorf("%s has had %v, has %v, and in another process %v", name, was, m, other[name])
		}
		if twin := seen[m]; twin != "" {
			t.Errorf("%s and %s are both %v", name, twin, m)
		}
		seen[m] = name
	}
	if len(grown) != 200 {
		t.Errorf("%d marks", len(grown))
	}
}

// A class that is renamed keeps its mark; one that is merged into a class with examples takes that one's.
func TestMarksFollowNames(t *testing.T) {
	s := fakeStage{
		examples: []record.Example{{ID: "a", Label: "anna", Vector: []float32{1}}, {ID: "k", Label: "kim", Vector: []float32{1}}},
		names:    []record.Name{{Name: "anna", Into: "ann"}, {Name: "bo", Into: "kim"}},
		counts:   func() (map[string]int, map[string]int) { return map[string]int{"anna": 1, "kim": 1}, nil },
	}
	marks := pageOf(Options{}, s).marked()
	if marks["ann"] != marks["anna"] || marks["kim"] == marks["anna"] || marks["kim"].Initials == "" {
		t.Errorf("%v", marks)
	}
}

// Cameras with numbers have colours that differ, from their names alone.
func TestPreferred(t *testing.T) {
	used := map[int]bool{}
	for i := range slots {
		used[preferred(fmt.Sprintf("dock %d", 1+i))] = true
	}
	if len(used) != slots || preferred("99999999999999999999999") < 0 || preferred("") >= slots {
		t.Errorf("24 cameras have %d colours", len(used))
	}
}

func TestInitials(t *testing.T) {
	for name, want := range map[string]string{
		"forklift 2": "F2", "driver red cap": "DR", "t-shirt": "TS", "coat": "CO", "ankle boot": "AB", "x": "X0", "": "?", "émile": "ÉM",
	} {
		if got := candidates(name)[0]; got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
}
