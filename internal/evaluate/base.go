package evaluate

import (
	"context"
	"fmt"
	"math"

	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/metric"
)

// learnBase learns what tasks may know beforehand, only from classes that no task draws: the mean of the
// base rows, and a metric from earlier base tasks, by their support labels and solved S. Without base rows
// it returns nil.
func learnBase(ctx context.Context, set *Set, baseRows []int32, earlier []*Task,
	s solver.Settings,
) (*solver.Embedding, error) {
	if len(baseRows) == 0 {
		return nil, nil
	}
	e := &solver.Embedding{Mean: powerMean(set, baseRows, s.Power)}
	if s.MetricRank == 0 || len(earlier) == 0 {
		return e, nil
	}
	solve, err := solver.New(s)
	if err != nil {
		return nil, err
	}
	scatter := metric.NewScatter(set.D)
	for i, task := range earlier {
		p := task.problem(set, e)
		var r *solver.Result
		x, err := solve.Embed(p)
		if err == nil {
			r, err = x.Solve(ctx)
		}
		if err != nil {
			return nil, fmt.Errorf("data %s: base task %d: %w", set.Name, i+1, err)
		}
		scatter.Update(metric.Episode{Z: x.Z(), S: r.S, Labels: p.Labels, K: p.K})
		if s.MetricBetween > 0 {
			scatter.AddMeans(x.Z(), r.S, p.K)
		}
		if n := i + 1; metric.Turn(0).Refreshes(int64(n)) || n == len(earlier) {
			if e.Metric, err = scatter.Refresh(s.MetricRank, s.MetricShrink); err != nil {
				return nil, fmt.Errorf("data %s: metric after base task %d: %w", set.Name, n, err)
			}
			if s.MetricBetween > 0 && n >= 8 {
				if e.Metric, err = scatter.Separating(e.Metric, 48, s.MetricBetween); err != nil {
					return nil, fmt.Errorf("data %s: metric after base task %d: %w", set.Name, n, err)
				}
			}
		}
	}
	return e, nil
}

// powerMean returns the mean of sign(x)|x|^power over the rows.
func powerMean(set *Set, rows []int32, power float64) []float32 {
	sum := make([]float64, set.D)
	for _, row := range rows {
		for j, v := range set.row(row) {
			sum[j] += math.Copysign(math.Pow(math.Abs(float64(v)), power), float64(v))
		}
	}
	mean := make([]float32, set.D)
	for j, v := range sum {
		mean[j] = float32(v / float64(len(rows)))
	}
	return mean
}
