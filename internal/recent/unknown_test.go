package recent

import (
	"slices"
	"testing"
	"time"
)

// Unknown lists the latest unknown items that were not taught or named, by time.
func TestUnknown(t *testing.T) {
	s := New(1 << 20)
	add := func(name string, items ...Item) *Partition {
		p := s.Open(name)
		p.Add(NewBlock(items, func(i int) []float32 { return []float32{float32(i + 1), 1} }))
		return p
	}
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	p := add("in/1", Item{ID: "c", Time: at(3), Unknown: true}, Item{ID: "a", Time: at(1), Unknown: true},
		Item{ID: "known", Time: at(9)}, Item{ID: "taught", Time: at(9), Unknown: true, Taught: true},
		Item{ID: "named", Name: "named", Label: "x", Time: at(9), Unknown: true, Stream: "door"})
	add("in/0", Item{ID: "b", Time: at(2), Unknown: true})
	teach := Change{ID: "named", Label: "anna", Vector: []float32{5, 1}}
	for range 2 {
		got, err := s.WouldCorrect(t.Context(), []Change{teach, teach}, noExamples)
		if err != nil || len(got) != 1 || got[0].Label != "anna" || got[0].Was != "x" {
			t.Errorf("tried: %v", names(got))
		}
	}
	list := func(most int) (out []string) {
		for _, x := range s.Unknown(most) {
			out = append(out, x.ID)
			if len(x.Vector) != 2 {
				t.Errorf("%s: %v", x.ID, x.Vector)
			}
		}
		return out
	}
	if got := list(10); !slices.Equal(got, []string{"a", "b", "c", "named"}) {
		t.Errorf("%v", got)
	}
	p.correct(teach, noExamples)
	if got := list(2); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("the latest two, one named: %v", got)
	}
}
