package evaluate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
)

// NeighbourResult is one index on one set.
type NeighbourResult struct {
	Data         string  `json:"data"`
	N            int     `json:"n"`
	D            int     `json:"d"`
	Index        string  `json:"index"`
	Chosen       string  `json:"chosen"`
	Recall       float64 `json:"recall"` // counted by distance, so that ties are right
	BuildSeconds float64 `json:"build_seconds"`
	QuerySeconds float64 `json:"query_seconds"` // median of one search in an index.Memory that holds all rows
}

// checkedRows is how many rows the recall is checked on, by a search that looks at every row in float64.
const checkedRows = 500

// MeasureNeighbours builds the neighbours of every row and checks a sample of them.
func MeasureNeighbours(ctx context.Context, set *Set, neighbours int, o index.Options, seed uint64) (NeighbourResult, error) {
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
	random := rand.New(rand.NewPCG(seed, 0x4eca11))
	checked := min(checkedRows, set.N)
	right := make([]int, checked)
	rows := random.Perm(set.N)[:checked]
	inParallel(checked, func(first, last int) {
		for i := first; i < last; i++ {
			right[i] = countRight(set, lists, rows[i])
		}
	})
	found := 0
	for _, n := range right {
		found += n
	}
	r.Recall = float64(found) / float64(checked*neighbours)
	r.QuerySeconds, err = searchSeconds(set, rows, neighbours, o.Cosine)
	return r, err
}

// countRight counts the listed neighbours of a row that are as near as the last of the truly nearest.
func countRight(set *Set, lists *index.Neighbours, p int) int {
	row := set.Row(int32(p))
	distances := make([]float32, 0, set.N-1)
	for q := range set.N {
		if q != p {
			distances = append(distances, kernel.SquaredDistance(row, set.Row(int32(q))))
		}
	}
	slices.Sort(distances)
	limit := distances[lists.Rho-1] * (1 + 1e-5) // for float32 sums in another order
	count := 0
	ids, _ := lists.Row(p)
	for _, q := range ids {
		if q >= 0 && kernel.SquaredDistance(row, set.Row(q)) <= limit {
			count++
		}
	}
	return count
}

// searchSeconds is the median time of one search among all rows.
func searchSeconds(set *Set, queries []int, neighbours int, cosine bool) (float64, error) {
	memory, err := index.NewMemory(set.D, index.MemoryOptions{Cosine: cosine})
	if err != nil {
		return 0, err
	}
	for p := range set.N {
		if err := memory.Add(uint64(p), set.Row(int32(p))); err != nil {
			return 0, fmt.Errorf("data %s: %w", set.Name, err)
		}
	}
	var times []time.Duration
	var hits []index.Hit
	for _, p := range queries[:min(100, len(queries))] {
		from := time.Now()
		if hits, err = memory.Search(hits[:0], set.Row(int32(p)), neighbours); err != nil {
			return 0, fmt.Errorf("data %s: row %d: %w", set.Name, p, err)
		}
		times = append(times, time.Since(from))
	}
	slices.Sort(times)
	return times[len(times)/2].Seconds(), nil
}
