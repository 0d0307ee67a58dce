package evaluate

import (
	"context"
	"slices"
	"testing"
)

// named gives each class of a set the vector of a name: its fourth row's.
func named(set *Set) *Set {
	ids, rows := set.classes()
	for _, id := range ids {
		set.Names = append(set.Names, set.row(rows[id][3]))
	}
	return set
}

// A name's vector that is taught is an example without an item: by names alone a stream is labelled, and beside
// examples they harm nothing. A class that nobody labels has no name.
func TestNamesAsExamples(t *testing.T) {
	set := named(drawnSet(900, 8, 24))
	run := func(shots int, names bool) StreamResult {
		p := plain()
		p.Shots, p.NameTaught = shots, names
		r, err := stage(t, p, true).Run(context.Background(), set, 2)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if alone := run(0, true); alone.Accuracy == nil || *alone.Accuracy < .8 || *alone.UnknownFalse > .15 {
		t.Errorf("by names alone: %s", line(alone))
	}
	for _, shots := range []int{1, 5} {
		if without, both := run(shots, false), run(shots, true); *both.Accuracy < *without.Accuracy-.01 {
			t.Errorf("%d shots: %s, with names %s", shots, line(without), line(both))
		}
	}
	p := plain()
	p.NameTaught, p.UnlabelledClasses = true, .25
	trial := drawTrial(t, p, set)
	if len(trial.Supports) != 6*3 || slices.Index(trial.SupportRows, -1) < 0 {
		t.Errorf("%d examples of 6 of 8 classes, from rows %v", len(trial.Supports), trial.SupportRows)
	}
	for _, item := range trial.Items {
		if item.Class() && slices.Contains(trial.SupportLabels, item.Truth) != item.Known {
			t.Fatalf("class %d has an example: %v", item.Truth, !item.Known)
		}
	}
	set.Names = nil
	if _, err := p.Draw(set, 1); err == nil {
		t.Error("a set without names is accepted")
	}
}
