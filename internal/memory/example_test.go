package memory_test

import (
	"context"
	"fmt"

	"slkstream/internal/memory"
	"slkstream/solver"
)

// Two classes, one example each; the second episode is answered by a stream restored from its state.
func Example() {
	preset, err := solver.Preset("default")
	if err != nil {
		panic(err)
	}
	settings := memory.Defaults(preset)
	engine, err := memory.NewEngine(settings)
	if err != nil {
		panic(err)
	}
	labels := &memory.Labels{Everyone: []memory.Example{
		{ID: "a", Label: "milk", Vector: []float32{1, .1, 0}},
		{ID: "b", Label: "bread", Vector: []float32{0, .2, 1}},
	}}
	stream := memory.New("camera-7", settings)
	offset := int64(0)
	episode := func(vectors ...[]float32) {
		var items []memory.Item
		for _, v := range vectors {
			items = append(items, memory.Item{Vector: v, Place: memory.Place{Offset: offset, Object: -1}})
			offset++
		}
		answers, report, err := stream.Answer(context.Background(), engine, items, labels)
		if err != nil {
			panic(err)
		}
		for _, a := range answers {
			fmt.Println(report.Episode, a.Label)
		}
	}
	episode([]float32{.9, 0, .1}, []float32{.1, .1, .8})
	if stream, err = memory.Restore(settings, stream.State()); err != nil {
		panic(err)
	}
	episode([]float32{0, .3, .9})
	fmt.Println("learned to offset", stream.LearnedTo().Offset)
	// Output:
	// 1 milk
	// 1 bread
	// 2 bread
	// learned to offset 2
}
