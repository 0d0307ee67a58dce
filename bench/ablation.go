package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
)

// ablationSection switches off each mechanism that has a setting, alone, and shows its gain: the paired
// difference from all mechanisms, with its standard error over seeds.
var ablationSection = section{name: "ablation", title: "What each mechanism gains", run: benchAblation}

// mechanism is one that can be switched off; the first switches off none.
type mechanism struct {
	name  string
	tasks bool // measure it on tasks too
	off   func(*stream.Settings)
}

var mechanisms = []mechanism{
	{"nothing", true, func(*stream.Settings) {}},
	{"annealed start", true, func(s *stream.Settings) { s.Solver.AnnealSteps = 0 }},
	{"edges weigh less with rank", true, func(s *stream.Settings) { s.Solver.EdgeDecay = 1 }},
	{"class proportions", true, func(s *stream.Settings) { s.Solver.Beta = 0 }},
	{"metric", true, func(s *stream.Settings) { s.Solver.MetricRank = 0 }},
	{"metric between classes", true, func(s *stream.Settings) { s.Solver.MetricBetween = 0 }},
	{"power", true, func(s *stream.Settings) { s.Solver.Power = 1 }},
	{"order, taught evidence in time", false, func(s *stream.Settings) { s.Time = false }},
	{"frames", false, func(s *stream.Settings) { s.FrameWeight = 0 }},
	{"memory", false, func(s *stream.Settings) { s.Warm = false }},
}

// ablationFirst is the first seed.
const ablationFirst = 11

func benchAblation(ctx context.Context, b *bench) error {
	seeds := uint64(5)
	if b.Quick {
		seeds = 2
	}
	tasks, err := b.ablateTasks(ctx, seeds)
	if err != nil {
		return err
	}
	rows, cost, err := b.ablateStreams(ctx, seeds)
	if err != nil {
		return err
	}
	b.Text("Each mechanism off, alone: the difference to all of them, in hundredths of what is right, with its "+
		"standard error over seeds %d to %d (constants were chosen on 11 to 16 and 601 to 610). Tasks: 5 "+
		"classes, 1 and 5 shots, four mixes, on the five sets. Streams: mot17-05-reid in the order of its rows, clip-dtd in bursts, 1 and 5 "+
		"shots, 0 and 3 %% taught. CPU time is that of the streams. Mechanisms without a setting of their own: "+
		"bench/NOTES.md.",
		ablationFirst, ablationFirst+seeds-1)
	var table [][]string
	for i, m := range mechanisms[1:] {
		row := []string{m.name, "", "", "", fmt.Sprintf("%.2f", cost[i+1]/cost[0])}
		if m.tasks {
			row[1] = difference(tasks[i+1], tasks[0])
		}
		var all, without []float64 // by seed: the mean over rows
		worst := 0.
		for seed := range seeds {
			var x, y float64
			for _, r := range rows {
				x, y = x+r[0][seed]/float64(len(rows)), y+r[i+1][seed]/float64(len(rows))
			}
			all, without = append(all, x), append(without, y)
		}
		for _, r := range rows {
			worst = min(worst, evaluate.Paired(r[i+1], r[0]).Mean)
		}
		row[2], row[3] = difference(without, all), fmt.Sprintf("%+.2f", 100*worst)
		table = append(table, row)
	}
	b.Table([]string{"off", "tasks", "streams", "worst row of the streams", "CPU time"}, table)
	return nil
}

// difference returns the mean of a - b in hundredths, with its standard error.
func difference(a, b []float64) string {
	d := evaluate.Paired(a, b)
	return fmt.Sprintf("%+.2f ± %.2f", 100*d.Mean, 100*d.CI95/1.96)
}

// ablateTasks returns the accuracy on tasks, by mechanism and seed.
func (b *bench) ablateTasks(ctx context.Context, seeds uint64) ([][]float64, error) {
	folders, forget, err := b.Sets(fewShotSets...)
	if err != nil {
		return nil, err
	}
	defer forget()
	sets, err := evaluate.ReadSets(folders)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(mechanisms))
	for seed := range seeds {
		few := evaluate.FewShot{
			Ways: 5, Shots: []int{1, 5}, Tasks: 20, Seed: ablationFirst + seed, SplitSeed: 1, MetricEpisodes: 20,
		}
		for _, name := range []string{"balanced", "dirichlet:2", "dirichlet:0.5", "absent"} {
			mix, err := evaluate.ParseMix(name)
			if err != nil {
				return nil, err
			}
			few.Mixes = append(few.Mixes, mix)
		}
		right := map[string][]float64{}
		for i, m := range mechanisms {
			out[i] = append(out[i], 0)
			if s := stream.Defaults(); m.tasks {
				m.off(&s)
				few.Candidates = append(few.Candidates, evaluate.Candidate{Preset: m.name, Settings: s.Solver})
			}
		}
		for _, set := range sets {
			results, err := few.Run(ctx, set)
			if err != nil {
				return nil, err
			}
			for _, r := range results {
				right[r.Preset] = append(right[r.Preset], r.Accuracy/100)
			}
		}
		for i, m := range mechanisms {
			out[i][seed] = evaluate.Average(right[m.name]).Mean
		}
	}
	return out, nil
}

// ablateStreams returns the accuracy on streams, by row, mechanism and seed, and the CPU time
// of each mechanism.
func (b *bench) ablateStreams(ctx context.Context, seeds uint64) (
	rows [][][]float64, cost []float64, err error,
) {
	folders, forget, err := b.Sets("mot17-05-reid", "clip-dtd")
	if err != nil {
		return nil, nil, err
	}
	defer forget()
	sets, err := evaluate.ReadSets(folders)
	if err != nil {
		return nil, nil, err
	}
	cost = make([]float64, len(mechanisms))
	for _, set := range sets {
		for _, teach := range []float64{0, .03} {
			for _, shots := range []int{1, 5} {
				protocol := streamOrder(set)
				protocol.Shots, protocol.Teach = shots, teach
				row := make([][]float64, len(mechanisms))
				for seed := range seeds {
					for i, m := range mechanisms {
						run := evaluate.Stream{Protocol: protocol, Settings: stream.Defaults(), Method: "slk-means"}
						m.off(&run.Settings)
						before := processSeconds()
						r, err := run.Run(ctx, set, ablationFirst+seed)
						if err != nil {
							return nil, nil, err
						}
						cost[i] += processSeconds() - before
						row[i] = append(row[i], *r.Accuracy)
					}
				}
				rows = append(rows, row)
			}
		}
	}
	return rows, cost, nil
}
