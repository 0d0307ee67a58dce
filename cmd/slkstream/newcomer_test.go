package main

import (
	"testing"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
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
	belt, labels := demo.NewBelt(seed), &taught.Labels{}
	forgetful := settings
	forgetful.Warm, forgetful.ReviewRate = false, 0
	memory := &player{stream: stream.New("belt", settings), engine: new(stream.Engine)}
	without := &player{stream: stream.New("belt", forgetful), engine: new(stream.Engine)}
	for _, p := range belt.Teachers() {
		e, err := p.Example()
		if err != nil {
			t.Fatal(err)
		}
		labels.Everyone = append(labels.Everyone, taught.Example{ID: p.ID, Label: p.Thing, Vector: e.Vector})
	}
	after := 0
	for n := range episodes {
		items, truths := make([]stream.Item, size), make([]string, size)
		for i := range items {
			p := belt.Next()
			e, err := p.Example()
			if err != nil {
				t.Fatal(err)
			}
			items[i], truths[i] = stream.Item{ID: p.ID, Vector: e.Vector}, demo.About(e.Attributes).Truth
		}
		memory.answer(t, items, truths, labels)
		without.answer(t, items, truths, labels)
		if n*size < demo.NewcomerAfter {
			continue
		}
		after++
		if memory.late() < without.late() {
			t.Errorf("seed %d, episode %d: %d of the last 500 pictures are right, without memory %d",
				seed, n, memory.late(), without.late())
		}
	}
	if after != 20 {
		t.Errorf("%d episodes after the new thing came", after)
	}
}

// player is a stream, and which of its answers were right.
type player struct {
	stream *stream.Stream
	engine *stream.Engine
	right  []bool
}

func (p *player) answer(t *testing.T, items []stream.Item, truths []string, labels *taught.Labels) {
	t.Helper()
	answers, _, err := p.stream.Answer(t.Context(), p.engine, items, labels)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range answers {
		if truths[i] != "" {
			p.right = append(p.right, a.Label == truths[i])
		}
	}
}

// late is how many of the last 500 are right.
func (p *player) late() (n int) {
	for _, right := range p.right[max(0, len(p.right)-500):] {
		if right {
			n++
		}
	}
	return n
}
