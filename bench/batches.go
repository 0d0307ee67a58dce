package main

import (
	"context"
	"fmt"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver"
	"github.com/slkstream/slkstream/solver/stream"
)

// batchesSection runs the protocol of StatA, with labelled rows in place of texts: batches that hold a few of
// many classes, and streams in which one class comes at a time.
var batchesSection = section{
	name: "batches", title: "Batches of few classes, and correlated streams",
	run: func(ctx context.Context, b *bench) error {
		folders, forget, err := b.Sets("clip-dtd", "clip-flowers", "clip-caltech101", "grocery")
		if err != nil {
			return err
		}
		defer forget()
		sets, err := evaluate.ReadSets(folders)
		if err != nil {
			return err
		}
		if err := batches(ctx, b, sets); err != nil {
			return err
		}
		return correlated(ctx, b, sets)
	},
}

// batchMethods answer each batch separately, from the labelled rows in it.
var batchMethods = []string{
	string(solver.SLKMeans), string(solver.Nearest), string(solver.LaplacianShot), evaluate.TransCLIP,
	evaluate.StatA, evaluate.PADDLE, evaluate.AlphaTIM,
}

func batches(ctx context.Context, b *bench, sets []*evaluate.Set) error {
	few := evaluate.FewShot{
		Ways: 20, Shots: []int{1, 5}, Tasks: 5, Seed: 1, SplitSeed: 1, MetricEpisodes: 20,
	}
	if b.Quick {
		few.Tasks = 2
	}
	names := []string{"few:1-4", "few:2-10", "few:5-20", "few:5-20:1000"}
	for _, name := range names {
		mix, err := evaluate.ParseMix(name)
		if err != nil {
			return err
		}
		few.Mixes = append(few.Mixes, mix)
	}
	settings, err := solver.DefaultPreset.Settings()
	if err != nil {
		return err
	}
	for _, method := range batchMethods {
		c := evaluate.Candidate{Method: method, Preset: "default", Settings: settings}
		if method == string(solver.Nearest) || method == string(solver.LaplacianShot) {
			c.Settings.Method = solver.Method(method)
		}
		few.Candidates = append(few.Candidates, c)
	}
	large := few // without alpha-TIM, whose thousand steps take as long as all else together
	few.Mixes, large.Mixes = few.Mixes[:3], large.Mixes[3:]
	large.Candidates = few.Candidates[:len(few.Candidates)-1]
	right := map[string][]float64{}
	for _, set := range sets {
		for _, run := range []*evaluate.FewShot{&few, &large} {
			results, err := run.Run(ctx, set)
			if err != nil {
				return err
			}
			for _, r := range results {
				key := fmt.Sprint(r.Method, r.Shots, r.Mix)
				right[key] = append(right[key], r.PerTask...)
			}
		}
	}
	b.Text("Batches of 64 or 1,000 rows, or as many as there are, that hold so many of 20 classes, each with "+
		"1 or 5 labelled rows; per cent right, mean over %d batches of each of %d sets; in brackets "+
		"slk-means less the method on the same batches, with its standard error. All but the updates of "+
		"the last four papers know the metric of 20 tasks of other classes; all may centre by the same "+
		"rows. alpha-TIM's thousand steps take too long for batches of 1,000.", few.Tasks, len(sets))
	columns := []string{"method"}
	for _, shots := range few.Shots {
		for _, name := range names {
			columns = append(columns, fmt.Sprintf("%d labels, %s", shots, name))
		}
	}
	var rows [][]string
	for _, method := range batchMethods {
		row := []string{method}
		for _, shots := range few.Shots {
			for _, name := range names {
				first := right[fmt.Sprint(batchMethods[0], shots, name)]
				row = append(row, beside(right[fmt.Sprint(method, shots, name)], first))
			}
		}
		rows = append(rows, row)
	}
	b.Table(columns, rows)
	return nil
}

// beside writes the mean of a method's figures and, unless they are the first method's own, by how much the
// first method's are higher, with the standard error of the paired differences.
func beside(of, first []float64) string {
	if len(of) == 0 {
		return ""
	}
	mean, lead := evaluate.Average(of), evaluate.Paired(first, of)
	if lead.Mean == 0 && lead.CI95 == 0 {
		return fmt.Sprintf("%.1f", mean.Mean)
	}
	return fmt.Sprintf("%.1f (%+.1f ± %.1f)", mean.Mean, lead.Mean, lead.CI95/1.96)
}

// correlated measures streams whose classes come together, more so for a smaller alpha.
func correlated(ctx context.Context, b *bench, sets []*evaluate.Set) error {
	l := &learning{
		bench: b, settings: stream.Defaults(), seeds: 1, done: map[string][]evaluate.StreamResult{},
	}
	orders := []evaluate.StreamProtocol{{Alpha: .1}, {Alpha: .01}, {Alpha: .001}, {Order: "class"}}
	columns := []string{"method"}
	methods := []string{
		"default", "cold", "nearest", string(solver.LaplacianShot), evaluate.TransCLIP, evaluate.StatA,
		evaluate.PADDLE, "1nn",
	}
	rows := make([][]string, len(methods))
	for i, method := range methods {
		rows[i] = []string{method}
	}
	for _, shots := range []int{1, 5} {
		for _, p := range orders {
			p.Episode, p.SupportBy, p.TeachBy, p.Shots = 128, "class", "random", shots
			name := "one class after the other"
			if p.Order == "" {
				p.Order, name = "dirichlet", fmt.Sprintf("Dirichlet(%g)", p.Alpha)
			}
			columns = append(columns, fmt.Sprintf("%d labels, %s", shots, name))
			var first []float64
			for i, method := range methods {
				var right []float64
				for _, set := range sets {
					results, err := l.run(ctx, set, method, p)
					if err != nil {
						return err
					}
					right = append(right, 100*mean(results, accuracyOf))
				}
				if i == 0 {
					first = right
				}
				rows[i] = append(rows[i], beside(right, first))
			}
		}
	}
	b.Text("The same sets as streams, all their classes labelled, in episodes of 128; per cent right, mean " +
		"over the sets, one stream each; in brackets default less the method, with the standard " +
		"error over the sets. default learns as it goes; the others answer each " +
		"episode by itself. alpha-TIM's thousand steps an episode take too long here.")
	b.Table(columns, rows)
	return nil
}
