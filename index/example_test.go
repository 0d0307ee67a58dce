package index_test

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/index"
)

func ExampleBuild() {
	rows := []float32{0, 0, 0, 1, 5, 5, 5, 6} // four points of the plane
	neighbours, err := index.Build(context.Background(), rows, 4, 2, index.Options{Rho: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for p := range neighbours.N {
		ids, distances := neighbours.Row(p)
		fmt.Println(p, "is nearest to", ids[0], "at", distances[0])
	}
	fmt.Println(neighbours.Report.Chosen)
	// Output:
	// 0 is nearest to 1 at 1
	// 1 is nearest to 0 at 1
	// 2 is nearest to 3 at 1
	// 3 is nearest to 2 at 1
	// exact
}

func ExampleNeighbours_Symmetric() {
	neighbours, err := index.Build(context.Background(), []float32{0, 1, 3}, 3, 1, index.Options{Rho: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := neighbours.Symmetric()
	for p := range w.N() {
		columns, weights := w.Row(p)
		fmt.Println(p, columns, weights)
	}
	// Output:
	// 0 [1] [1]
	// 1 [0 2] [1 0.5]
	// 2 [1] [0.5]
}
