package stream_test

import (
	"context"
	"fmt"
	"log"

	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Example answers two episodes of a stream with two classes, with one example each.
func Example() {
	camera := stream.New("camera-7")
	labels := &taught.Labels{Everyone: []taught.Example{
		{ID: "a", Label: "milk", Vector: []float32{1, .1, 0}},
		{ID: "b", Label: "bread", Vector: []float32{0, .2, 1}},
	}}
	for _, episode := range [][]stream.Item{
		{{Vector: []float32{.9, 0, .1}}, {Vector: []float32{.1, .1, .8}}},
		{{Vector: []float32{0, .3, .9}}},
	} {
		answers, report, err := camera.Answer(context.Background(), nil, episode, labels)
		if err != nil {
			log.Fatal(err)
		}
		for _, a := range answers {
			fmt.Println(report.Episode, a.Label)
		}
	}
	// Output:
	// 1 milk
	// 1 bread
	// 2 bread
}

// ExampleRestore restores a stream from its encoded state. The position shows where to continue.
func ExampleRestore() {
	settings := stream.Defaults()
	engine := new(stream.Engine)
	camera := stream.New("camera-7", settings)
	items := []stream.Item{
		{ID: "1", Vector: []float32{1, .1, 0}, Label: "milk", Position: stream.Position{Offset: 40, Object: -1}},
		{ID: "2", Vector: []float32{0, .2, 1}, Label: "bread", Position: stream.Position{Offset: 41, Object: -1}},
	}
	if _, _, err := camera.Answer(context.Background(), engine, items, nil); err != nil {
		log.Fatal(err)
	}
	restored, err := stream.Restore(settings, camera.State())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(restored.Name, "has learned to offset", restored.LearnedTo().Offset)
	answers, _, err := restored.Answer(context.Background(), engine, []stream.Item{{Vector: []float32{.9, .2, .1}}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answers[0].Label)
	// Output:
	// camera-7 has learned to offset 41
	// milk
}
