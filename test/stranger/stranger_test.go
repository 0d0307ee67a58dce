package stranger

import (
	"context"
	"fmt"
	"log"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
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
		Rows: solver.Matrix(rows, 3), K: 2,
		Labels: []int32{0, 1, -1, -1},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Labels)
	// Output: [0 1 0 1]
}
