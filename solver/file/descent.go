package file

import (
	"context"
	"fmt"
	"math"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// labelling returns the settings for a file with labelled rows. If a class is many rows side by side, means
// count less and neighbours more.
func (l *loaded) labelling(s *Settings) solver.Settings {
	x := l.manifold
	return s.adjusted(solver.Settings{
		Method: solver.SLKMeans, Lambda: .8 * (1 + 1.5*x), Tau: 5 / (1 + 1.5*x), U: .75, Beta: .25, CPI: 10,
		WS: max(1, .5*math.Log2(float64(l.k))), Rho: int(math.Round(4 * (1 + x))), Outer: 12, Inner: 1, Tolerance: .01,
		Power: 1, MetricRank: 32, MetricShrink: .85 + .15*x,
	})
}

// clustering returns the settings for a file without labelled rows.
func clustering(s *Settings) (solver.Settings, error) {
	settings, err := solver.Clustering(solver.SLKMeans)
	return s.adjusted(settings), err
}

// drawn is the number of rows for which the proportions of the file count in those of a stretch.
const drawn = 20

// descend minimises R from each start, a class for each row, and returns the result with the lowest R.
func (l *loaded) descend(ctx context.Context, s *Settings, graph *index.Affinity, settings solver.Settings,
	starts [][]int32, r *Result,
) (best *solver.Result, err error) {
	p := solver.Problem{
		N: l.all, D: l.points.D, K: l.k, Points: &l.points, Affinity: graph, Judge: len(starts) > 1,
	}
	if l.support {
		p.Labels = l.class
	}
	if l.said != nil {
		kernel.Scale(float32(l.regime.vectors/settings.Lambda), l.said.values)
		p.Evidence = l.said.values
	}
	if c := r.Coherence; c > 0 { // with a tenth of a row's nearest beside it, g is 1
		g := min(1, 10*c*c)
		p.Blocks = &solver.Blocks{Rows: stretch, Distance: c, Proportions: g, Drawn: drawn}
		settings.Beta *= 1 + g // proportions of a stretch are more informative than those of a file
	}
	settings.Anneal, settings.Check = 0, s.Check // not annealed, as there is a start
	told := s.progress("solving")
	p.Progress = told
	told(0, settings.Outer*settings.Inner)
	for _, p.Start = range starts {
		if l.support {
			p.Proportions = make([]float64, l.k)
			for i, c := range p.Start {
				if l.class[i] < 0 {
					p.Proportions[c]++
				}
			}
			for c := range p.Proportions {
				p.Proportions[c] += (settings.CPI + 1e-9) / float64(l.k)
			}
		}
		solve, err := solver.New(settings)
		if err != nil {
			return nil, fmt.Errorf("solving: %w", err)
		}
		own, err := solve.Solve(ctx, &p)
		if err != nil {
			return nil, fmt.Errorf("solving: %w", err)
		}
		r.Rises += own.Rises
		if best == nil || own.ObjectiveAfter < best.ObjectiveAfter {
			best, r.Trace, r.Sweeps = own, own.Trace, own.Sweeps
		}
	}
	return best, nil
}
