package file

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/solver"
)

// labelling returns the settings for a file with labelled rows: those of a stream, but for the objective.
func (l *loaded) labelling(s *Settings, of objective) solver.Settings {
	settings := solver.Defaults()
	settings.Lambda, settings.Tau = of.lambda, of.tau
	if l.directions {
		settings.MetricRank = 0
	}
	return s.adjusted(settings)
}

// clustering returns the settings for a file without labelled rows.
func clustering(s *Settings) (solver.Settings, error) {
	settings, err := solver.Clustering(solver.SLKMeans)
	return s.adjusted(settings), err
}

// descend minimises R from a start, a class for each row, by what class vectors say too if it is named.
func (l *loaded) descend(ctx context.Context, s *Settings, stage string, graph *index.Affinity, settings solver.Settings,
	named bool, start []int32, r *Result,
) (*solver.PlacedResult, error) {
	p := solver.Placed{Points: &l.points, K: l.k, Affinity: graph, Start: start}
	if named {
		kernel.Scale(float32(1/settings.Lambda), l.zeroShot.values)
		defer kernel.Scale(float32(settings.Lambda), l.zeroShot.values)
		p.Evidence = l.zeroShot.values
	}
	if r.Coherence > 0 {
		p.Block = stretch
		settings.Beta *= 2 // proportions of a stretch are more informative than those of a file
	}
	// rows have been raised; not annealed, as there is a start
	settings.Power, settings.Anneal, settings.Check = 1, 0, s.Check
	told := s.progress(stage)
	p.Progress = told
	told(0, settings.Outer*settings.Inner)
	if l.support {
		p.Labels, p.Proportions = l.class, make([]float64, l.k)
		for i, c := range start {
			if l.class[i] < 0 {
				p.Proportions[c]++
			}
		}
		for c := range p.Proportions {
			p.Proportions[c] += (settings.PriorCounts + 1e-9) / float64(l.k)
		}
	}
	solve, err := solver.New(settings)
	if err != nil {
		return nil, fmt.Errorf("solving: %w", err)
	}
	solved, err := solve.SolvePlaced(ctx, &p)
	if err != nil {
		return nil, fmt.Errorf("solving: %w", err)
	}
	r.Trace, r.Sweeps = solved.Trace, solved.Sweeps
	r.Rises += solved.Rises
	return solved, nil
}
