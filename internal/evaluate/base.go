package evaluate

import (
	"context"
	"math"

	"slkstream/solver"
)

// learnBase is what tasks may know beforehand, all of it from classes that no task draws: the mean of the base rows, and the
// metric of earlier base tasks.
func learnBase(ctx context.Context, set *Set, baseRows []int32, earlier []*Task, s solver.Settings) (*solver.Embedding, error) {
	if len(baseRows) == 0 {
		return nil, nil
	}
	return &solver.Embedding{Mean: powerMean(set, baseRows, s.Power)}, nil
}

// powerMean is the mean of sign(x)|x|^power over the rows.
func powerMean(set *Set, rows []int32, power float64) []float32 {
	sum := make([]float64, set.D)
	for _, row := range rows {
		for j, v := range set.Row(row) {
			sum[j] += math.Copysign(math.Pow(math.Abs(float64(v)), power), float64(v))
		}
	}
	mean := make([]float32, set.D)
	for j, v := range sum {
		mean[j] = float32(v / float64(len(rows)))
	}
	return mean
}
