package stranger

import (
	"context"
	"fmt"
	"log"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

var rows = []float32{9, 1, 0, 0, 1, 9, 8, 1, 1, 0, 2, 9}

func Example_index() {
	neighbours, err := index.Build(context.Background(), rows, 4, 3, index.Options{Rho: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(neighbours.IDs)
	// Output: [2 3 0 1]
}

func Example_label() {
	answers, _, err := solver.Label([][]float32{rows[:3], rows[3:6], rows[6:9]}, []string{"milk", "bread", ""})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answers[2])
	// Output: milk
}

func Example_solver() {
	settings, err := solver.DefaultPreset.Settings()
	if err != nil {
		log.Fatal(err)
	}
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	r, err := solve.Solve(context.Background(), &solver.Problem{
		Rows: rows, N: 4, D: 3, K: 2,
		Labels: []int32{0, 1, -1, -1},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Labels)
	// Output: [0 1 0 1]
}

func Example_stream() {
	camera := stream.New("camera-7")
	items := []stream.Item{
		{Vector: rows[:3], Label: "milk"},
		{Vector: rows[3:6], Label: "bread"},
		{Vector: rows[6:9]},
	}
	answers, _, err := camera.Answer(context.Background(), nil, items, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answers[2].Label)
	// Output: milk
}
