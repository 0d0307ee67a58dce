package evaluate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// NeighbourResult is one index on one set.
type NeighbourResult struct {
	Data         string  `json:"data"`
	N            int     `json:"n"`
	D            int     `json:"d"`
	Index        string  `json:"index"`
	Chosen       string  `json:"chosen"`
	Recall       float64 `json:"recall"` // by distance, so that ties count as found
	BuildSeconds float64 `json:"build_seconds"`
	QuerySeconds float64 `json:"query_seconds"` // median time of comparing one row with all rows
}

// checkedRows is how many rows recall is checked on, by exhaustive search.
const checkedRows = 500

// MeasureNeighbours finds the neighbours of every row and checks a sample of them.
func MeasureNeighbours(ctx context.Context, set *Set, neighbours int, o index.Options,
	seed uint64,
) (NeighbourResult, error) {
	r := NeighbourResult{Data: set.Name, N: set.N, D: set.D, Index: o.Method}
	o.Rho = neighbours
	if neighbours >= set.N {
		return r, fmt.Errorf("data %s: neighbours %d of %d rows", set.Name, neighbours, set.N)
	}
	from := time.Now()
	lists, err := index.Build(ctx, set.Rows, set.N, set.D, o)
	if err != nil {
		return r, fmt.Errorf("data %s: %w", set.Name, err)
	}
	r.BuildSeconds = time.Since(from).Seconds()
	r.Chosen = lists.Report.Chosen
	truth := SampleNearest(vector.Matrix{Values: set.Rows, N: set.N, D: set.D}, neighbours, checkedRows, seed)
	r.Recall = truth.Recall(func(p int32) []int32 { ids, _ := lists.Row(int(p)); return ids })
	r.QuerySeconds = truth.querySeconds()
	return r, nil
}

// Nearest holds, for a sample of the rows of a matrix, the distance of their last neighbour.
type Nearest struct {
	Rows   []int32   // the sample
	Limits []float32 // squared distance of the last neighbour of each

	all        vector.Matrix
	neighbours int
}

// SampleNearest draws at most count rows and compares each with every other row. There must be more
// rows than neighbours.
func SampleNearest(all vector.Matrix, neighbours, count int, seed uint64) *Nearest {
	random := rand.New(rand.NewPCG(seed, 0x4eca11))
	t := &Nearest{all: all, neighbours: neighbours}
	for _, p := range random.Perm(all.N)[:min(count, all.N)] {
		t.Rows = append(t.Rows, int32(p))
	}
	t.Limits = make([]float32, len(t.Rows))
	inParallel(len(t.Rows), func(first, last int) {
		for i := first; i < last; i++ {
			t.Limits[i] = t.limit(int(t.Rows[i]))
		}
	})
	return t
}

// limit returns the squared distance of row p's last neighbour.
func (t *Nearest) limit(p int) float32 {
	row := t.all.Row(p)
	nearest := make([]float32, 0, t.neighbours+1) // ascending
	for q := range t.all.N {
		if q == p {
			continue
		}
		distance := kernel.SquaredDistance(row, t.all.Row(q))
		if len(nearest) == t.neighbours && distance >= nearest[t.neighbours-1] {
			continue
		}
		at, _ := slices.BinarySearch(nearest, distance)
		nearest = slices.Insert(nearest, at, distance)
		nearest = nearest[:min(len(nearest), t.neighbours)]
	}
	return nearest[len(nearest)-1]
}

// Recall returns the share of the true neighbours that are found, by distance, so that ties count as found.
// found returns the neighbours found of a row; those below 0 are ignored.
func (t *Nearest) Recall(found func(p int32) []int32) float64 {
	right := 0
	for i, p := range t.Rows {
		limit := t.Limits[i] * (1 + 1e-5) // tolerance for float32 sums in another order
		for _, q := range found(p) {
			if q >= 0 && kernel.SquaredDistance(t.all.Row(int(p)), t.all.Row(int(q))) <= limit {
				right++
			}
		}
	}
	return float64(right) / float64(len(t.Rows)*t.neighbours)
}

// querySeconds returns the median time of finding one row's neighbours by comparing all rows.
func (t *Nearest) querySeconds() float64 {
	var times []time.Duration
	for _, p := range t.Rows[:min(100, len(t.Rows))] {
		from := time.Now()
		t.limit(int(p))
		times = append(times, time.Since(from))
	}
	return vector.Median(times).Seconds()
}
