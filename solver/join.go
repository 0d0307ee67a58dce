package solver

import (
	"slices"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/vector"
)

// join fills a with the graph of R: (A+A')/2 between unlabelled rows, weight 1 from an unlabelled row to a labelled
// neighbour, A the 0/1 matrix of the lists. Rows of labelled items stay empty.
func join(a *index.Affinity, lists *index.Neighbours, n int, label []int32) {
	a.Offsets = vector.Zeroed(a.Offsets, n+1)
	// A pair of unlabelled rows is entered at both ends by each that lists the other; sorted, a mutual one stands twice.
	entries := func(enter func(p, q int32)) {
		for p := range int32(n) {
			if label[p] >= 0 {
				continue
			}
			ids, _ := lists.Row(int(p))
			for _, q := range ids {
				if q < 0 {
					continue
				}
				enter(p, q)
				if label[q] < 0 {
					enter(q, p)
				}
			}
		}
	}
	entries(func(p, _ int32) { a.Offsets[p+1]++ })
	for p := range n {
		a.Offsets[p+1] += a.Offsets[p]
	}
	total := int(a.Offsets[n])
	a.Columns, a.Weights = vector.Resize(a.Columns, total), vector.Resize(a.Weights, total)
	entries(func(p, q int32) { // Offsets[p] is where the next entry of p goes: it ends as the beginning of p+1
		a.Columns[a.Offsets[p]] = q
		a.Offsets[p]++
	})
	copy(a.Offsets[1:], a.Offsets[:n])
	a.Offsets[0] = 0
	var from, written int64
	for p := range n {
		row := a.Columns[from:a.Offsets[p+1]]
		from = a.Offsets[p+1]
		slices.Sort(row)
		a.Offsets[p] = written
		for i := 0; i < len(row); i++ {
			weight := float32(.5)
			if label[row[i]] >= 0 {
				weight = 1
			} else if i+1 < len(row) && row[i+1] == row[i] {
				weight = 1
				i++
			}
			a.Columns[written], a.Weights[written] = row[i], weight
			written++
		}
	}
	a.Offsets[n] = written
	a.Columns, a.Weights = a.Columns[:written], a.Weights[:written]
}
