package demo

import (
	"testing"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// The judge counts the stage's own answers, lets the rivals answer the same items by the same labels, and scores nothing
// whose truth is unknown or that carried its label.
func TestJudge(t *testing.T) {
	preset, err := solver.Preset("default").Settings()
	if err != nil {
		t.Fatal(err)
	}
	judge, err := NewJudge(stream.Defaults(preset))
	if err != nil {
		t.Fatal(err)
	}
	belt := NewBelt(1)
	labels := &stream.Labels{}
	for _, p := range belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		labels.Everyone = append(labels.Everyone, stream.Example{ID: p.ID, Label: p.Class, Vector: e.Vector})
	}
	const episodes, size, known = 5, 40, 38
	for range episodes {
		var episode []Judged
		for i := range size {
			p := belt.Next()
			e, err := p.Example()
			if err != nil {
				t.Fatal(err)
			}
			one := Judged{Item: stream.Item{ID: p.ID, Vector: e.Vector}, Label: p.Class, Truth: Truth(e.Attributes)}
			switch i {
			case 0:
				one.Truth = ""
			case 1:
				one.Item.Label = p.Class
			case 2, 3:
				one.Label = "nothing"
			}
			episode = append(episode, one)
		}
		if _, err := judge.Take(t.Context(), episode, labels); err != nil {
			t.Fatal(err)
		}
	}
	stage, without, nearest := judge.scores[0], judge.scores[1], judge.scores[2]
	if stage.All != episodes*known || stage.Right != episodes*(known-2) {
		t.Errorf("the stage: %d of %d right, not %d of %d", stage.Right, stage.All, episodes*(known-2), episodes*known)
	}
	for _, s := range []Score{without, nearest} {
		if s.All != stage.All || s.Share() < .5 || s.Share() > .95 {
			t.Errorf("%s: %d of %d right", s.Name, s.Right, s.All)
		}
	}
	if without.Right == nearest.Right {
		t.Error("both rivals answer the same")
	}
}
