package stream_test

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// Two classes, one example each; the second episode is answered by a stream restored from its state.
func Example() {
	preset, err := solver.Preset("default").Settings()
	if err != nil {
		panic(err)
	}
	settings := stream.Defaults(preset)
	engine, err := stream.NewEngine(settings)
	if err != nil {
		panic(err)
	}
	labels := &stream.Labels{Everyone: []stream.Example{
		{ID: "a", Label: "milk", Vector: []float32{1, .1, 0}},
		{ID: "b", Label: "bread", Vector: []float32{0, .2, 1}},
	}}
	camera := stream.New("camera-7", settings)
	offset := int64(0)
	episode := func(vectors ...[]float32) {
		var items []stream.Item
		for _, v := range vectors {
			items = append(items, stream.Item{Vector: v, Position: stream.Position{Offset: offset, Object: -1}})
			offset++
		}
		answers, report, err := camera.Answer(context.Background(), engine, items, labels)
		if err != nil {
			panic(err)
		}
		for _, a := range answers {
			fmt.Println(report.Episode, a.Label)
		}
	}
	episode([]float32{.9, 0, .1}, []float32{.1, .1, .8})
	if camera, err = stream.Restore(settings, camera.State()); err != nil {
		panic(err)
	}
	episode([]float32{0, .3, .9})
	fmt.Println("learned to offset", camera.LearnedTo().Offset)
	// Output:
	// 1 milk
	// 1 bread
	// 2 bread
	// learned to offset 2
}
