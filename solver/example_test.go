package solver_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/slkstream/slkstream/solver"
)

// The simplest use: rows without a label get a label of the others.
func ExampleLabel() {
	rows := [][]float32{{9, 1, 0}, {0, 1, 9}, {8, 1, 1}, {9, 2, 0}, {1, 0, 8}}
	answers, _, err := solver.Label(rows, []string{"milk", "bread", "", "", ""})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answers)

	rows[3] = rows[3][:2]
	_, _, err = solver.Label(rows, []string{"milk", "bread", "", "", ""})
	var fault *solver.RowError
	fmt.Println(errors.As(err, &fault), fault.Row, err)
	// Output:
	// [milk bread milk milk bread]
	// true 3 row 3: dimension 2, not 3
}

// Few-shot: two labelled rows suffice to label six others.
func ExampleSolver_Solve() {
	settings, err := solver.Preset("default").Settings()
	if err != nil {
		log.Fatal(err)
	}
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	r, err := solve.Solve(context.Background(), &solver.Problem{
		Rows:   solver.Matrix([]float32{9, 1, 0, 0, 1, 9, 8, 1, 1, 9, 2, 0, 1, 0, 8, 0, 2, 9, 8, 0, 0, 1, 1, 7}, 3),
		K:      2,
		Labels: []int32{0, 1, -1, -1, -1, -1, -1, -1}, // -1: unlabelled
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Labels)
	// Output: [0 1 0 0 1 1 0 1]
}

// Without labels the same call clusters the rows.
func ExampleClustering() {
	settings, err := solver.Clustering("slk-means")
	if err != nil {
		log.Fatal(err)
	}
	settings.Rho = 2 // few rows: each has only two near ones
	solve, err := solver.New(settings)
	if err != nil {
		log.Fatal(err)
	}
	rows := []float32{9, 1, 0, 0, 1, 9, 8, 1, 1, 9, 2, 0, 1, 0, 8, 0, 2, 9, 8, 0, 0, 1, 1, 7}
	r, err := solve.Solve(context.Background(), &solver.Problem{Rows: solver.Matrix(rows, 3), K: 2})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Labels)
	// Output: [0 1 0 0 1 1 0 1]
}
