package index

import (
	"slices"
	"testing"
)

// TestTrees: for any rows, the leaves of a tree are adjacent, hold every row once and no more rows than a
// tile compares, and the tree does not depend on the workers.
func TestTrees(t *testing.T) {
	const n, d, clusters = 9000, 12, 90
	far := clustered(n, d, clusters, .05, 1)
	equal := make([]float32, n*d)
	mostly := slices.Clone(equal)
	copy(mostly, far[:300*d])
	for name, rows := range map[string][]float32{"clusters": far, "equal": equal, "mostly equal": mostly} {
		var orders [][]int32
		for _, workers := range []int{1, 3} {
			var w Workspace
			if err := w.points.take(rows, n, d, false); err != nil {
				t.Fatal(err)
			}
			w.startWorkers(workers)
			var f forest
			err := f.grow(t.Context(), &w, &w.points, 0, 2, Options{Seed: 1, Workers: workers})
			if err != nil {
				t.Fatal(err)
			}
			for tree := range f.orders {
				if err := f.order(t.Context(), &w, &w.points, tree, tree, Options{Seed: 1, Workers: workers}); err != nil {
					t.Fatal(err)
				}
			}
			for tree, order := range f.orders {
				at, met := 0, make([]bool, n)
				for _, leaf := range f.leaves[tree] {
					if leaf.from != at || leaf.to <= leaf.from || leaf.to-leaf.from > block {
						t.Fatalf("%s: leaf %d to %d after %d", name, leaf.from, leaf.to, at)
					}
					at = leaf.to
				}
				for _, id := range order {
					if met[id] {
						t.Fatalf("%s: row %d is met twice", name, id)
					}
					met[id] = true
				}
				if at != n || len(order) != n {
					t.Fatalf("%s: leaves end at %d, the order at %d of %d", name, at, len(order), n)
				}
			}
			orders = append(orders, f.orders...)
		}
		if !slices.Equal(orders[0], orders[2]) || !slices.Equal(orders[1], orders[3]) {
			t.Errorf("%s: another tree with more workers", name)
		}
		if name == "clusters" && slices.Equal(orders[0], orders[1]) {
			t.Errorf("%s: two trees are the same", name)
		}
	}
}
