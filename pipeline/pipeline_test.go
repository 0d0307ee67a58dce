package pipeline

import (
	"context"
	"math/rand/v2"
	"testing"

	"slkstream/consumer"
	"slkstream/internal/memory"
	"slkstream/internal/record"
	"slkstream/solver"
)

// From item to result: three separable classes, one labelled item each, episodes of 30; every answer is right.
func TestThread(t *testing.T) {
	s, err := solver.Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	line, err := NewLine(memory.Settings{Solver: s, Warm: true})
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"milk", "juice", "bread"}
	draw := func(class int) []float32 {
		v := make([]float32, 16)
		for i := range v {
			v[i] = .2 * float32(random.NormFloat64())
		}
		v[class] += 3
		return v
	}
	labels := &memory.Labels{}
	for c, name := range names {
		labels.Everyone = append(labels.Everyone, memory.Example{ID: name, Label: name, Vector: draw(c)})
	}
	buffer := consumer.NewBuffer(30)
	answered := 0
	truth := map[string]string{}
	for offset := range 90 {
		c := random.IntN(3)
		item := record.Item{Source: record.Source{Topic: "in", Offset: int64(offset), Object: -1}, Stream: "cam", Vector: draw(c)}
		truth[item.Source.ID()] = names[c]
		e := buffer.Add(item)
		if e == nil {
			continue
		}
		results, err := line.Answer(context.Background(), e, labels)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			answered++
			if r.Label != truth[r.ID] {
				t.Errorf("%s: %s, not %s", r.ID, r.Label, truth[r.ID])
			}
		}
	}
	if answered != 90 {
		t.Errorf("%d of 90 items answered", answered)
	}
}
