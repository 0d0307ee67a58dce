package main

import (
	"testing"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/solver/stream"
)

// In the twenty seconds of the demo after a thing came that nobody has labelled, the stage is right at least
// as often as one without memory: it learns nothing wrong from the new thing.
func TestMemoryHoldsWhenSomethingNewComes(t *testing.T) {
	for seed := range uint64(3) {
		playNewcomer(t, 1+seed)
	}
}

func playNewcomer(t *testing.T, seed uint64) {
	t.Helper()
	const size, episodes = 40, demo.NewcomerAfter/40 + 20
	settings := stream.Defaults()
	judge, belt, engine := demo.NewJudge(settings), demo.NewBelt(seed), new(stream.Engine)
	stage, labels := stream.New("belt", settings), &stream.Labels{}
	for _, p := range belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		labels.Everyone = append(labels.Everyone, stream.Example{ID: p.ID, Label: p.Thing, Vector: e.Vector})
	}
	after := 0
	for n := range episodes {
		items, judged := make([]stream.Item, size), make([]demo.Judged, size)
		for i := range items {
			p := belt.Next()
			e, err := p.Example()
			if err != nil {
				t.Fatal(err)
			}
			about := demo.About(e.Attributes)
			items[i] = stream.Item{ID: p.ID, Vector: e.Vector}
			judged[i] = demo.Judged{Item: items[i], Truth: about.Truth, Stranger: about.Stranger}
		}
		answers, _, err := stage.Answer(t.Context(), engine, items, labels)
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			judged[i].Label, judged[i].Unknown = a.Label, a.Unknown
		}
		scores, err := judge.Take(t.Context(), judged, labels)
		if err != nil {
			t.Fatal(err)
		}
		if n*size < demo.NewcomerAfter {
			continue
		}
		after++
		memory, without := scores[0].LateShare(), scores[2].LateShare()
		if memory < without {
			t.Errorf("seed %d, episode %d: %.3f of the last 500 pictures are right, without memory %.3f",
				seed, n, memory, without)
		}
	}
	if after != 20 {
		t.Errorf("%d episodes after the new thing came", after)
	}
}
